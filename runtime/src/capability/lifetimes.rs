//! The three lifetimes of a capability, and what goes through the table for each.
//!
//! | Lifetime | When | What a capability does |
//! |---|---|---|
//! | linked | once, with the engine's linker | [`Capability::link`] adds its host functions |
//! | per plugin | when a plugin is loaded or loaded anew | [`Capability::for_plugin`] makes what all its instances share |
//! | per instance | with each wasmtime `Store` | [`Capability::for_instance`] makes what one instance keeps; [`Capability::begin_call`] makes it fit for another call |
//!
//! Each capability is a type without values that says this. [`PerPlugin`] and [`PerInstance`] have a field for each line of the
//! table, so host functions find their state by name and without a look-up.

use std::any::Any;
use std::sync::Arc;

use wasmtime::component::Linker;
use wasmtime_wasi::WasiCtxBuilder;

use super::context::denial_log::DenialLog;
use super::grant::Grant;
use super::{InstanceCtx, PluginCtx, ServerCtx, inputs, ungranted};
use crate::config::{Grants, PluginConfig};
use crate::sandbox::HostFuel;

/// A capability: what it does in each lifetime. Most keep nothing.
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

    /// For a fresh instance.
    fn for_instance(plugin: &Arc<PluginCtx>, instance: &InstanceParts<'_>) -> Self::PerInstance;

    /// For another call of an instance that is used again: nothing of the call before it may be left.
    fn begin_call(kept: &mut Self::PerInstance, plugin: &Arc<PluginCtx>, instance: &InstanceParts<'_>) {
        *kept = Self::for_instance(plugin, instance);
    }

    /// Whether nothing of the call that ended goes on, so that the instance may serve another.
    fn is_quiet(_: &Self::PerInstance) -> bool {
        true
    }

    /// Adds what is granted to the WASI context of a fresh instance.
    ///
    /// # Errors
    /// When what was granted has gone.
    fn build_wasi(_: &Self::Granted, _: &mut WasiCtxBuilder) -> wasmtime::Result<()> {
        Ok(())
    }

    /// What the host keeps behind a handle of this capability, bytes, as far as a guest decides it.
    fn handle_size(_: &(dyn Any + Send)) -> Option<usize> {
        None
    }
}

/// What a plugin is made of before its context is there.
pub(crate) struct PluginParts<'a> {
    pub(super) name: &'a str,
    pub(super) config: &'a PluginConfig,
    pub(super) server: &'a ServerCtx,
}

/// What an instance is made of before its context is there.
pub(crate) struct InstanceParts<'a> {
    pub(super) meter: &'a HostFuel,
    pub(super) denials: &'a DenialLog,
}

macro_rules! lifetimes {
    ($($(#[$doc:meta])* $folder:ident $capability:ident;)*) => {
        /// What each capability keeps for one plugin.
        #[derive(Debug)]
        #[expect(dead_code, reason = "most capabilities keep nothing for a plugin")]
        pub(super) struct PerPlugin {
            $(pub(super) $folder: <super::$folder::$capability as Capability>::PerPlugin,)*
        }

        impl PerPlugin {
            pub(super) fn new(plugin: &PluginParts<'_>) -> Self {
                Self { $($folder: super::$folder::$capability::for_plugin(&plugin.config.grants.$folder, plugin),)* }
            }
        }

        /// What each capability keeps for one instance.
        pub(super) struct PerInstance {
            $(pub(super) $folder: <super::$folder::$capability as Capability>::PerInstance,)*
        }

        impl PerInstance {
            pub(super) fn new(plugin: &Arc<PluginCtx>, instance: &InstanceParts<'_>) -> Self {
                Self { $($folder: super::$folder::$capability::for_instance(plugin, instance),)* }
            }

            /// Begins another call in the same instance.
            pub(super) fn begin_call(&mut self, plugin: &Arc<PluginCtx>, instance: &InstanceParts<'_>) {
                $(super::$folder::$capability::begin_call(&mut self.$folder, plugin, instance);)*
            }

            /// Whether nothing of the call that ended goes on.
            pub(super) fn is_quiet(&self) -> bool {
                $(super::$folder::$capability::is_quiet(&self.$folder))&&*
            }
        }

        /// Links every import that a guest can have: what needs no grant, and all capabilities, granted or not.
        ///
        /// # Errors
        /// Never for a fixed set of interfaces; wasmtime reports a name that is defined twice.
        pub(crate) fn add_to_linker(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
            ungranted::link(linker)?;
            inputs::link(linker)?;
            $(super::$folder::$capability::link(linker)?;)*
            Ok(())
        }

        /// Adds what is granted to a WASI context.
        ///
        /// # Errors
        /// When what was granted has gone.
        pub(super) fn build_wasi(grants: &Grants, wasi: &mut WasiCtxBuilder) -> wasmtime::Result<()> {
            $(super::$folder::$capability::build_wasi(&grants.$folder, wasi)?;)*
            Ok(())
        }

        /// What the host keeps behind a handle, bytes, as far as a guest decides it.
        pub(super) fn handle_size(entry: &(dyn Any + Send)) -> usize {
            None$(.or_else(|| super::$folder::$capability::handle_size(entry)))*.unwrap_or(0)
        }
    };
}

capabilities!(lifetimes);
