//! `wasi:sockets`: linked, since most toolchains import it, and never granted. The capability has no state.

pub mod grant;
mod host;

use std::sync::Arc;

use wasmtime::component::Linker;
use wasmtime_wasi::WasiCtxBuilder;

use super::capability_trait::{Capability, PluginParts};
use super::{InstanceCtx, PluginCtx};
use crate::call_env::Caller;

/// Sockets.
pub(super) struct Sockets;

impl Capability for Sockets {
    type Granted = grant::Granted;
    type PerPlugin = ();
    type PerInstance = ();

    fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
        host::link(linker)
    }

    fn for_plugin(_: &Self::Granted, _: &PluginParts<'_>) {}

    fn for_instance(_: &Arc<PluginCtx>, _: &Caller) {}

    fn build_wasi(_: &Self::Granted, wasi: &mut WasiCtxBuilder) {
        // Not even sockets that lead nowhere: each would be an open file of the server.
        wasi.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
    }
}
