//! Promises about untrusted input: bytes of a client, descriptions of a plugin, lines of an operator.
//!
//! Each target is a function that panics when its promise is broken, written against a simple reading of the rules and
//! not against the code that it tests. The same function runs in two ways: `cargo test` gives it every saved input, and
//! `cargo fuzzing` lets libFuzzer look for new ones. So nothing here knows the engine, and the tests do not need it.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken promise stops the program; that is what it is for"
)]

pub mod reference;
pub mod saved_inputs;
pub mod split_input;
mod targets;

/// One promise.
pub struct Target {
    pub name: &'static str,
    /// Panics when an input breaks the promise.
    pub check: fn(&[u8]),
    /// The dictionary of the engine, besides the words that it finds by itself.
    pub words: &'static [&'static str],
}

/// All targets.
pub const TARGETS: &[Target] = &[
    targets::framing::TARGET,
    targets::arguments::TARGET,
    targets::configuration::TARGET,
    targets::descriptors::TARGET,
    targets::grants::TARGET,
    targets::cursors::TARGET,
    targets::request_state::TARGET,
    targets::token::TARGET,
    targets::dpop_proof::TARGET,
    targets::trace_context::TARGET,
    targets::roots::TARGET,
    targets::shipped_files::TARGET,
    targets::urls::TARGET,
];

/// The target of this name.
#[must_use]
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
