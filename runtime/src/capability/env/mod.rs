//! `wasi:cli/environment`: the variables of a plugin. The capability has no state: the variables are part of the WASI
//! context of each instance.

pub mod grant;
mod host;

use std::sync::Arc;

use wasmtime::component::Linker;
use wasmtime_wasi::WasiCtxBuilder;

use super::capability_trait::{Capability, PluginParts};
use super::{InstanceCtx, PluginCtx};
use crate::call_env::Caller;
use grant::EnvVar;

/// Variables.
pub(super) struct Env;

impl Capability for Env {
    type Granted = grant::Granted;
    type PerPlugin = ();
    type PerInstance = ();

    fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
        host::link(linker)
    }

    fn for_plugin(_: &Self::Granted, _: &PluginParts<'_>) {}

    fn for_instance(_: &Arc<PluginCtx>, _: &Caller) {}

    fn build_wasi(granted: &Self::Granted, wasi: &mut WasiCtxBuilder) {
        for EnvVar { name, value } in granted {
            if let Some(value) = value {
                wasi.env(name, value);
            }
        }
    }
}
