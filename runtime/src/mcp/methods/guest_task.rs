//! Runs a guest for a request, until it is done or the client has cancelled.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::super::buffer_budget::{BufferReservation, FREE};
use super::super::error::RpcError;
use super::super::request_client::RequestClient;
use super::super::request_context::RequestContext;
use super::super::server::Server;
use crate::observe::Escaped;
use crate::plugin::{AuditRecord, FinishedCall, Plugin};

/// What a guest has left after its call was cancelled, to notice and to leave things tidy.
const CANCEL_GRACE: Duration = Duration::from_millis(100);

/// The client of one call to `plugin`.
pub(super) fn client(server: &Server, context: &Arc<RequestContext>, plugin: &Plugin) -> Arc<RequestClient> {
    Arc::new(RequestClient::new(&server.suspended_calls, context, plugin))
}

/// Runs a call of `what`. `None` when the client has withdrawn the request. The call is borrowed, since its future is
/// large, and a future has room for whatever it is given twice.
pub(super) async fn run<T>(
    context: &RequestContext,
    what: &str,
    call: Pin<&mut impl Future<Output = FinishedCall<T>>>,
) -> Option<FinishedCall<T>> {
    let withdrawn = async {
        context.cancel.cancelled().await;
        tokio::time::sleep(CANCEL_GRACE).await;
    };
    let called = tokio::select! {
        biased;
        called = call => called,
        () = withdrawn => return None,
    };
    if context.cancel.is_cancelled() {
        return None;
    }
    tracing::debug!(
        what,
        ok = called.outcome.is_ok(),
        fuel = called.record.usage().fuel,
        elapsed_us = called.record.usage().elapsed.as_micros(),
        "called"
    );
    Some(called)
}

/// Does what may take a while, beside a call. `None` when the client has withdrawn the request meanwhile.
pub(super) async fn until_cancelled<T>(
    context: &RequestContext,
    work: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = context.cancel.cancelled() => None,
    }
}

/// Room for a result of so many bytes while it waits to be looked at and written.
pub(super) fn reserve_result(
    server: &Server,
    context: &RequestContext,
    bytes: usize,
) -> Result<Option<BufferReservation>, RpcError> {
    if bytes <= FREE {
        return Ok(None);
    }
    let reservation = server.share(&context.caller).reserve(bytes);
    reservation.map(Some).ok_or_else(|| RpcError::no_room("the result"))
}

/// Notes that a plugin's answer cannot be sent.
pub(super) fn record_invalid_result(record: &mut AuditRecord, plugin: &Plugin, what: &str, fault: &str) {
    let fault = plugin.redactor().text(fault);
    record.broke_contract(&fault);
    tracing::warn!(target: "plugin", plugin = plugin.name(), what, "returned an invalid result: {}", Escaped(&fault));
}

/// The same, and the error that the client gets where there is no other way to say it.
pub(super) fn invalid_result_error(
    record: &mut AuditRecord,
    plugin: &Plugin,
    what: &str,
    fault: &str,
) -> RpcError {
    record_invalid_result(record, plugin, what, fault);
    RpcError::internal(&format!("the plugin returned an invalid result: {}", plugin.redactor().text(fault)))
}
