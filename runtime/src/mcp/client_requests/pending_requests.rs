//! The server's own requests of one session, by id, until the client responds.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::super::buffer_budget::BufferReservation;
use super::super::jsonrpc::ClientResult;
use super::super::request_id::RequestId;

type PendingMap = HashMap<i64, oneshot::Sender<(ClientResult, Option<Arc<BufferReservation>>)>>;

/// The requests of one session.
#[derive(Debug, Default)]
pub(crate) struct PendingRequests {
    last: AtomicI64,
    waiting: Mutex<PendingMap>,
}

/// A request under way; leaving it forgets it.
#[derive(Debug)]
pub(crate) struct PendingReply {
    owner: Arc<PendingRequests>,
    pub(crate) id: i64,
    pub(crate) answer: oneshot::Receiver<(ClientResult, Option<Arc<BufferReservation>>)>,
}

impl PendingRequests {
    /// A new request with an id of its own.
    pub(crate) fn register(self: &Arc<Self>) -> PendingReply {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        self.lock().insert(id, sender);
        PendingReply { owner: Arc::clone(self), id, answer }
    }

    /// Hands an answer to whoever waits for it, with what is held for it if it is large. An answer to nothing is
    /// forgotten, as is a second one.
    pub(crate) fn complete(
        &self,
        id: &RequestId,
        answer: ClientResult,
        reservation: Option<Arc<BufferReservation>>,
    ) {
        let RequestId::Number(id) = id else { return };
        let Ok(id) = i64::try_from(*id) else { return };
        if let Some(sender) = self.lock().remove(&id) {
            // Whoever asked may have given up in this very moment.
            let _ = sender.send((answer, reservation));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, PendingMap> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PendingReply {
    fn drop(&mut self) {
        self.owner.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::jsonrpc::ClientError;

    #[test]
    fn an_answer_reaches_its_question_once() {
        let pending_requests = Arc::new(PendingRequests::default());
        let (mut first, second) = (pending_requests.register(), pending_requests.register());
        assert_ne!(first.id, second.id);
        let no = ClientError { code: -1, message: "no".into() };
        pending_requests.complete(&RequestId::Number(first.id.into()), Err(no.clone()), None);
        pending_requests.complete(&RequestId::Number(first.id.into()), Err(no.clone()), None);
        pending_requests.complete(&RequestId::Text("x".into()), Err(no.clone()), None);
        assert_eq!(first.answer.try_recv().unwrap().0.unwrap_err(), no);
        drop(second);
        assert!(pending_requests.lock().is_empty());
    }
}
