//! The guests' common code: bindings without the SDK, for guests that do what the SDK prevents.

pub mod host_functions;
pub mod http;
pub mod wasi_fs;

/// The WIT package as wit-bindgen gives it.
pub mod raw {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "tool-plugin",
        pub_export_macro: true,
        default_bindings_module: "plugport_test_guests::raw",
        generate_all,
    });

    pub use exports::plugport::plugin::tools::{Guest, Tool, ToolResult};
    pub use plugport::plugin::changes::{Listing, list_changed, resource_updated};
    pub use plugport::plugin::request::Call;
    pub use plugport::plugin::types::{Content, ContentData, Error};

    /// A tool with this name and input schema and nothing more.
    pub fn tool(name: &str, input_schema: &str) -> Tool {
        Tool {
            name: name.to_owned(),
            title: None,
            description: Some(format!("The tool {name}.")),
            input_schema: input_schema.to_owned(),
            output_schema: None,
            annotations: None,
            extra: None,
        }
    }

    /// The schema of an object with this one number.
    pub fn amount(name: &str) -> String {
        format!(
            r#"{{"type":"object","properties":{{"{name}":{{"type":"integer","minimum":0}}}},"required":["{name}"]}}"#
        )
    }

    /// The one number among the arguments.
    pub fn number(args: &str) -> Result<usize, Error> {
        let digits: String = args.chars().filter(char::is_ascii_digit).collect();
        digits.parse().map_err(|_| Error::InvalidParams("a number is missing".to_owned()))
    }

    /// A result that is one text.
    pub fn text(text: &str) -> ToolResult {
        let content = Content { data: ContentData::Text(text.to_owned()), annotations: None, extra: None };
        ToolResult { content: vec![content], structured: None, is_error: false, extra: None }
    }
}

/// Bindings of WASI, for calls that the standard library prevents.
pub mod wasi {
    wit_bindgen::generate!({
        inline: r#"
            package plugport:hostile;
            world host {
                import wasi:io/poll@0.2.1;
                import wasi:clocks/monotonic-clock@0.2.1;
                import wasi:random/random@0.2.1;
                import wasi:random/insecure@0.2.1;
            }
            package wasi:io@0.2.1 {
                interface poll {
                    resource pollable { ready: func() -> bool; block: func(); }
                    poll: func(in: list<borrow<pollable>>) -> list<u32>;
                }
            }
            package wasi:clocks@0.2.1 {
                interface monotonic-clock {
                    use wasi:io/poll@0.2.1.{pollable};
                    type instant = u64;
                    type duration = u64;
                    now: func() -> instant;
                    subscribe-instant: func(when: instant) -> pollable;
                    subscribe-duration: func(when: duration) -> pollable;
                }
            }
            package wasi:random@0.2.1 {
                interface random { get-random-bytes: func(len: u64) -> list<u8>; }
                interface insecure { get-insecure-random-bytes: func(len: u64) -> list<u8>; }
            }
        "#,
        generate_all,
    });

    pub use wasi::clocks::monotonic_clock as clock;
    pub use wasi::io::poll;
    pub use wasi::random::{insecure, random};
}

/// The variant of a guest. The tests write another digit into their copies of the guest.
pub fn variant() -> u8 {
    static MARK: [u8; 17] = *b"hostile-variant:0";
    std::hint::black_box(&MARK)[16] - b'0'
}
