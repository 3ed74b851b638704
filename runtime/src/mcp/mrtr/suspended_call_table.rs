//! The table of suspended calls, stateless and of sessions, and the limits on them.
//!
//! A stateless call is stored with its task, which waits for the responses. The request that resumes the call takes it
//! out and drives the task. A call of a session waits in its own request and has only an entry here, which a guard
//! removes. At the limit, the plugin with the most suspended calls loses one, so a plugin cannot evict calls of a
//! plugin that has fewer. The evicted call is the oldest of the [caller with the most](choose_evicted).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::SuspendedCall;
use super::request_state::{RequestStateKey, SuspendedId};
use crate::call_env::Caller;
use crate::mcp::client_requests::request_digest::RequestDigest;
use crate::mcp::eviction_policy::{EvictionCandidate, choose_evicted};
use crate::mcp::random_tokens;

/// Maximum number of remembered ids of evicted calls; a request that resumes an evicted call gets an error that says
/// so.
const MAX_EVICTED_IDS: usize = 1_024;

/// The plugin and the caller of a suspended call.
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

/// The table of suspended calls.
#[derive(Debug)]
pub(crate) struct SuspendedCalls {
    key: Option<RequestStateKey>,
    limit: usize,
    max_wait: Duration,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_id: HashMap<SuspendedId, SuspendedEntry>,
    per_plugin: HashMap<Arc<str>, usize>,
    evicted_ids: VecDeque<(SuspendedId, Option<Arc<str>>)>,
    /// The server is stopping: no call can be suspended.
    closed: bool,
}

#[derive(Debug)]
struct SuspendedEntry {
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

/// A stateless call that was taken out of the table to be resumed.
pub(crate) struct TakenCall {
    pub(crate) call: SuspendedCall,
    id: SuspendedId,
    since: Instant,
}

/// The entry of a suspended call of a session. Dropping the guard removes the entry.
pub(crate) struct SuspendGuard {
    owner: Arc<SuspendedCalls>,
    id: SuspendedId,
    /// Cancelled when the call is evicted.
    pub(crate) evicted: CancellationToken,
}

/// Why a request cannot resume a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResumeError {
    /// This process did not sign the state.
    #[error(
        "`requestState` was not issued by this server, or was altered; send it back exactly as it came, or call again without it"
    )]
    Forged,
    /// The state has expired.
    #[error("`requestState` has expired; call again without it")]
    Expired,
    /// The call was resumed before, or belongs to another principal, for whom it does not exist.
    #[error("`requestState` has already been used; call again without it")]
    Used,
    /// The state belongs to another request.
    #[error("`requestState` belongs to another request; repeat the method and its parameters unchanged")]
    Foreign,
    /// The call was evicted at the limit.
    #[error(
        "the suspended call was cancelled for a newer one (limits `suspended_calls`); call again without `requestState`"
    )]
    Evicted,
}

impl SuspendedCalls {
    pub(crate) fn new(limit: usize, max_wait: Duration) -> Arc<Self> {
        Arc::new(Self { key: RequestStateKey::new(), limit, max_wait, entries: Mutex::default() })
    }

    /// How long a call may stay suspended.
    pub(crate) fn max_wait(&self) -> Duration {
        self.max_wait
    }

    /// Stores a call and returns its `requestState`. `None` when the server is stopping, or the system has no
    /// randomness.
    pub(crate) fn suspend(&self, call: SuspendedCall) -> Option<String> {
        let (owner, plugin_limit) = (CallOwner::from_call(&call), call.pending_input.max_suspended);
        let key = self.key.as_ref()?;
        let id = self.enter(owner, plugin_limit, SuspendedKind::Stateless(Box::new(call)))?;
        Some(key.sign(id, self.max_wait))
    }

    /// Adds an entry for a call that waits in its own request. Returns `None` as [`SuspendedCalls::suspend`] does.
    pub(crate) fn suspend_session_call(
        self: &Arc<Self>,
        owner: CallOwner,
        plugin_limit: usize,
    ) -> Option<SuspendGuard> {
        let evicted = CancellationToken::new();
        let id = self.enter(owner, plugin_limit, SuspendedKind::Session(evicted.clone()))?;
        Some(SuspendGuard { owner: Arc::clone(self), id, evicted })
    }

