//! All sessions, by an id that cannot be guessed.
//!
//! Bounded in number and in time: a session that has been silent for long is over, and when there is no room a newcomer
//! is refused rather than a client that is still there cut off.

pub(super) mod event_log;
pub(super) mod in_flight;
pub(super) mod presence;
pub(super) mod roots;
pub(super) mod session;
pub(super) mod streams;
pub(super) mod subscriptions;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::random;
pub use event_log::Event;
use session::Session;
pub use streams::{Events, Next, RETRY};

/// The registry.
#[derive(Debug)]
pub(crate) struct Sessions {
    by_id: RwLock<HashMap<String, Arc<Session>>>,
    most: usize,
    idle: Duration,
}

/// Every session is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

impl Sessions {
    pub(crate) fn new(most: usize, idle: Duration) -> Self {
        Self { by_id: RwLock::default(), most, idle }
    }

    /// Adds a session and gives its id: 128 random bits in visible ASCII.
    ///
    /// # Errors
    /// When there is no room.
    pub(crate) fn add(&self, session: Arc<Session>) -> Result<String, Full> {
        let id = random::token().ok_or(Full)?;
        let mut sessions = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= self.most {
            let longest = sessions.iter().max_by_key(|(_, session)| session.idle());
            let gone = longest.filter(|(_, session)| session.idle() >= self.idle).map(|(id, _)| id.clone());
            if let Some(gone) = sessions.remove(&gone.ok_or(Full)?) {
                gone.end();
            }
        }
        sessions.insert(id.clone(), session);
        Ok(id)
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Session>> {
        self.by_id.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Ends a session and cancels what it has under way.
    pub(crate) fn end(&self, id: &str) -> bool {
        let ended = self.by_id.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        if let Some(session) = &ended {
            session.end();
        }
        ended.is_some()
    }

    /// Ends sessions that have been silent for too long or whose client is gone, and forgets old streams of the others.
    pub(crate) fn sweep(&self) {
        let mut sessions = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| {
            let over = session.ended.is_cancelled() || session.idle() >= self.idle;
            if over {
                session.end();
            } else {
                session.streams.sweep();
            }
            !over
        });
    }

    /// Waits until no session has a call under way.
    pub(crate) async fn finish(&self) {
        let sessions: Vec<_> =
            self.by_id.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        for session in sessions {
            session.tasks.close();
            session.tasks.wait().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_util::sync::CancellationToken;

    fn session() -> Arc<Session> {
        Session::for_tests()
    }

    #[test]
    fn a_full_house_gives_up_only_who_has_been_silent_for_long() {
        let sessions = Sessions::new(1, Duration::from_secs(3600));
        let first = sessions.add(session()).unwrap();
        assert_eq!(sessions.add(session()), Err(Full));
        assert!(sessions.get(&first).is_some());
        let impatient = Sessions::new(1, Duration::ZERO);
        let first = impatient.add(session()).unwrap();
        let second = impatient.add(session()).unwrap();
        assert!(impatient.get(&first).is_none() && impatient.get(&second).is_some());
    }

    #[test]
    fn ending_a_session_cancels_its_requests() {
        let sessions = Sessions::new(9, Duration::ZERO);
        let session = session();
        let id = sessions.add(Arc::clone(&session)).unwrap();
        let cancel = CancellationToken::new();
        let _place =
            session.in_flight.enter(&crate::protocol::message::Id::Number(1), cancel.clone()).unwrap();
        assert!(sessions.end(&id) && !sessions.end(&id));
        assert!(cancel.is_cancelled() && session.ended.is_cancelled());
    }

    #[test]
    fn silence_ends_a_session_unless_someone_waits() {
        let sessions = Sessions::new(9, Duration::ZERO);
        let (silent, attached) = (session(), session());
        let (silent_id, attached_id) =
            (sessions.add(silent).unwrap(), sessions.add(Arc::clone(&attached)).unwrap());
        let waits = attached.attach();
        let patient = Sessions { idle: Duration::from_millis(1), ..sessions };
        std::thread::sleep(Duration::from_millis(3));
        patient.sweep();
        assert!(patient.get(&silent_id).is_none() && patient.get(&attached_id).is_some());
        drop(waits);
        std::thread::sleep(Duration::from_millis(3));
        patient.sweep();
        assert!(patient.get(&attached_id).is_none());
    }
}
