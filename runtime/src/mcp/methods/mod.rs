//! The handlers: one short function for each method. A handler reads the parameters, uses the catalog or calls a
//! plugin, and writes the result.

pub(super) mod completion;
pub(super) mod directory_read;
pub(super) mod discover;
mod error_mapping;
pub(super) mod hidden_items;
pub(super) mod item_access;
pub(super) mod lifecycle;
pub(super) mod lists;
pub(super) mod logging;
pub(super) mod prompts;
mod quotas;
pub(super) mod resources;
mod run_guest_call;
pub(super) mod session_tasks;
pub(super) mod skills;
mod string_arguments;
pub(super) mod subscriptions;
mod task_access;
mod task_result_tool;
mod task_subscription;
pub(super) mod tasks;
pub(super) mod tools;

use serde::Deserialize;

use super::error::RpcError;
use super::params::{self, Params};

/// Parses parameters. Absent parameters are an empty object.
fn read<'p, P: Deserialize<'p>>(params: &'p Params) -> Result<P, RpcError> {
    params::read(&"params", params.text())
}
