//! Argument types, the same ones in every language: a seed makes types, each language's source for them, and calls.
//!
//! [`kind`] has the types without a language, and [`decode`] what must become of a value. A module for each language
//! writes a plugin with one tool for each type, which answers with its decoded arguments. [`Comparison`] sends random
//! arguments through the server to these tools, and compares what comes back with the model: whether the call is
//! accepted, the decoded arguments with their defaults, and the published schema. Languages that agree with the model
//! agree with each other.

pub mod c;
pub mod comparison;
pub mod decode;
pub mod go;
pub mod javascript;
pub mod json;
pub mod kind;
pub mod number;
pub mod project;
pub mod python;
pub mod rust;
pub mod schema;
pub mod types;
pub mod values;
pub mod vocabulary;

pub use comparison::{Comparison, Difference};

/// A text as Python, JavaScript and Go write it too.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}
