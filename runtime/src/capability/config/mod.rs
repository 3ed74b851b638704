//! `wasi:config`: the settings and secrets of a plugin. The capability has no state: they are in the plugin's grant.
//!
//! Components made for other hosts import earlier drafts. Where a draft has other names and the same meaning, the same
//! functions are linked under its name. The linker finds a draft by its exact name only, and compares the types of
//! functions by their structure: that the error of a draft is called `config-error` makes no difference.

pub mod grant;
mod host;

use std::sync::Arc;

use wasmtime::StoreContextMut;
use wasmtime::component::{HasSelf, Linker};

use super::capability_trait::{Capability, PluginParts};
use super::{InstanceCtx, PluginCtx};
use crate::bindings::config::wasi::config::store::{self, Host as _};
use crate::call_env::Caller;

/// Drafts that have the functions of `wasi:config/store@0.2.0-rc.1`.
const DRAFTS: [&str; 2] = ["wasi:config/store@0.2.0-draft", "wasi:config/runtime@0.2.0-draft"];

/// Settings and secrets.
pub(super) struct Config;

impl Capability for Config {
    type Granted = grant::Granted;
    type PerPlugin = ();
    type PerInstance = ();

    fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
        store::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)?;
        DRAFTS.iter().try_for_each(|draft| link_draft(linker, draft))
    }

    fn for_plugin(_: &Self::Granted, _: &PluginParts<'_>) {}

    fn for_instance(_: &Arc<PluginCtx>, _: &Caller) {}
}

/// Links the functions of the interface under the name of a draft.
fn link_draft(linker: &mut Linker<InstanceCtx>, draft: &str) -> wasmtime::Result<()> {
    let mut instance = linker.instance(draft)?;
    instance.func_wrap_async("get", |mut store: StoreContextMut<'_, InstanceCtx>, (key,): (String,)| {
        Box::new(async move { Ok((store.data_mut().get(key).await?,)) })
    })?;
    instance.func_wrap_async("get-all", |mut store: StoreContextMut<'_, InstanceCtx>, (): ()| {
        Box::new(async move { Ok((store.data_mut().get_all().await?,)) })
    })
}
