//! Write MCP tools, resources and prompts as plain Rust functions and build them into a Plugport plugin.
//!
//! ```
//! use plugport_sdk::prelude::*;
//!
//! /// Greet someone by name.
//! #[tool]
//! fn hello(
//!     /// Who to greet.
//!     name: String,
//! ) -> String {
//!     format!("Hello, {name}!")
//! }
//!
//! plugport_sdk::export! { tools: [hello] }
//! ```
//!
//! A tool stays an ordinary function, callable and testable on the author's own machine: only [`export!`] knows of
//! WebAssembly, and a [`Call`] uses either the host or a [`testing::TestClient`]. Each WIT interface has a module of
//! its name, except `changes`, which is [`notify`], `http-client`, which is [`http`], and the standard `wasi:keyvalue`
//! and `wasi:config`, which are [`kv`] and [`config`]. An exported interface is linked only if [`export!`] names it, an
//! imported one only if the plugin calls it.
//!
//! The README describes the whole of the API for authors.

// The macros name this crate by its own name, in its own tests as well.
#[cfg(test)]
extern crate self as plugport_sdk;

mod arguments;
mod awaited_requests;
#[doc(hidden)]
pub mod bindings;
mod call;
mod client_requests;
pub mod completions;
pub mod config;
mod content;
pub mod elicitation;
mod error;
mod executor;
mod export_entry;
pub mod http;
pub mod inputs;
mod json;
pub mod kv;
mod logging;
pub mod notify;
mod parameter;
pub mod prompts;
pub mod resources;
mod return_value;
pub mod roots;
pub mod sampling;
mod schema;
mod schema_defaults;
pub mod testing;
mod text_parameter;
mod tool_error;
pub mod tools;
mod whole_numbers;

pub use plugport_sdk_macros::{complete, data, export, prompt, resource, resource_template, tool};
pub use {schemars, serde, serde_json};

pub use bindings::types::{Annotations, Role, RpcError};
pub use call::{Call, ClientInfo, Level};
pub use client_requests::KeyedCall;
pub use content::Content;
pub use elicitation::ElicitResult;
pub use error::Error;
pub use inputs::{InputBatch, InputResults};
pub use prompts::Prompt;
pub use resources::Resource;
pub use roots::Root;
pub use sampling::{CreateMessageRequest, CreateMessageResult};
pub use tools::{Tool, ToolResult};

/// The items that most plugins need: `use plugport_sdk::prelude::*;`.
pub mod prelude {
    pub use crate::completions::CompletionContext;
    pub use crate::prompts::PromptMessage;
    pub use crate::resources::{Contents, Json, ResourceInfo};
    pub use crate::{Call, Content, CreateMessageRequest, ElicitResult, Error, InputBatch, Level};
    pub use crate::{complete, data, prompt, resource, resource_template, tool};
}

/// The items that the macros' output uses. Not for authors: they change without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::arguments::Arguments;
    pub use crate::completions::{IntoCompletion, arguments_differ};
    pub use crate::executor::run;
    pub use crate::export_entry::{has, names_differ};
    pub use crate::parameter::{AllArguments, Parameter, shown, text};
    pub use crate::prompts::PromptOptions;
    pub use crate::resources::{IntoListing, ListResult, ReadResult, ResourceOptions, no_such_resource};
    pub use crate::return_value::{
        Fallibility, Infallible, IsContent, WithSchema, WithoutSchema, fallibility,
    };
    pub use crate::schema::Properties;
    pub use crate::text_parameter::{NotOption, Variable, reject_others};
    pub use crate::tools::{ToolOptions, describe, verbatim};
}

/// The README's examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
