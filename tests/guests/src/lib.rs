//! What the guests share: bindings without the SDK, for guests that do what the SDK would not let them.

pub mod http;
pub mod reach;

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

    /// A result that is one text.
    pub fn text(text: &str) -> ToolResult {
        let content = Content { data: ContentData::Text(text.to_owned()), annotations: None, extra: None };
        ToolResult { content: vec![content], structured: None, is_error: false, extra: None }
    }
}
