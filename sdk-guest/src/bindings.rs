//! The code that wit-bindgen generates from the WIT package.
//!
//! The imports are generated once and shared. Each interface that a plugin may export is generated separately, with an
//! export macro of its own, so that a plugin has only the exports that it names. The linker combines them into the
//! component's type. Imports that the plugin does not call are not in the component.

#![allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    clippy::allow_attributes_without_reason,
    reason = "generated: the canonical ABI works on raw memory"
)]

mod imports {
    wit_bindgen::generate!({
        path: "wit",
        world: "imports",
        additional_derives: [PartialEq],
        generate_unused_types: true,
        with: { "plugport:plugin/types@0.1.0/error": crate::error::Error },
    });
}

pub use imports::plugport::plugin::{changes, elicitation, inputs, request, roots, sampling};

/// The shared types, with the error that is written by hand among them.
pub mod types {
    pub use super::imports::plugport::plugin::types::*;
    pub use crate::error::Error;
}

pub mod keyvalue {
    wit_bindgen::generate!({ path: "wit", world: "keyvalue", generate_all });

    pub use wasi::keyvalue::{atomics, store};
}

pub mod detaching {
    wit_bindgen::generate!({
        path: "wit",
        world: "detaching",
        with: { "plugport:plugin/request@0.1.0": crate::bindings::request },
    });

    pub use plugport::plugin::tasks;
}

pub mod http {
    wit_bindgen::generate!({
        path: "wit",
        world: "http",
        additional_derives: [PartialEq, Eq],
        generate_unused_types: true,
        with: { "plugport:plugin/http-client@0.1.0/failure": crate::http::Failure },
    });

    pub use plugport::plugin::http_client;
}

pub mod config {
    wit_bindgen::generate!({ path: "wit", world: "config", generate_all });

    pub use wasi::config::store;
}

macro_rules! exported {
    ($interface:ident, $world:literal) => {
        pub mod $interface {
            wit_bindgen::generate!({
                path: "wit",
                inline: $world,
                additional_derives: [PartialEq],
                pub_export_macro: true,
                with: {
                    "plugport:plugin/types@0.1.0": crate::bindings::types,
                    "plugport:plugin/request@0.1.0": crate::bindings::request,
                },
            });

            pub use exports::plugport::plugin::$interface::*;
        }
    };
}

exported!(tools, "package sdk:tools; world plugport-tools { export plugport:plugin/tools@0.1.0; }");
exported!(
    resources,
    "package sdk:resources; world plugport-resources { export plugport:plugin/resources@0.1.0; }"
);
exported!(prompts, "package sdk:prompts; world plugport-prompts { export plugport:plugin/prompts@0.1.0; }");
exported!(
    completions,
    "package sdk:completions; world plugport-completions { export plugport:plugin/completions@0.1.0; }"
);
