//! The suite: the real binary, driven over the wire. One binary, so that everything links once.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod answering;
mod asking;
mod batches;
mod cancellation;
mod cli;
mod clients;
mod compiling;
mod conformance;
mod errors;
mod fairness;
mod features;
mod files;
mod forged;
mod grants;
mod guard;
mod hostile;
mod lifecycle;
mod loading;
mod malformed;
mod notes;
mod pair;
mod plugins;
mod proxy;
mod repository;
mod rmcp_answering;
mod rmcp_client;
mod rounds;
mod stdio;
mod streams;
mod tools;