    /// Takes the call of `state` out of the table, if the call belongs to the principal of `caller` and
    /// `request_digest` equals the digest of its request.
    ///
    /// # Errors
    /// When there is no such call, or the call belongs to another request. A call of another principal stays in the
    /// table.
    pub(crate) fn take(
        &self,
        state: &str,
        caller: &Caller,
        request_digest: impl FnOnce() -> RequestDigest,
    ) -> Result<TakenCall, ResumeError> {
        let verified = self.key.as_ref().and_then(|key| key.verify(state)).ok_or(ResumeError::Forged)?;
        let id = verified.id;
        if verified.expired {
            let expired = self.entries.lock().remove(&id);
            drop(expired);
            return Err(ResumeError::Expired);
        }
        // Computed only for a state that this process signed, and before the lock is taken, because it may take a
        // millisecond.
        let request_digest = request_digest();
        let mut entries = self.entries.lock();
        let owner = caller.principal_id();
        let is_evicted =
            entries.evicted_ids.iter().any(|(evicted, of)| *evicted == id && of.as_ref() == owner);
        let missing = if is_evicted { ResumeError::Evicted } else { ResumeError::Used };
        let entry = entries.by_id.get(&id).filter(|entry| entry.caller.principal_id() == owner);
        match entry.map(|entry| &entry.kind) {
            Some(SuspendedKind::Stateless(call)) if call.pending_input.request_digest == request_digest => {}
            Some(SuspendedKind::Stateless(_)) => return Err(ResumeError::Foreign),
            _ => return Err(missing),
        }
        match entries.remove(&id) {
            Some(SuspendedEntry { since, kind: SuspendedKind::Stateless(call), .. }) => {
                Ok(TakenCall { call: *call, id, since })
            }
            _ => Err(missing),
        }
    }

    /// Puts a call back under its old id. If the server is stopping, the call is dropped like the others.
    pub(crate) fn put_back(&self, TakenCall { call, id, since }: TakenCall) {
        let CallOwner { plugin, caller } = CallOwner::from_call(&call);
        // Declared before the lock, so that a call that is not inserted is dropped after the lock is released.
        let entry = SuspendedEntry { plugin, caller, since, kind: SuspendedKind::Stateless(Box::new(call)) };
        let mut entries = self.entries.lock();
        if !entries.closed {
            entries.insert(id, entry);
        }
    }

    /// Drops every stateless call that has been suspended for too long.
    pub(crate) fn sweep(&self) {
        let mut entries = self.entries.lock();
        let is_expired = |entry: &SuspendedEntry| {
            matches!(entry.kind, SuspendedKind::Stateless(_)) && entry.since.elapsed() >= self.max_wait
        };
        let ids: Vec<SuspendedId> =
            entries.by_id.iter().filter(|(_, entry)| is_expired(entry)).map(|(id, _)| *id).collect();
        let expired: Vec<SuspendedEntry> = ids.iter().filter_map(|id| entries.remove(id)).collect();
        drop(entries);
        // Dropped after the lock is released, because dropping a call drops its instance, which takes long.
        drop(expired);
    }

    /// Whether the server is stopping.
    pub(crate) fn is_closed(&self) -> bool {
        self.entries.lock().closed
    }

    /// Number of suspended calls.
    pub(crate) fn count(&self) -> usize {
        self.entries.lock().by_id.len()
    }

    /// Drops all calls, because the server is stopping.
    pub(crate) fn clear(&self) {
        let closed = Entries { closed: true, ..Entries::default() };
        let dropped = std::mem::replace(&mut *self.entries.lock(), closed);
        for entry in dropped.by_id.values() {
            if let SuspendedKind::Session(evicted) = &entry.kind {
                evicted.cancel();
            }
        }
    }

    fn enter(
        &self,
        CallOwner { plugin, caller }: CallOwner,
        plugin_limit: usize,
        kind: SuspendedKind,
    ) -> Option<SuspendedId> {
        let id = random_tokens::bits()?;
        let mut entries = self.entries.lock();
        if entries.closed {
            return None;
        }
        let mut evicted = Vec::new();
        if entries.per_plugin.get(&plugin).is_some_and(|count| *count >= plugin_limit) {
            evicted.extend(entries.evict(&plugin));
        }
        if entries.by_id.len() >= self.limit {
            let busiest = entries.per_plugin.iter().max_by_key(|(_, count)| **count);
            let busiest = busiest.map(|(plugin, _)| Arc::clone(plugin));
            evicted.extend(busiest.and_then(|plugin| entries.evict(&plugin)));
        }
        entries.insert(id, SuspendedEntry { plugin, caller, since: Instant::now(), kind });
        drop(entries);
        for entry in evicted {
            tracing::warn!(target: "plugin", plugin = &*entry.plugin, "cancelled the oldest suspended call (limits `suspended_calls`)");
            if let SuspendedKind::Session(evicted) = &entry.kind {
                evicted.cancel();
            }
        }
        Some(id)
    }
}

