//! The commands of operators and authors, and their output: `call`, `inspect`, `check`, `status`, `new`, `build` and
//! `dev`, the code cache of commands, and the audit.
//!
//! `approve` is in `approval`. What a command needs of each language's tools is in `languages`.

mod audit;
mod call_and_inspect;
mod call_responses;
mod check;
mod code_cache;
mod dev;
mod dev_killed;
mod new_and_build;
pub(crate) mod status;
mod unchanged_builds;
