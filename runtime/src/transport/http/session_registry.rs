//! The sessions of Streamable HTTP by id. The ids cannot be guessed.
//!
//! Sessions are bounded in number and in time: a session ends when it has been idle for long, and sooner if it was
//! never used. At the limit, sessions of the caller with the most sessions are [evicted](choose_evicted): first those
//! that were never used, then those that have been idle longest. A session with a running request or an open stream is
//! never evicted.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::RwLock;
use tokio_util::sync::CancellationToken;

use super::session_streams::HttpSession;
use crate::mcp::{Caller, EvictionCandidate, SWEEP, Session, choose_evicted, token};

/// How long a session lives if it is never used.
const UNUSED_TIMEOUT: Duration = Duration::from_secs(60);

/// At the limit, one of this many sessions is evicted at once. Otherwise every new session of a flood would compare all
/// sessions again.
const EVICTED_SHARE: usize = 256;

/// The registry.
#[derive(Debug)]
pub(super) struct SessionRegistry {
    by_id: RwLock<HashMap<String, Arc<HttpSession>>>,
    max: usize,
    idle: Duration,
}

/// The limit on sessions is reached, and none can be evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionsFull;

impl SessionRegistry {
    pub(super) fn new(max: usize, idle: Duration) -> Self {
        Self { by_id: RwLock::default(), max, idle }
    }

    /// Adds a session and returns its id: 128 random bits in visible ASCII.
    ///
    /// # Errors
    /// When the limit is reached and no session can be evicted.
    pub(super) fn add(&self, session: Arc<Session>) -> Result<String, SessionsFull> {
        let id = token().ok_or(SessionsFull)?;
        let mut sessions = self.by_id.write();
        let mut evicted = Vec::new();
        if sessions.len() >= self.max {
            let ids = choose_evicted(candidates(&sessions), (self.max / EVICTED_SHARE).max(1));
            evicted.extend(ids.iter().filter_map(|id| sessions.remove(id)));
            if evicted.is_empty() {
                return Err(SessionsFull);
            }
        }
        sessions.insert(id.clone(), HttpSession::new(session));
        drop(sessions);
        evicted.iter().for_each(|evicted| evicted.session.end());
        Ok(id)
    }

    /// Returns the session with this id, unless it has ended or belongs to another principal than `caller`.
    pub(super) fn get(&self, id: &str, caller: &Caller) -> Option<Arc<HttpSession>> {
        let session = self.by_id.read().get(id).cloned();
        session.filter(|session| !session.session.ended.is_cancelled() && is_owner(caller, session))
    }

    /// Ends a session of `caller` and cancels its running requests. Returns `false` if there is no such session.
    pub(super) fn end(&self, id: &str, caller: &Caller) -> bool {
        let mut sessions = self.by_id.write();
        let is_owned = sessions.get(id).is_some_and(|session| is_owner(caller, session));
        let ended = is_owned.then(|| sessions.remove(id)).flatten();
        drop(sessions);
        if let Some(ended) = &ended {
            ended.session.end();
        }
        ended.is_some()
    }

    /// Ends sessions that were idle for too long or whose client is gone, and removes old streams from the others.
    pub(super) fn sweep(&self) {
        let mut sessions = self.by_id.write();
        sessions.retain(|_, http_session| {
            let HttpSession { session, streams } = &**http_session;
            let idle = session.idle();
            let unused = session.is_unused() && idle >= UNUSED_TIMEOUT;
            let over = session.ended.is_cancelled() || idle >= self.idle || unused;
            if over {
                session.end();
            } else {
                streams.sweep();
            }
            !over
        });
    }

    /// Sweeps periodically, until the server stops or the registry is dropped.
    pub(super) async fn run_sweeps(registry: Weak<Self>, stopping: CancellationToken) {
        let mut tick = tokio::time::interval(SWEEP);
        while stopping.run_until_cancelled(tick.tick()).await.is_some()
            && let Some(registry) = registry.upgrade()
        {
            registry.sweep();
        }
    }
}

/// Whether the same principal began the session. Callers without a principal may use each other's sessions if they know
/// the ids.
fn is_owner(caller: &Caller, http_session: &HttpSession) -> bool {
    http_session.session.share.caller().principal_id() == caller.principal_id()
}

/// Lists all sessions as candidates for eviction. A session that was never used is worth less, and so is one that has
/// been idle longer.
fn candidates(
    sessions: &HashMap<String, Arc<HttpSession>>,
) -> Vec<EvictionCandidate<String, (bool, Reverse<Duration>)>> {
    let candidate = |(id, http_session): (&String, &Arc<HttpSession>)| {
        let session = &http_session.session;
        let idle = session.idle();
        let worth = (!idle.is_zero()).then(|| (!session.is_unused(), Reverse(idle)));
        EvictionCandidate { key: id.clone(), caller: session.share.caller().clone(), worth }
    };
    sessions.iter().map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::RequestId;
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
        assert!(
            sessions.get(&unused_id, &Caller::Unknown).is_none() && unused.ended.is_cancelled(),
            "it was never used"
        );
        assert!(
            sessions.get(&used_id, &Caller::Unknown).is_some()
                && sessions.get(&lone_id, &Caller::Unknown).is_some()
        );
        lone.touch();
        // Idle times are in whole milliseconds.
        pause();
        third.touch();
        let _at_work = used.attach();
        pause();
        let fourth = add(&from(3));
        assert!(
            sessions.get(&lone_id, &Caller::Unknown).is_none(),
            "of equals, who has been silent for longest"
        );
        assert!(sessions.get(&used_id, &Caller::Unknown).is_some(), "it has a stream open");
        assert!(
            sessions.get(&third_id, &Caller::Unknown).is_some()
                && sessions.get(&fourth, &Caller::Unknown).is_some()
        );
    }

    #[test]
    fn whoever_begins_sessions_without_end_displaces_itself() {
        let sessions = SessionRegistry::new(10, Duration::from_secs(3600));
        let neighbour = from(1);
        let id = sessions.add(Arc::clone(&neighbour)).unwrap();
        neighbour.touch();
        (0..1_000).for_each(|_| drop(sessions.add(from(2)).unwrap()));
        assert!(sessions.get(&id, &Caller::Unknown).is_some() && sessions.by_id.read().len() <= 10);
        (0..1_000).for_each(|_| drop(sessions.add(from(1)).unwrap()));
        assert!(
            sessions.get(&id, &Caller::Unknown).is_some(),
            "one behind the same address who uses its session keeps it"
        );
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
        assert!(sessions.end(&id, &Caller::Unknown) && !sessions.end(&id, &Caller::Unknown));
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
        assert!(
            patient.get(&silent_id, &Caller::Unknown).is_none()
                && patient.get(&attached_id, &Caller::Unknown).is_some()
        );
        drop(waits);
        std::thread::sleep(Duration::from_millis(3));
        patient.sweep();
        assert!(patient.get(&attached_id, &Caller::Unknown).is_none());
    }
}
