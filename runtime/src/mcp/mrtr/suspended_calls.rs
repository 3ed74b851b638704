//! Suspended calls, stateless and of sessions, and the bounds on them.
//!
//! A stateless call is kept with its task, which waits for the responses; the request that resumes it takes both out
//! and drives the task on. A call of a session waits in its own request and has only an entry here, which a guard
//! removes. When there is no room, the plugin with the most suspended calls loses one: no plugin can push out the calls
//! of another that waits less. It is the oldest of the [caller with the most](choose_evicted) of them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::SuspendedCall;
use super::request_state::{RequestStateKey, SuspendedId};
use crate::host::Caller;
use crate::mcp::client_requests::request_digest::RequestDigest;
use crate::mcp::eviction::{EvictionCandidate, choose_evicted};
use crate::mcp::tokens;

/// Calls that are remembered as given up, so that a request which resumes one too late hears why.
const REMEMBERED: usize = 1_024;

/// Whose call waits.
#[derive(Debug, Clone)]
pub(crate) struct CallOwner {
    pub(crate) plugin: Arc<str>,
    pub(crate) caller: Caller,
}

impl CallOwner {
    fn from_call(call: &SuspendedCall) -> Self {
        Self { plugin: Arc::clone(&call.pending_input.plugin), caller: call.context.caller.clone() }
    }
}

/// The calls.
#[derive(Debug)]
pub(crate) struct SuspendedCalls {
    key: Option<RequestStateKey>,
    most: usize,
    max_wait: Duration,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_id: HashMap<SuspendedId, Entry>,
    per_plugin: HashMap<Arc<str>, usize>,
    given_up: VecDeque<SuspendedId>,
    /// Nothing more is entered.
    closed: bool,
}

#[derive(Debug)]
struct Entry {
    plugin: Arc<str>,
    caller: Caller,
    since: Instant,
    kind: SuspendedKind,
}

enum SuspendedKind {
    Stateless(Box<SuspendedCall>),
    Session(CancellationToken),
}

impl std::fmt::Debug for SuspendedKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Self::Stateless(_)) { "Stateless" } else { "Session" })
    }
}

/// A call that was taken out to be resumed.
pub(crate) struct TakenCall {
    pub(crate) call: SuspendedCall,
    id: SuspendedId,
    since: Instant,
}

/// A waiting call of a session; leaving ends the entry.
pub(crate) struct SuspendGuard {
    owner: Arc<SuspendedCalls>,
    id: SuspendedId,
    /// Cancelled when the call is evicted.
    pub(crate) evicted: CancellationToken,
}

/// Why a request does not resume anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResumeError {
    /// Not signed by this process.
    #[error(
        "`requestState` was not issued by this server, or was altered; send it back exactly as it came, or call again without it"
    )]
    Forged,
    /// Too late.
    #[error("`requestState` has expired; call again without it")]
    Expired,
    /// Already taken.
    #[error("`requestState` has already been used; call again without it")]
    Used,
    /// Of another request or caller.
    #[error("`requestState` belongs to another request; repeat the method and its parameters unchanged")]
    Foreign,
    /// Evicted.
    #[error(
        "the suspended call was cancelled for a newer one (limits `suspended_calls`); call again without `requestState`"
    )]
    GivenUp,
}

impl SuspendedCalls {
    pub(crate) fn new(most: usize, max_wait: Duration) -> Arc<Self> {
        Arc::new(Self { key: RequestStateKey::new(), most, max_wait, entries: Mutex::default() })
    }

    /// How long a call may wait.
    pub(crate) fn max_wait(&self) -> Duration {
        self.max_wait
    }

    /// Keeps a call and gives the `requestState` that brings it back. `None` when the server is about to end, or the
    /// system has no randomness.
    pub(crate) fn suspend(&self, call: SuspendedCall) -> Option<String> {
        let (owner, most) = (CallOwner::from_call(&call), call.pending_input.most);
        let key = self.key.as_ref()?;
        let id = self.enter(owner, most, SuspendedKind::Stateless(Box::new(call)))?;
        Some(key.sign(id, self.max_wait))
    }

    /// Enters a call that waits by itself. `None` as in [`SuspendedCalls::suspend`].
    pub(crate) fn suspend_session_call(
        self: &Arc<Self>,
        owner: CallOwner,
        most: usize,
    ) -> Option<SuspendGuard> {
        let evicted = CancellationToken::new();
        let id = self.enter(owner, most, SuspendedKind::Session(evicted.clone()))?;
        Some(SuspendGuard { owner: Arc::clone(self), id, evicted })
    }

