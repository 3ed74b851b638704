//! `plugport:plugin/roots`: asks the client which folders its user works in. The capability has no state: the folders
//! that a plugin may read are among the open files of its instance.

pub mod grant;
mod host;

use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker};

use super::capability_trait::{Capability, PluginParts};
use super::{InstanceCtx, PluginCtx};
use crate::bindings::plugport::plugin::roots as wit;
use crate::call_env::Caller;
pub(super) use host::check;

/// The client's folders.
pub(super) struct Roots;

impl Capability for Roots {
    type Granted = grant::Granted;
    type PerPlugin = ();
    type PerInstance = ();

    fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
        wit::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)
    }

    fn for_plugin(_: &Self::Granted, _: &PluginParts<'_>) {}

    fn for_instance(_: &Arc<PluginCtx>, _: &Caller) {}
}
