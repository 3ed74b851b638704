//! The running requests of one client by id, so that they can be cancelled.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::super::buffer_budget::{BufferReservation, BufferShare};
use super::super::error::RpcError;
use super::super::jsonrpc::Notification;
use super::super::request_id::RequestId;

/// The memory of a running request, in bytes: its task, its queue, its small response. The connection that brought the
/// request may be closed already.
const REQUEST_BYTES: usize = 4 << 10;

/// The requests of one session or connection.
#[derive(Debug)]
pub(crate) struct InFlight {
    requests: Mutex<HashMap<RequestId, CancellationToken>>,
    limit: usize,
    share: BufferShare,
}

/// The entry of a running request. Dropping the guard removes the entry.
#[derive(Debug)]
pub(crate) struct InFlightGuard {
    owner: Arc<InFlight>,
    id: RequestId,
    /// `None` once the entry is removed.
    entry: Mutex<Option<BufferReservation>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelledParams<'a> {
    #[serde(borrow)]
    request_id: &'a RawValue,
}

impl InFlight {
    /// Makes the map for up to `limit` requests, whose memory is reserved from `share`.
    pub(crate) fn new(limit: usize, share: BufferShare) -> Arc<Self> {
        Arc::new(Self { requests: Mutex::default(), limit, share })
    }

    /// Registers a request that `cancel` cancels.
    ///
    /// # Errors
    /// When the id is already in use, or too many requests are running.
    pub(crate) fn enter(
        self: &Arc<Self>,
        id: &RequestId,
        cancel: CancellationToken,
    ) -> Result<InFlightGuard, RpcError> {
        let mut requests = self.requests.lock();
        if requests.contains_key(id) {
            return Err(RpcError::invalid_request("a request with this id is still being served"));
        }
        if requests.len() >= self.limit {
            let detail =
                format!("{} requests are under way, as many as a session may have; try again", self.limit);
            return Err(RpcError::internal(&detail));
        }
        let reservation = self
            .share
            .reserve_long_lived(REQUEST_BYTES)
            .ok_or_else(|| RpcError::overloaded("another request"))?;
        requests.insert(id.clone(), cancel);
        Ok(InFlightGuard { owner: Arc::clone(self), id: id.clone(), entry: Mutex::new(Some(reservation)) })
    }

    /// Cancels a request if it is still running.
    pub(crate) fn cancel(&self, id: &RequestId) {
        let requests = self.requests.lock();
        if let Some(cancel) = requests.get(id) {
            cancel.cancel();
        }
    }

    /// Handles `notifications/cancelled` and ignores every other notification.
    pub(crate) fn handle_notification(&self, notification: &Notification) {
        if notification.method != "notifications/cancelled" {
            return;
        }
        let params = notification.params.as_deref().map(|params| serde_json::from_str(params.get()));
        if let Some(Ok(CancelledParams { request_id })) = params
            && let Ok(id) = RequestId::read(request_id)
        {
            self.cancel(&id);
        }
    }

    /// Cancels all running requests.
    pub(crate) fn cancel_all(&self) {
        let requests = self.requests.lock();
        requests.values().for_each(CancellationToken::cancel);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.lock().is_empty()
    }
}

impl InFlightGuard {
    /// From now on `cancel` cancels the request.
    pub(crate) fn rebind(&self, cancel: CancellationToken) {
        let mut requests = self.owner.requests.lock();
        requests.insert(self.id.clone(), cancel);
    }

    /// Removes the entry, because the request has been answered: neither the client nor the end of its session cancels
    /// what still runs of it.
    pub(crate) fn release(&self) {
        if self.entry.lock().take().is_some() {
            self.owner.requests.lock().remove(&self.id);
        }
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_env::Caller;
    use crate::mcp::BufferBudget;

    #[test]
    fn ids_are_unique_while_they_are_in_use_and_requests_are_bounded() {
        let share = BufferBudget::new(1 << 20).share(&Caller::Stdio);
        let requests = InFlight::new(2, share);
        let cancel = CancellationToken::new();
        let enter = |id| requests.enter(&id, cancel.clone());
        let first = enter(RequestId::Number(1)).unwrap();
        assert_eq!(enter(RequestId::Number(1)).unwrap_err().code, -32600);
        let _second = enter(RequestId::Text("1".into())).unwrap();
        assert_eq!(enter(RequestId::Number(3)).unwrap_err().code, -32603);
        requests.cancel(&RequestId::Number(1));
        assert!(cancel.is_cancelled());
        drop(first);
        assert!(enter(RequestId::Number(1)).is_ok());
    }

    #[test]
    fn a_released_request_is_not_cancelled_and_takes_its_id_from_nobody() {
        let requests = InFlight::new(1, BufferBudget::new(1 << 20).share(&Caller::Stdio));
        let id = RequestId::Number(1);
        let (old, new) = (CancellationToken::new(), CancellationToken::new());
        let released = requests.enter(&id, old.clone()).unwrap();
        released.release();
        assert!(requests.is_empty());
        let _guard = requests.enter(&id, new.clone()).unwrap();
        drop(released);
        requests.cancel_all();
        assert!(new.is_cancelled() && !old.is_cancelled());
    }
}
