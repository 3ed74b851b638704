//! All sessions, by an id that cannot be guessed.
//!
//! Bounded: when there is no room, sessions that have been silent for long make way, longest first; when all are in
//! use, a newcomer is refused rather than an old client cut off.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::session::Session;

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
        let id = random_id().ok_or(Full)?;
        let mut sessions = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= self.most {
            let longest = sessions.iter().max_by_key(|(_, session)| session.idle());
            let gone = longest.filter(|(_, session)| session.idle() >= self.idle).map(|(id, _)| id.clone());
            sessions.remove(&gone.ok_or(Full)?);
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
            session.in_flight.cancel_all();
        }
        ended.is_some()
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

fn random_id() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().fold(String::with_capacity(32), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::ClientInfo;
    use crate::protocol::revision::Revision;

    fn session() -> Arc<Session> {
        Arc::new(Session::new(Revision::V2025_11_25, ClientInfo::default(), 9))
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
        let place = session.in_flight.enter(&crate::protocol::message::Id::Number(1)).unwrap();
        assert!(sessions.end(&id) && !sessions.end(&id));
        assert!(place.cancel.is_cancelled());
    }
}
