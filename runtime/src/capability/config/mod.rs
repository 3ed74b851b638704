//! `wasi:config`: the settings and secrets of a plugin. The capability has no state: they are in the plugin's grant.

pub mod grant;
mod host;

use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker};

use super::capability_trait::{Capability, PluginParts};
use super::{InstanceCtx, PluginCtx};
use crate::bindings::config::wasi::config::store;
use crate::call_env::Caller;

/// Settings and secrets.
pub(super) struct Config;

impl Capability for Config {
    type Granted = grant::Granted;
    type PerPlugin = ();
    type PerInstance = ();

    fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
        store::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)
    }

    fn for_plugin(_: &Self::Granted, _: &PluginParts<'_>) {}

    fn for_instance(_: &Arc<PluginCtx>, _: &Caller) {}
}
