//! The sessions of Streamable HTTP, by an id that cannot be guessed.
//!
//! Bounded in number and in time: a session that has been silent for long is over, and one that was begun and never
//! used soon. When there are as many as may be, the caller who has the most [loses some](choose_evicted): first
//! sessions that were never used, then those that have been silent for longest. A session that has something under way,
//! or a stream open, stays.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::session_streams::HttpSession;
use crate::mcp::{EvictionCandidate, SWEEP, Session, choose_evicted, token};

/// How long a session lives that was begun and not used.
const UNUSED: Duration = Duration::from_secs(60);

/// Of all sessions, the part that is cleared at once, so that a crowd of newcomers does not have each of them looked at
/// anew.
const CLEARED: usize = 256;

/// The registry.
#[derive(Debug)]
pub(super) struct SessionRegistry {
    by_id: RwLock<HashMap<String, Arc<HttpSession>>>,
    most: usize,
    idle: Duration,
}

/// Every session is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionsFull;

impl SessionRegistry {
    pub(super) fn new(most: usize, idle: Duration) -> Self {
        Self { by_id: RwLock::default(), most, idle }
    }

    /// Adds a session and gives its id: 128 random bits in visible ASCII.
    ///
    /// # Errors
    /// When there is no room and all are at work.
    pub(super) fn add(&self, session: Arc<Session>) -> Result<String, SessionsFull> {
        let id = token().ok_or(SessionsFull)?;
        let mut sessions = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        let mut gone = Vec::new();
        if sessions.len() >= self.most {
            let leaving = choose_evicted(holders(&sessions), (self.most / CLEARED).max(1));
            gone.extend(leaving.iter().filter_map(|id| sessions.remove(id)));
            if gone.is_empty() {
                return Err(SessionsFull);
            }
        }
        sessions.insert(id.clone(), HttpSession::new(session));
        drop(sessions);
        gone.iter().for_each(|gone| gone.session.end());
        Ok(id)
    }

    /// The session of this id, unless it has ended.
    pub(super) fn get(&self, id: &str) -> Option<Arc<HttpSession>> {
        let found = self.by_id.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
        found.filter(|found| !found.session.ended.is_cancelled())
    }

    /// Ends a session and cancels what it has under way.
    pub(super) fn end(&self, id: &str) -> bool {
        let ended = self.by_id.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        if let Some(ended) = &ended {
            ended.session.end();
        }
        ended.is_some()
    }

    /// Ends sessions that have been silent for too long or whose client is gone, and forgets old streams of the others.
    pub(super) fn sweep(&self) {
        let mut sessions = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, held| {
            let HttpSession { session, streams } = &**held;
            let idle = session.idle();
            let unused = session.is_unused() && idle >= UNUSED;
            let over = session.ended.is_cancelled() || idle >= self.idle || unused;
            if over {
                session.end();
            } else {
                streams.sweep();
            }
            !over
        });
    }

    /// Sweeps now and then, until the server is to end or nobody has the registry any more.
    pub(super) async fn run_sweeps(registry: Weak<Self>, stopping: CancellationToken) {
        let mut tick = tokio::time::interval(SWEEP);
        while stopping.run_until_cancelled(tick.tick()).await.is_some()
            && let Some(registry) = registry.upgrade()
        {
            registry.sweep();
        }
    }
}

