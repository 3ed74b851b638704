//! `resources/read`.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;

use super::super::catalog_view::CatalogView;
use super::super::error::RpcError;
use super::super::params::Params;
use super::super::request_context::RequestContext;
use super::super::result_writer::EncodedResult;
use super::super::server::Server;
use super::super::wire::{FileView, ReadView};
use super::error_mapping::map_error;
use super::hidden_items::HiddenLinks;
use super::item_access::{self, AllowingRoles};
use super::quotas::{self, CalledItem};
use super::run_guest_call;
use crate::catalog::PublishedResource;
use crate::plugin::{CallKind, FinishedCall, MatchedTemplate, Plugin};

/// The URI of a request, its plugin and template, and the roles that allow reading it.
struct PreparedRead<'p> {
    plugin: Arc<Plugin>,
    template: Option<MatchedTemplate>,
    uri: Cow<'p, str>,
    roles: AllowingRoles,
    /// The resource, if it is a file that the server serves itself.
    shipped: Option<Arc<PublishedResource>>,
}

/// Reads a resource. `None` when the client cancelled the request.
pub(in super::super) async fn read(
    server: &Server,
    view: CatalogView,
    context: &Arc<RequestContext>,
    params: &Params,
) -> Option<Result<EncodedResult, RpcError>> {
    let bytes = params.len();
    let prepared = server.reading().in_place(bytes, || prepare(&view, context, params)).await;
    drop(view);
    let PreparedRead { plugin, template, uri, roles, shipped } = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Some(Err(error)),
    };
    let called = CalledItem { plugin: &plugin, kind: CallKind::ReadResource, name: &uri, bytes_in: 0 };
    if let (Some(trace), None) = (&context.trace, &template) {
        trace.reads_listed(&plugin, &uri);
    }
    let allowed = match quotas::admit(server, context, roles, called).await {
        Ok(allowed) => allowed,
        Err(over) => return Some(Err(RpcError::over_quota(&over))),
    };
    if let Some(resource) = shipped {
        return Some(read_file(server, context, &resource).await);
    }
    let client = run_guest_call::client(server, context, &plugin, allowed);
    let reading = plugin.read_resource(&uri, template.as_ref(), client);
    let FinishedCall { outcome, mut record } = run_guest_call::run(context, &uri, pin!(reading)).await?;
    Some(match outcome {
        Ok(contents) => {
            let links = HiddenLinks::of_read(server, &context.caller, &uri, &contents);
            let bytes = record.bytes_out().saturating_add(links.work());
            let write = || {
                ReadView::new(&contents, &plugin.config().grants.ui)
                    .map(|view| view.without_resources(|other| *other != *uri && links.hide(other)))
                    .map_err(|fault| run_guest_call::invalid_result_error(&mut record, &plugin, &uri, &fault))
                    .and_then(|view| EncodedResult::new(&view, context.revision, &server.info))
            };
            plugin.offload().in_place(bytes, write).await
        }
        Err(failure) => Err(map_error(failure, context.revision, "resource", || {
            RpcError::resource_not_found(&uri, context.revision)
        })),
    })
}

fn prepare<'p>(
    view: &CatalogView,
    context: &RequestContext,
    params: &'p Params,
) -> Result<PreparedRead<'p>, RpcError> {
    let uri = params.uri()?;
    let unknown = || RpcError::resource_not_found(&uri, context.revision);
    let (plugin, template) = view.snapshot.route_uri(&uri).ok_or_else(unknown)?;
    let reading = ("resources/read", &*uri);
    let checked = item_access::check_uri(view, &context.caller, plugin, reading, template.as_ref());
    let roles = checked.map_err(|error| error.into_rpc(unknown))?;
    let listed = view.snapshot.resources().get(&uri);
    let shipped = listed.filter(|resource| resource.file.is_some()).cloned();
    Ok(PreparedRead { plugin: Arc::clone(plugin), template, uri, roles, shipped })
}

/// Reads a file in a component, without an instance.
async fn read_file(
    server: &Server,
    context: &RequestContext,
    resource: &PublishedResource,
) -> Result<EncodedResult, RpcError> {
    let unknown = || RpcError::resource_not_found(&resource.resource.uri, context.revision);
    let file = resource.file.as_ref().ok_or_else(unknown)?;
    let bytes = file.file.size();
    let _reservation = run_guest_call::reserve_result(server, context, bytes)?;
    let view = FileView { resource, file, cache_scope: server.cache_scope() };
    let write = || EncodedResult::new(&view, context.revision, &server.info);
    resource.plugin.offload().in_place(bytes, write).await
}
