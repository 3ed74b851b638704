//! Handles the request that resumes a suspended call.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::value::RawValue;

use super::{SuspendedCalls, suspend};
use crate::call_env::Caller;
use crate::json::RawObject;
use crate::mcp::buffer_budget::{BufferReservation, buffer_cost};
use crate::mcp::call_task::CallTask;
use crate::mcp::client_requests::request_digest;
use crate::mcp::error::RpcError;
use crate::mcp::jsonrpc::Request;
use crate::mcp::request_context::{RequestContext, RequestLeg};
use crate::mcp::sessions::in_flight::InFlightGuard;

/// Gives `responses` to the call of `state`, and returns the task to drive: the call's own, or, if responses are still
/// missing, one that ends at once with another `input_required`.
///
/// # Errors
/// When there is no such call for this request, or a response is invalid; then the call stays suspended.
pub(in crate::mcp) fn resume(
    (suspended_calls, server, caller): (&SuspendedCalls, &RawValue, &Caller),
    mut request: Request,
    (state, responses): (&str, &RawObject),
    leg: Arc<RequestLeg>,
    guard: Option<&InFlightGuard>,
) -> Result<(Arc<RequestContext>, CallTask), RpcError> {
    let digest = || request_digest::compute(&request.method, request.params.raw());
    let taken = suspended_calls.take(state, caller, digest);
    let mut taken = taken.map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    // If the call's task has ended, for example because its plugin was replaced, no responses are needed: the client
    // gets the outcome of the task.
    if !taken.call.is_ready()
        && let Err(error) = taken.call.accept(responses, leg.capabilities)
    {
        suspended_calls.put_back(taken);
        return Err(error);
    }
    let call = taken.call;
    call.context
        .keep_reservation(request.reservation.take().and_then(|reservation| shrink(reservation, responses)));
    if call.is_ready() {
        if let Some(guard) = guard {
            guard.rebind(call.context.cancel.token().clone());
        }
        return Ok(call.resume(leg));
    }
    let context = Arc::clone(&call.context);
    let result = suspend(suspended_calls, server, call)?;
    Ok((context, CallTask::new(std::future::ready(Some(Ok(result))).boxed())))
}

/// Shrinks the reservation of the request to the size of its responses, because the call keeps only those. Such a
/// request is never part of a batch, so no other request shares the reservation.
fn shrink(reservation: Arc<BufferReservation>, responses: &RawObject) -> Option<Arc<BufferReservation>> {
    let bytes = responses.iter().map(|(_, response)| response.get().len()).sum();
    let mut reservation = Arc::into_inner(reservation)?;
    reservation.shrink_to(buffer_cost(bytes));
    Some(Arc::new(reservation))
}
