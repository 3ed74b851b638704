//! The support code of the suite: guests and plugins built from source, the real binary, and clients that show
//! the messages on the wire.
//!
//! Everything is built once per test process by the repository's own commands, so a clean checkout needs no preparation
//! and no build is out of date.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "support code of tests stops at the first surprise"
)]

pub mod answering_client;
pub mod argument_types;
pub mod authorization_server;
pub mod bad_web_server;
pub mod browser;
pub mod build;
pub mod command;
pub mod conformance;
pub mod containment;
pub mod corpus;
pub mod external_clients;
pub mod generator;
pub mod granted_dir;
pub mod guests;
pub mod hostile_files;
pub mod http_client;
pub mod instruction_counts;
pub mod languages;
pub mod mcp_schema;
pub mod otlp_receiver;
pub mod prometheus;
pub mod prometheus_text;
pub mod raw_http;
pub mod raw_post;
pub mod raw_server;
pub mod reload;
pub mod server;
pub mod shipped_files;
pub mod stdio_client;
pub mod toolchain;
