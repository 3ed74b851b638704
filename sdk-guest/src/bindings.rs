//! The code that `cargo bindings` has generated from the WIT package.
//!
//! It is committed, so that an author's first build compiles neither a parser of WIT nor a generator. The imports are
//! generated once and shared. Each interface that a plugin may export is generated separately, with an export macro of
//! its own, so that a plugin has only the exports that it names. The linker combines them into the component's type.
//! Imports that the plugin does not call are not in the component.

#![allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    reason = "generated: the canonical ABI works on raw memory"
)]

mod imports {
    include!("bindings/imports.rs");
}

pub use imports::plugport::plugin::{changes, elicitation, inputs, request, roots, sampling};

/// The shared types, with the error that is written by hand among them.
pub mod types {
    pub use super::imports::plugport::plugin::types::*;
    pub use crate::error::Error;
}

pub mod keyvalue {
    include!("bindings/keyvalue.rs");

    pub use wasi::keyvalue::{atomics, store};
}

pub mod detaching {
    include!("bindings/detaching.rs");

    pub use plugport::plugin::tasks;
}

pub mod http {
    include!("bindings/http.rs");

    pub use plugport::plugin::http_client;
}

pub mod config {
    include!("bindings/config.rs");

    pub use wasi::config::store;
}

macro_rules! exported {
    ($interface:ident, $file:literal) => {
        pub mod $interface {
            include!($file);

            pub use exports::plugport::plugin::$interface::*;
        }
    };
}

exported!(tools, "bindings/tools.rs");
exported!(resources, "bindings/resources.rs");
exported!(prompts, "bindings/prompts.rs");
exported!(completions, "bindings/completions.rs");
