//! `resources/read`.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::context::RequestContext;
use super::super::error::RpcError;
use super::super::reply::Reply;
use super::super::server::Server;
use super::super::wire::ReadView;
use super::failures::refusal;
use super::{read as read_params, running};
use crate::plugin::{Called, Plugin};

#[derive(Deserialize)]
struct ReadParams<'a> {
    #[serde(borrow)]
    uri: Cow<'a, str>,
}

/// Reads a resource. `None` when the client withdrew the request.
pub(in super::super) async fn read(
    server: &Server,
    context: &Arc<RequestContext>,
    params: Option<&RawValue>,
) -> Option<Result<Reply, RpcError>> {
    let bytes = params.map_or(0, |params| params.get().len());
    let (plugin, uri) = match server.reading().in_place(bytes, || prepare(server, context, params)).await {
        Ok(prepared) => prepared,
        Err(error) => return Some(Err(error)),
    };
    let port = running::port(context, &plugin);
    let Called { outcome, mut record } =
        running::run(context, &uri, pin!(plugin.read_resource(&uri, port))).await?;
    Some(match outcome {
        Ok(contents) => {
            let bytes = record.bytes_out();
            let write = || {
                ReadView::new(&contents)
                    .map_err(|fault| running::breach(&mut record, &plugin, &uri, &fault))
                    .and_then(|view| Reply::new(&view, context.revision, &server.info))
            };
            plugin.offload().in_place(bytes, write).await
        }
        Err(failure) => Err(refusal(failure, context.revision, "resource", || {
            RpcError::resource_not_found(&uri, context.revision)
        })),
    })
}

fn prepare<'p>(
    server: &Server,
    context: &RequestContext,
    params: Option<&'p RawValue>,
) -> Result<(Arc<Plugin>, Cow<'p, str>), RpcError> {
    let ReadParams { uri } = read_params(params)?;
    let snapshot = server.catalog.current();
    let plugin = snapshot.resource(&uri);
    let plugin = plugin.ok_or_else(|| RpcError::resource_not_found(&uri, context.revision))?;
    Ok((Arc::clone(plugin), uri))
}
