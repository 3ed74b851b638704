//! Requests to hosts: `wasi:http` for components of any builder, and `plugport:plugin/http-client` for the SDKs. Both
//! interfaces send through `host`, so that grants, limits and denials are the same. A plugin owns an [`Egress`] with
//! its share of the connections; an instance owns the HTTP budget of its call.

mod egress;
pub mod grant;
mod host;
mod http_client;
pub(crate) mod policy;

use std::any::Any;
use std::sync::Arc;

use wasmtime::component::Linker;

use super::capability_trait::{Capability, PluginParts};
use super::{InstanceCtx, PluginCtx};
use crate::call_env::Caller;
use egress::Egress;
use host::HttpCtx;
#[cfg(test)]
pub(super) use host::fields_size;
pub use http_client::SentRequest;

/// The capability of sending requests to hosts.
pub(super) struct Http;

impl Capability for Http {
    type Granted = grant::Granted;
    type PerPlugin = Egress;
    /// `None` until the guest first uses one of the two interfaces.
    type PerInstance = Option<HttpCtx>;

    fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
        host::link(linker)?;
        http_client::link(linker)
    }

    fn for_plugin(_: &Self::Granted, plugin: &PluginParts<'_>) -> Egress {
        Egress::new(usize::try_from(plugin.config.limits.http_parallel).unwrap_or(1))
    }

    fn for_instance(_: &Arc<PluginCtx>, _: &Caller) -> Option<HttpCtx> {
        None
    }

    fn is_quiet(http: &Option<HttpCtx>) -> bool {
        http.as_ref().is_none_or(HttpCtx::is_quiet)
    }

    fn handle_size(entry: &(dyn Any + Send)) -> Option<usize> {
        host::handle_size(entry).or_else(|| entry.downcast_ref::<SentRequest>().map(SentRequest::size))
    }
}