/// Those that there are. What was never used is worth less, and what has been silent for longer.
fn holders(
    sessions: &HashMap<String, Arc<HttpSession>>,
) -> Vec<EvictionCandidate<String, (bool, Reverse<Duration>)>> {
    let holder = |(id, held): (&String, &Arc<HttpSession>)| {
        let session = &held.session;
        let idle = session.idle();
        let worth = (!idle.is_zero()).then(|| (!session.is_unused(), Reverse(idle)));
        EvictionCandidate { key: id.clone(), caller: session.share.caller().clone(), worth }
    };
    sessions.iter().map(holder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::{Caller, RequestId};
    use tokio_util::sync::CancellationToken;

    fn session() -> Arc<Session> {
        Session::for_tests()
    }

    fn from(number: u8) -> Arc<Session> {
        Session::for_caller(&Caller::Address([192, 0, 2, number].into()))
    }

    #[test]
    fn a_newcomer_displaces_the_caller_who_has_the_most() {
        let sessions = SessionRegistry::new(3, Duration::from_secs(3600));
        let add = |session: &Arc<Session>| sessions.add(Arc::clone(session)).unwrap();
        let pause = || std::thread::sleep(Duration::from_millis(3));
        let (used, unused, lone) = (from(1), from(1), from(2));
        let (used_id, unused_id, lone_id) = (add(&used), add(&unused), add(&lone));
        used.touch();
        pause();
        let third = from(3);
        let third_id = add(&third);
        assert!(sessions.get(&unused_id).is_none() && unused.ended.is_cancelled(), "it was never used");
        assert!(sessions.get(&used_id).is_some() && sessions.get(&lone_id).is_some());
        [&lone, &third].iter().for_each(|session| session.touch());
        let _at_work = used.attach();
        pause();
        let fourth = add(&from(3));
        assert!(sessions.get(&lone_id).is_none(), "of equals, who has been silent for longest");
        assert!(sessions.get(&used_id).is_some(), "it has a stream open");
        assert!(sessions.get(&third_id).is_some() && sessions.get(&fourth).is_some());
    }

    #[test]
    fn whoever_begins_sessions_without_end_displaces_itself() {
        let sessions = SessionRegistry::new(10, Duration::from_secs(3600));
        let neighbour = from(1);
        let id = sessions.add(Arc::clone(&neighbour)).unwrap();
        neighbour.touch();
        (0..1_000).for_each(|_| drop(sessions.add(from(2)).unwrap()));
        assert!(sessions.get(&id).is_some() && sessions.by_id.read().unwrap().len() <= 10);
        (0..1_000).for_each(|_| drop(sessions.add(from(1)).unwrap()));
        assert!(sessions.get(&id).is_some(), "one behind the same address who uses its session keeps it");
    }

    #[test]
    fn when_all_are_at_work_a_newcomer_is_rejected() {
        let sessions = SessionRegistry::new(1, Duration::from_secs(3600));
        let session = from(1);
        sessions.add(Arc::clone(&session)).unwrap();
        let attached = session.attach();
        assert_eq!(sessions.add(from(2)), Err(SessionsFull));
        drop(attached);
        std::thread::sleep(Duration::from_millis(3));
        assert!(sessions.add(from(2)).is_ok());
    }

    #[test]
    fn ending_a_session_cancels_its_requests() {
        let sessions = SessionRegistry::new(9, Duration::ZERO);
        let session = session();
        let id = sessions.add(Arc::clone(&session)).unwrap();
        let cancel = CancellationToken::new();
        let _guard = session.in_flight.enter(&RequestId::Number(1), cancel.clone()).unwrap();
        assert!(sessions.end(&id) && !sessions.end(&id));
        assert!(cancel.is_cancelled() && session.ended.is_cancelled());
    }

    #[test]
    fn silence_ends_a_session_unless_someone_waits() {
        let sessions = SessionRegistry::new(9, Duration::ZERO);
        let (silent, attached) = (session(), session());
        let (silent_id, attached_id) =
            (sessions.add(silent).unwrap(), sessions.add(Arc::clone(&attached)).unwrap());
        let waits = attached.attach();
        let patient = SessionRegistry { idle: Duration::from_millis(1), ..sessions };
        std::thread::sleep(Duration::from_millis(3));
        patient.sweep();
        assert!(patient.get(&silent_id).is_none() && patient.get(&attached_id).is_some());
        drop(waits);
        std::thread::sleep(Duration::from_millis(3));
        patient.sweep();
        assert!(patient.get(&attached_id).is_none());
    }
}