    /// Takes the call that `state` stands for, if it is a part of the request that `request_digest` says.
    ///
    /// # Errors
    /// When there is none, or another's.
    pub(crate) fn take(&self, state: &str, request_digest: RequestDigest) -> Result<TakenCall, ResumeError> {
        let opened = self.key.as_ref().and_then(|key| key.verify(state)).ok_or(ResumeError::Forged)?;
        let id = opened.id;
        if opened.expired {
            let gone = self.lock().remove(&id);
            drop(gone);
            return Err(ResumeError::Expired);
        }
        let mut entries = self.lock();
        let gone = if entries.given_up.contains(&id) { ResumeError::GivenUp } else { ResumeError::Used };
        match entries.by_id.get(&id).map(|entry| &entry.kind) {
            Some(SuspendedKind::Stateless(call)) if call.pending_input.request_digest == request_digest => {}
            Some(SuspendedKind::Stateless(_)) => return Err(ResumeError::Foreign),
            _ => return Err(gone),
        }
        match entries.remove(&id) {
            Some(Entry { since, kind: SuspendedKind::Stateless(call), .. }) => {
                Ok(TakenCall { call: *call, id, since })
            }
            _ => Err(gone),
        }
    }

    /// Puts a call back as if it had not been taken. When the server is about to end, the call is given up like the
    /// others.
    pub(crate) fn put_back(&self, TakenCall { call, id, since }: TakenCall) {
        let CallOwner { plugin, caller } = CallOwner::from_call(&call);
        // Made before the lock, so that a call that is given up is dropped after it.
        let entry = Entry { plugin, caller, since, kind: SuspendedKind::Stateless(Box::new(call)) };
        let mut entries = self.lock();
        if !entries.closed {
            entries.insert(id, entry);
        }
    }

    /// Gives up every call that has waited too long.
    pub(crate) fn sweep(&self) {
        let mut entries = self.lock();
        let late = |entry: &Entry| {
            matches!(entry.kind, SuspendedKind::Stateless(_)) && entry.since.elapsed() >= self.max_wait
        };
        let late: Vec<SuspendedId> =
            entries.by_id.iter().filter(|(_, entry)| late(entry)).map(|(id, _)| *id).collect();
        let gone: Vec<Entry> = late.iter().filter_map(|id| entries.remove(id)).collect();
        drop(entries);
        // Dropping a call drops its instance, which is not work to do under a lock.
        drop(gone);
    }

    /// Whether the server is about to end.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Gives up all calls: the server ends.
    pub(crate) fn clear(&self) {
        let gone = std::mem::replace(&mut *self.lock(), Entries { closed: true, ..Entries::default() });
        for entry in gone.by_id.values() {
            if let SuspendedKind::Session(evicted) = &entry.kind {
                evicted.cancel();
            }
        }
    }

