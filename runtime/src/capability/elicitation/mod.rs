//! `plugport:plugin/elicitation`: asks the user at the client. An instance keeps how many requests its call may still
//! send.

pub mod grant;
mod host;

use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker};

use super::capability_trait::{Capability, PluginParts};
use super::client_requests::RequestBudget;
use super::{InstanceCtx, PluginCtx};
use crate::bindings::plugport::plugin::elicitation as wit;
use crate::call_env::Caller;
use crate::config::fixed_limits::ELICITATIONS;
pub(super) use host::check;

/// Elicitation.
pub(super) struct Elicitation;

impl Capability for Elicitation {
    type Granted = grant::Granted;
    type PerPlugin = ();
    type PerInstance = RequestBudget;

    fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
        wit::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)
    }

    fn for_plugin(_: &Self::Granted, _: &PluginParts<'_>) {}

    fn for_instance(_: &Arc<PluginCtx>, _: &Caller) -> RequestBudget {
        RequestBudget::new(ELICITATIONS)
    }
}
