//! The requests of the server to the client of one session, by id, until the client responds.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::super::buffer_budget::BufferReservation;
use super::super::jsonrpc::ClientResult;
use super::super::request_id::RequestId;
use crate::call_env::Caller;

type PendingMap = HashMap<i64, oneshot::Sender<ReceivedResponse>>;

/// A response of the client.
#[derive(Debug)]
pub(crate) struct ReceivedResponse {
    /// The caller that sent the response: the session's principal, maybe with another token than that of the request.
    pub(crate) caller: Caller,
    pub(crate) result: ClientResult,
    /// The buffer space of a large response.
    pub(crate) reservation: Option<Arc<BufferReservation>>,
}

/// The requests of one session.
#[derive(Debug, Default)]
pub(crate) struct PendingRequests {
    last: AtomicI64,
    waiting: Mutex<PendingMap>,
}

/// One sent request. Dropping it removes its entry, so that a later response is ignored.
#[derive(Debug)]
pub(crate) struct PendingReply {
    owner: Arc<PendingRequests>,
    pub(crate) id: i64,
    pub(crate) response: oneshot::Receiver<ReceivedResponse>,
}

impl PendingRequests {
    /// Registers a new request with its own id.
    pub(crate) fn register(self: &Arc<Self>) -> PendingReply {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, response) = oneshot::channel();
        self.waiting.lock().insert(id, sender);
        PendingReply { owner: Arc::clone(self), id, response }
    }

    /// Hands a response to the waiting request. A response to an unknown id, or a second response, is ignored.
    pub(crate) fn complete(&self, id: &RequestId, response: ReceivedResponse) {
        let RequestId::Number(id) = id else { return };
        let Ok(id) = i64::try_from(*id) else { return };
        if let Some(sender) = self.waiting.lock().remove(&id) {
            // The receiver may have been dropped meanwhile.
            let _ = sender.send(response);
        }
    }
}

impl Drop for PendingReply {
    fn drop(&mut self) {
        self.owner.waiting.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::jsonrpc::ClientError;

    #[test]
    fn a_response_reaches_its_request_once() {
        let pending_requests = Arc::new(PendingRequests::default());
        let (mut first, second) = (pending_requests.register(), pending_requests.register());
        assert_ne!(first.id, second.id);
        let no = ClientError { code: -1, message: "no".into() };
        let response = || {
            let (caller, result) = (Caller::Stdio, Err(no.clone()));
            ReceivedResponse { caller, result, reservation: None }
        };
        pending_requests.complete(&RequestId::Number(first.id.into()), response());
        pending_requests.complete(&RequestId::Number(first.id.into()), response());
        pending_requests.complete(&RequestId::Text("x".into()), response());
        assert_eq!(first.response.try_recv().unwrap().result.unwrap_err(), no);
        drop(second);
        assert!(pending_requests.waiting.lock().is_empty());
    }
}
