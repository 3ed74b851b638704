//! The suite: the real binary, driven over the wire. One binary, so that everything links once.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test stops at the first surprise, and says what it measured"
)]

mod access;
mod approval;
mod cli;
mod clients;
mod example_plugins;
mod faults;
mod grants;
mod hostile;
mod http;
mod languages;
mod limits;
mod mcp;
mod observe;
mod reload;
mod repository;
