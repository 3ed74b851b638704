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

mod answering;
mod approvers;
mod asking;
mod assaults;
mod audit;
mod batches;
mod cancellation;
mod chaos;
mod check;
mod cli;
mod clients;
mod compiling;
mod conformance;
mod corpus;
mod corpus_files;
mod denied;
mod dev;
mod dev_killed;
mod errors;
mod fairness;
mod faults;
mod features;
mod files;
mod files_escape;
mod files_quota;
mod files_race;
mod first_contact;
mod first_lists;
mod forged;
mod full;
mod grants;
mod guard;
mod held;
mod hostile;
mod hostile_clients;
mod http;
mod https;
mod kept;
mod killed;
mod languages;
mod large_work;
mod lifecycle;
mod loading;
mod malformed;
mod many;
mod memory;
mod names;
mod near_roots;
mod newcomers;
mod notes;
mod pace;
mod pair;
mod pins;
mod plain;
mod plain_zoo;
mod plugins;
mod projects;
mod proxy;
mod reconfigured;
mod refused;
mod reload;
mod reload_clients;
mod repository;
mod reuse;
mod revoked;
mod rmcp_answering;
mod rmcp_client;
mod rounds;
mod run_js;
mod settings;
mod signatures;
mod status;
mod stdio;
mod streams;
mod swaps;
mod tools;