impl Entries {
    fn insert(&mut self, id: SuspendedId, entry: SuspendedEntry) {
        *self.per_plugin.entry(Arc::clone(&entry.plugin)).or_default() += 1;
        self.by_id.insert(id, entry);
    }

    fn remove(&mut self, id: &SuspendedId) -> Option<SuspendedEntry> {
        let entry = self.by_id.remove(id)?;
        if let Some(count) = self.per_plugin.get_mut(&entry.plugin) {
            *count -= 1;
            if *count == 0 {
                self.per_plugin.remove(&entry.plugin);
            }
        }
        Some(entry)
    }

    /// Removes the oldest suspended call of the caller that has the most suspended calls of `plugin`.
    fn evict(&mut self, plugin: &str) -> Option<SuspendedEntry> {
        let of_plugin = self.by_id.iter().filter(|(_, entry)| &*entry.plugin == plugin);
        let candidates = of_plugin.map(|(id, SuspendedEntry { caller, since, .. })| EvictionCandidate {
            key: *id,
            caller: caller.clone(),
            worth: Some(*since),
        });
        let oldest = choose_evicted(candidates.collect(), 1).pop()?;
        if self.evicted_ids.len() >= MAX_EVICTED_IDS {
            self.evicted_ids.pop_front();
        }
        let entry = self.remove(&oldest)?;
        self.evicted_ids.push_back((oldest, entry.caller.principal_id().cloned()));
        Some(entry)
    }
}

impl Drop for SuspendGuard {
    fn drop(&mut self) {
        self.owner.entries.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "a";

    fn registry(limit: usize) -> (Arc<SuspendedCalls>, impl Fn(&Arc<SuspendedCalls>, &str) -> SuspendGuard) {
        let suspended_calls = SuspendedCalls::new(limit, Duration::from_secs(60));
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
        let suspend = |from| suspended_calls.suspend_session_call(owner(A, from), 3).unwrap();
        let (lone, first, _second) = (suspend(1), suspend(2), suspend(2));
        let _third = suspend(2);
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
    fn at_the_limit_the_busiest_plugin_loses_a_call() {
        let (suspended_calls, wait) = registry(3);
        let (first, _second, other) =
            (wait(&suspended_calls, A), wait(&suspended_calls, A), wait(&suspended_calls, "b"));
        let _new = wait(&suspended_calls, "c");
        assert!(first.evicted.is_cancelled() && !other.evicted.is_cancelled());
    }

    #[test]
    fn a_dropped_guard_frees_its_entry() {
        let (suspended_calls, wait) = registry(9);
        let first = wait(&suspended_calls, A);
        drop(wait(&suspended_calls, A));
        let _second = wait(&suspended_calls, A);
        assert!(!first.evicted.is_cancelled());
        assert_eq!(suspended_calls.entries.lock().per_plugin.get(A), Some(&2));
        drop((first, _second));
        assert!(suspended_calls.entries.lock().per_plugin.is_empty());
    }

    #[test]
    fn a_state_from_elsewhere_is_forged() {
        let (suspended_calls, _) = registry(9);
        assert_eq!(suspended_calls.take("x", &Caller::Unknown, || [0; 32]).err(), Some(ResumeError::Forged));
        let token = suspended_calls.key.as_ref().unwrap().sign([1; 16], Duration::from_secs(9));
        assert_eq!(suspended_calls.take(&token, &Caller::Unknown, || [0; 32]).err(), Some(ResumeError::Used));
        let late = suspended_calls.key.as_ref().unwrap().sign([1; 16], Duration::ZERO);
        assert_eq!(
            suspended_calls.take(&late, &Caller::Unknown, || [0; 32]).err(),
            Some(ResumeError::Expired)
        );
    }
}
