//! What apps may reach. A guest gets nothing of it: the client's host enforces it, so there are no host functions, and
//! the catalog compares apps with the grant.

pub mod grant;
pub(crate) mod policy;

use std::sync::Arc;

use wasmtime::component::Linker;

use super::capability_trait::{Capability, PluginParts};
use super::{InstanceCtx, PluginCtx};
use crate::call_env::Caller;

/// Apps.
pub(super) struct Ui;

impl Capability for Ui {
    type Granted = grant::Granted;
    type PerPlugin = ();
    type PerInstance = ();

    fn link(_: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
        Ok(())
    }

    fn for_plugin(_: &Self::Granted, _: &PluginParts<'_>) {}

    fn for_instance(_: &Arc<PluginCtx>, _: &Caller) {}
}
