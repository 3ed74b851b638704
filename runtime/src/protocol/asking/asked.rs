//! Our own requests to a client with a session, by id, until it answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::super::buffers::Held;
use super::super::message::Id;

/// What a client answered: a result, or its code and words.
pub(crate) type Answered = Result<Box<RawValue>, ClientError>;

/// An error response of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientError {
    pub(crate) code: i64,
    pub(crate) message: String,
}

type Waiting = HashMap<i64, oneshot::Sender<(Answered, Option<Arc<Held>>)>>;

/// The requests of one session.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    last: AtomicI64,
    waiting: Mutex<Waiting>,
}

/// A request under way; leaving it forgets it.
#[derive(Debug)]
pub(crate) struct Awaited {
    owner: Arc<Asked>,
    pub(crate) id: i64,
    pub(crate) answer: oneshot::Receiver<(Answered, Option<Arc<Held>>)>,
}

impl Asked {
    /// A new request with an id of its own.
    pub(crate) fn begin(self: &Arc<Self>) -> Awaited {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        self.lock().insert(id, sender);
        Awaited { owner: Arc::clone(self), id, answer }
    }

    /// Hands an answer to whoever waits for it, with what is held for it if it is large. An answer to nothing is forgotten, as
    /// is a second one.
    pub(crate) fn settle(&self, id: &Id, answer: Answered, held: Option<Arc<Held>>) {
        let Id::Number(id) = id else { return };
        let Ok(id) = i64::try_from(*id) else { return };
        if let Some(sender) = self.lock().remove(&id) {
            // Whoever asked may have given up in this very moment.
            let _ = sender.send((answer, held));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.owner.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_reaches_its_question_once() {
        let asked = Arc::new(Asked::default());
        let (mut first, second) = (asked.begin(), asked.begin());
        assert_ne!(first.id, second.id);
        let no = ClientError { code: -1, message: "no".into() };
        asked.settle(&Id::Number(first.id.into()), Err(no.clone()), None);
        asked.settle(&Id::Number(first.id.into()), Err(no.clone()), None);
        asked.settle(&Id::Text("x".into()), Err(no.clone()), None);
        assert_eq!(first.answer.try_recv().unwrap().0.unwrap_err(), no);
        drop(second);
        assert!(asked.lock().is_empty());
    }
}
