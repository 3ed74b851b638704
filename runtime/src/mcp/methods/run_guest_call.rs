//! Runs a guest for a request, until the guest is done or the client has cancelled the request.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::super::buffer_budget::{BufferReservation, UNCOUNTED_BYTES};
use super::super::call_client::{AllowedCall, RequestClient, ResponseCheck};
use super::super::error::RpcError;
use super::super::request_context::RequestContext;
use super::super::server::Server;
use super::item_access;
use crate::observe::Escaped;
use crate::plugin::{AuditRecord, FinishedCall, Plugin};

/// How long a guest may go on after its call was cancelled, to notice that and to clean up.
const CANCEL_GRACE: Duration = Duration::from_millis(100);

/// Makes the client of one call to `plugin`, which the caller's roles allow.
pub(super) fn client(
    server: &Server,
    context: &Arc<RequestContext>,
    plugin: &Plugin,
    allowed: AllowedCall,
) -> Arc<RequestClient> {
    let check = ResponseCheck { catalog: Arc::clone(&server.catalog), check: item_access::check_response };
    Arc::new(RequestClient::new(&server.suspended_calls, context, plugin, allowed, check))
}

/// Runs a call of the item `what`. Returns `None` when the client has cancelled the request. The call is borrowed
/// because its future is large, and an async function stores an owned argument twice.
pub(super) async fn run<T>(
    context: &RequestContext,
    what: &str,
    call: Pin<&mut impl Future<Output = FinishedCall<T>>>,
) -> Option<FinishedCall<T>> {
    let cancelled = async {
        context.cancel.cancelled().await;
        tokio::time::sleep(CANCEL_GRACE).await;
    };
    let called = tokio::select! {
        biased;
        called = call => called,
        () = cancelled => return None,
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

/// Runs work before or after the guest's call that may take long. Returns `None` when the client has cancelled the
/// request.
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

/// Reserves the bytes of a large result until it has been validated and written.
pub(super) fn reserve_result(
    server: &Server,
    context: &RequestContext,
    bytes: usize,
) -> Result<Option<BufferReservation>, RpcError> {
    if bytes <= UNCOUNTED_BYTES {
        return Ok(None);
    }
    let reservation = server.share(&context.caller).reserve(bytes);
    reservation.map(Some).ok_or_else(|| RpcError::overloaded("the result"))
}

/// Records and logs that a plugin returned an invalid result.
pub(super) fn record_invalid_result(record: &mut AuditRecord, plugin: &Plugin, what: &str, fault: &str) {
    let fault = plugin.redactor().text(fault);
    record.broke_contract(&fault);
    tracing::warn!(target: "plugin", plugin = plugin.name(), what, "returned an invalid result: {}", Escaped(&fault));
}

/// Like [`record_invalid_result`]; also returns the error for the client of a method without tool results.
pub(super) fn invalid_result_error(
    record: &mut AuditRecord,
    plugin: &Plugin,
    what: &str,
    fault: &str,
) -> RpcError {
    record_invalid_result(record, plugin, what, fault);
    RpcError::internal(&format!("the plugin returned an invalid result: {}", plugin.redactor().text(fault)))
}
