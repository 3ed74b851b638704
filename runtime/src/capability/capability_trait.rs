//! The three lifetimes of a capability.
//!
//! | Lifetime | When | What a capability does |
//! |---|---|---|
//! | linked | once, with the engine's linker | [`Capability::link`] adds its host functions |
//! | per plugin | when a plugin is loaded or loaded anew | [`Capability::for_plugin`] makes what all its instances share |
//! | per instance | with each wasmtime `Store` | [`Capability::for_instance`] makes what one instance keeps; [`Capability::begin_call`] makes it fit for another call |
//!
//! Each capability is a unit struct that implements [`Capability`]. The table makes of these types
//! [`PerPlugin`](super::PerPlugin) and [`PerInstance`](super::PerInstance), with a field for each capability, so host
//! functions find their state by name and without a look-up.

use std::any::Any;
use std::sync::Arc;

use wasmtime::component::Linker;
use wasmtime_wasi::WasiCtxBuilder;

use super::grant_trait::Grant;
use super::{InstanceCtx, PluginCtx, ServerCtx};
use crate::call_env::Caller;
use crate::config::PluginConfig;

/// What a capability does in each lifetime. Most capabilities have no state.
pub(crate) trait Capability {
    /// What the operator grants of it.
    type Granted: Grant;

    /// What it keeps for one plugin.
    type PerPlugin;

    /// What it keeps for one instance.
    type PerInstance;

    /// Adds its host functions.
    ///
    /// # Errors
    /// Never for a fixed set of interfaces.
    fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()>;

    /// For a plugin that is loaded.
    fn for_plugin(granted: &Self::Granted, plugin: &PluginParts<'_>) -> Self::PerPlugin;

    /// For a fresh instance, which serves the calls of this caller. Each call makes one, so what costs much is made
    /// when the guest first uses it.
    fn for_instance(plugin: &Arc<PluginCtx>, caller: &Caller) -> Self::PerInstance;

    /// For another call of an instance that is reused: no state of the call before may be left.
    fn begin_call(state: &mut Self::PerInstance, plugin: &Arc<PluginCtx>, caller: &Caller) {
        *state = Self::for_instance(plugin, caller);
    }

    /// Whether nothing of the call that ended goes on, so that the instance may serve another.
    fn is_quiet(_: &Self::PerInstance) -> bool {
        true
    }

    /// Adds what is granted to the WASI context of an instance, which is built when the guest first calls WASI. What
    /// may be gone by then, such as a directory, is opened before the guest starts.
    fn build_wasi(_: &Self::Granted, _: &mut WasiCtxBuilder) {}

    /// Size of what the host keeps behind a handle of this capability, as far as a guest decides it, bytes.
    fn handle_size(_: &(dyn Any + Send)) -> Option<usize> {
        None
    }
}

/// The parts of a plugin, for capabilities that are made before its [`PluginCtx`].
pub(crate) struct PluginParts<'a> {
    pub(super) name: &'a str,
    pub(super) config: &'a PluginConfig,
    pub(super) server: &'a ServerCtx,
}
