//! What the suite stands on: guests and plugins built from source, the real binary, and clients that show the wire.
//!
//! Everything is built once per test process by the repository's own commands, so a clean checkout needs no preparation
//! and nothing can be stale.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "support code of tests stops at the first surprise"
)]

pub mod build;
pub mod caller;
pub mod clients;
pub mod conformance;
pub mod contained;
pub mod corpus;
pub mod generator;
pub mod guests;
pub mod hostile_files;
pub mod http;
pub mod languages;
pub mod place;
pub mod raw;
pub mod raw_post;
pub mod reload;
pub mod schema;
pub mod server;
pub mod socket;
pub mod stdio;
pub mod toolchain;
pub mod web;