    fn enter(
        &self,
        CallOwner { plugin, caller }: CallOwner,
        most: usize,
        kind: SuspendedKind,
    ) -> Option<SuspendedId> {
        let id = tokens::bits()?;
        let mut entries = self.lock();
        if entries.closed {
            return None;
        }
        let mut gone = Vec::new();
        if entries.per_plugin.get(&plugin).is_some_and(|waiting| *waiting >= most) {
            gone.extend(entries.evict(&plugin));
        }
        if entries.by_id.len() >= self.most {
            let busiest = entries.per_plugin.iter().max_by_key(|(_, waiting)| **waiting);
            let busiest = busiest.map(|(plugin, _)| Arc::clone(plugin));
            gone.extend(busiest.and_then(|plugin| entries.evict(&plugin)));
        }
        entries.insert(id, Entry { plugin, caller, since: Instant::now(), kind });
        drop(entries);
        for entry in gone {
            tracing::warn!(target: "plugin", plugin = &*entry.plugin, "cancelled the oldest suspended call (limits `suspended_calls`)");
            if let SuspendedKind::Session(evicted) = &entry.kind {
                evicted.cancel();
            }
        }
        Some(id)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn insert(&mut self, id: SuspendedId, entry: Entry) {
        *self.per_plugin.entry(Arc::clone(&entry.plugin)).or_default() += 1;
        self.by_id.insert(id, entry);
    }

    fn remove(&mut self, id: &SuspendedId) -> Option<Entry> {
        let entry = self.by_id.remove(id)?;
        if let Some(waiting) = self.per_plugin.get_mut(&entry.plugin) {
            *waiting -= 1;
            if *waiting == 0 {
                self.per_plugin.remove(&entry.plugin);
            }
        }
        Some(entry)
    }

    /// Takes out the call of `plugin` that has waited longest, of the caller with the most of them.
    fn evict(&mut self, plugin: &str) -> Option<Entry> {
        let of_plugin = self.by_id.iter().filter(|(_, entry)| &*entry.plugin == plugin);
        let holders = of_plugin.map(|(id, Entry { caller, since, .. })| EvictionCandidate {
            key: *id,
            caller: caller.clone(),
            worth: Some(*since),
        });
        let oldest = choose_evicted(holders.collect(), 1).pop()?;
        if self.given_up.len() >= REMEMBERED {
            self.given_up.pop_front();
        }
        self.given_up.push_back(oldest);
        self.remove(&oldest)
    }
}

impl Drop for SuspendGuard {
    fn drop(&mut self) {
        self.owner.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "a";

    fn registry(most: usize) -> (Arc<SuspendedCalls>, impl Fn(&Arc<SuspendedCalls>, &str) -> SuspendGuard) {
        let suspended_calls = SuspendedCalls::new(most, Duration::from_secs(60));
        (suspended_calls, |suspended_calls: &Arc<SuspendedCalls>, plugin: &str| {
            suspended_calls.suspend_session_call(owner(plugin, 1), 2).unwrap()
        })
    }

    fn owner(plugin: &str, from: u8) -> CallOwner {
        CallOwner { plugin: plugin.into(), caller: Caller::Address([192, 0, 2, from].into()) }
    }

    #[test]
    fn a_caller_who_has_many_calls_wait_gives_up_its_own() {
        let suspended_calls = SuspendedCalls::new(9, Duration::from_secs(60));
        let wait = |from| suspended_calls.suspend_session_call(owner(A, from), 3).unwrap();
        let (lone, first, _second) = (wait(1), wait(2), wait(2));
        let _third = wait(2);
        assert!(first.evicted.is_cancelled() && !lone.evicted.is_cancelled());
    }

    #[test]
    fn a_plugin_beyond_its_own_limit_loses_its_oldest() {
        let (suspended_calls, wait) = registry(9);
        let (first, second, other) =
            (wait(&suspended_calls, A), wait(&suspended_calls, A), wait(&suspended_calls, "b"));
        let third = wait(&suspended_calls, A);
        assert!(first.evicted.is_cancelled());
        assert!(
            !second.evicted.is_cancelled() && !third.evicted.is_cancelled() && !other.evicted.is_cancelled()
        );
    }

    #[test]
    fn when_all_places_are_taken_the_busiest_plugin_makes_way() {
        let (suspended_calls, wait) = registry(3);
        let (first, _second, other) =
            (wait(&suspended_calls, A), wait(&suspended_calls, A), wait(&suspended_calls, "b"));
        let _new = wait(&suspended_calls, "c");
        assert!(first.evicted.is_cancelled() && !other.evicted.is_cancelled());
    }

    #[test]
    fn a_guard_that_is_dropped_makes_room() {
        let (suspended_calls, wait) = registry(9);
        let first = wait(&suspended_calls, A);
        drop(wait(&suspended_calls, A));
        let _second = wait(&suspended_calls, A);
        assert!(!first.evicted.is_cancelled());
        assert_eq!(suspended_calls.lock().per_plugin.get(A), Some(&2));
        drop((first, _second));
        assert!(suspended_calls.lock().per_plugin.is_empty());
    }

    #[test]
    fn a_state_from_elsewhere_is_forged() {
        let (suspended_calls, _) = registry(9);
        assert_eq!(suspended_calls.take("x", [0; 32]).err(), Some(ResumeError::Forged));
        let token = suspended_calls.key.as_ref().unwrap().sign([1; 16], Duration::from_secs(9));
        assert_eq!(suspended_calls.take(&token, [0; 32]).err(), Some(ResumeError::Used));
        let late = suspended_calls.key.as_ref().unwrap().sign([1; 16], Duration::ZERO);
        assert_eq!(suspended_calls.take(&late, [0; 32]).err(), Some(ResumeError::Expired));
    }
}
