//! One short function per method: read the parameters, ask the catalog or a plugin, write the result.

pub(super) mod completion;
pub(super) mod discover;
mod error_mapping;
mod guest_task;
pub(super) mod lifecycle;
pub(super) mod lists;
pub(super) mod logging;
pub(super) mod prompts;
pub(super) mod resources;
mod string_map;
pub(super) mod subscriptions;
pub(super) mod tools;

use serde::Deserialize;

use super::error::RpcError;
use super::params::{self, Params};

/// Reads parameters of a known form. Absent parameters are an empty object.
fn read<'p, P: Deserialize<'p>>(params: &'p Params) -> Result<P, RpcError> {
    params::read(&"params", params.text())
}
