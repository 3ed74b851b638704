//! Calls that wait for their clients, of both eras, and the bounds on them.
//!
//! In the stateless revision the task that runs a call is itself what is kept: it waits for its answers, and the retry
//! takes it out and waits for it on. In the revisions with sessions the call waits on its own task
//! and only has a ticket here. When there is no room, the plugin with the most waiting calls loses one: no plugin can push out
//! the calls of another that waits less. It is the oldest of the [caller with the most](super::super::crowd) of them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::super::context::RequestContext;
use super::super::crowd::{Holder, make_way};
use super::super::error::RpcError;
use super::super::exchange::Running;
use super::super::random;
use super::super::reply::Reply;
use super::binding::Binding;
use super::question::Prepared;
use super::seal::{Handle, Seal};
use crate::host::Caller;

/// How a call ends: with a reply, with an error, or withdrawn.
pub(crate) type Outcome = Option<Result<Reply, RpcError>>;

/// Handles that are remembered as given up, so that a late retry hears why.
const REMEMBERED: usize = 1_024;

/// A call that waits for a retry with answers.
pub(crate) struct ParkedCall {
    pub(crate) work: Running,
    pub(crate) context: Arc<RequestContext>,
    pub(crate) asking: Asking,
}

/// What a guest waits for.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) plugin: Arc<str>,
    /// How many calls of that plugin may wait.
    pub(crate) most: usize,
    /// Of which request it is a part.
    pub(crate) binding: Binding,
    /// Without an answer so far, by their place among the questions.
    pub(crate) open: Vec<(usize, Prepared)>,
    /// Answered in an earlier round.
    pub(crate) answered: Vec<(usize, String)>,
    /// Where all answers go in the end.
    pub(crate) resume: oneshot::Sender<Vec<(usize, String)>>,
}

/// Whose call waits.
#[derive(Debug, Clone)]
pub(crate) struct Whose {
    pub(crate) plugin: Arc<str>,
    pub(crate) caller: Caller,
}

impl Whose {
    fn of(call: &ParkedCall) -> Self {
        Self { plugin: Arc::clone(&call.asking.plugin), caller: call.context.caller.clone() }
    }
}

/// The calls.
#[derive(Debug)]
pub(crate) struct Parked {
    seal: Option<Seal>,
    most: usize,
    lasts: Duration,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_handle: HashMap<Handle, Entry>,
    per_plugin: HashMap<Arc<str>, usize>,
    given_up: VecDeque<Handle>,
    /// Nothing more is entered.
    closed: bool,
}

#[derive(Debug)]
struct Entry {
    plugin: Arc<str>,
    caller: Caller,
    since: Instant,
    hold: Hold,
}

enum Hold {
    Call(Box<ParkedCall>),
    Ticket(CancellationToken),
}

impl std::fmt::Debug for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Self::Call(_)) { "Call" } else { "Ticket" })
    }
}

/// A parked call that a retry has taken.
pub(crate) struct Taken {
    pub(crate) call: ParkedCall,
    handle: Handle,
    since: Instant,
}

/// A waiting call of a session; leaving ends the entry.
pub(crate) struct Ticket {
    owner: Arc<Parked>,
    handle: Handle,
    /// Cancelled when the call has to make way.
    pub(crate) evicted: CancellationToken,
}

/// Why a retry does not resume anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Lost {
    /// Not sealed by this process.
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
        "the waiting call was given up to make room for newer ones (limits `parked_calls`); call again without `requestState`"
    )]
    GivenUp,
}

impl Parked {
    pub(crate) fn new(most: usize, lasts: Duration) -> Arc<Self> {
        Arc::new(Self { seal: Seal::new(), most, lasts, entries: Mutex::default() })
    }

    /// How long a call may wait.
    pub(crate) fn lasts(&self) -> Duration {
        self.lasts
    }

    /// Keeps a call and gives the `requestState` that brings it back. `None` when the server is about to end, or the system
    /// has no randomness.
    pub(crate) fn park(&self, call: ParkedCall) -> Option<String> {
        let (whose, most) = (Whose::of(&call), call.asking.most);
        let seal = self.seal.as_ref()?;
        let handle = self.enter(whose, most, Hold::Call(Box::new(call)))?;
        Some(seal.close(handle, self.lasts))
    }

    /// Enters a call that waits by itself. `None` as in [`Parked::park`].
    pub(crate) fn wait(self: &Arc<Self>, whose: Whose, most: usize) -> Option<Ticket> {
        let evicted = CancellationToken::new();
        let handle = self.enter(whose, most, Hold::Ticket(evicted.clone()))?;
        Some(Ticket { owner: Arc::clone(self), handle, evicted })
    }

    /// Takes the call that `state` stands for, if it is a part of the request that `binding` says.
    ///
    /// # Errors
    /// When there is none, or another's.
    pub(crate) fn take(&self, state: &str, binding: Binding) -> Result<Taken, Lost> {
        let opened = self.seal.as_ref().and_then(|seal| seal.open(state)).ok_or(Lost::Forged)?;
        let handle = opened.handle;
        if opened.expired {
            let gone = self.lock().remove(&handle);
            drop(gone);
            return Err(Lost::Expired);
        }
        let mut entries = self.lock();
        let gone = if entries.given_up.contains(&handle) { Lost::GivenUp } else { Lost::Used };
        match entries.by_handle.get(&handle).map(|entry| &entry.hold) {
            Some(Hold::Call(call)) if call.asking.binding == binding => {}
            Some(Hold::Call(_)) => return Err(Lost::Foreign),
            _ => return Err(gone),
        }
        match entries.remove(&handle) {
            Some(Entry { since, hold: Hold::Call(call), .. }) => Ok(Taken { call: *call, handle, since }),
            _ => Err(gone),
        }
    }

    /// Puts a call back as if it had not been taken. When the server is about to end, the call is given up like the others.
    pub(crate) fn put_back(&self, Taken { call, handle, since }: Taken) {
        let Whose { plugin, caller } = Whose::of(&call);
        // Made before the lock, so that a call that is given up is dropped after it.
        let entry = Entry { plugin, caller, since, hold: Hold::Call(Box::new(call)) };
        let mut entries = self.lock();
        if !entries.closed {
            entries.insert(handle, entry);
        }
    }

    /// Gives up every call that has waited too long.
    pub(crate) fn sweep(&self) {
        let mut entries = self.lock();
        let late = |entry: &Entry| matches!(entry.hold, Hold::Call(_)) && entry.since.elapsed() >= self.lasts;
        let late: Vec<Handle> =
            entries.by_handle.iter().filter(|(_, entry)| late(entry)).map(|(handle, _)| *handle).collect();
        let gone: Vec<Entry> = late.iter().filter_map(|handle| entries.remove(handle)).collect();
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
        for entry in gone.by_handle.values() {
            if let Hold::Ticket(evicted) = &entry.hold {
                evicted.cancel();
            }
        }
    }

    fn enter(&self, Whose { plugin, caller }: Whose, most: usize, hold: Hold) -> Option<Handle> {
        let handle = random::bits()?;
        let mut entries = self.lock();
        if entries.closed {
            return None;
        }
        let mut gone = Vec::new();
        if entries.per_plugin.get(&plugin).is_some_and(|waiting| *waiting >= most) {
            gone.extend(entries.evict(&plugin));
        }
        if entries.by_handle.len() >= self.most {
            let busiest = entries.per_plugin.iter().max_by_key(|(_, waiting)| **waiting);
            let busiest = busiest.map(|(plugin, _)| Arc::clone(plugin));
            gone.extend(busiest.and_then(|plugin| entries.evict(&plugin)));
        }
        entries.insert(handle, Entry { plugin, caller, since: Instant::now(), hold });
        drop(entries);
        for entry in gone {
            tracing::warn!(target: "plugin", plugin = &*entry.plugin, "gave up the call that waited longest for its client (limits `parked_calls`)");
            if let Hold::Ticket(evicted) = &entry.hold {
                evicted.cancel();
            }
        }
        Some(handle)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn insert(&mut self, handle: Handle, entry: Entry) {
        *self.per_plugin.entry(Arc::clone(&entry.plugin)).or_default() += 1;
        self.by_handle.insert(handle, entry);
    }

    fn remove(&mut self, handle: &Handle) -> Option<Entry> {
        let entry = self.by_handle.remove(handle)?;
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
        let of_plugin = self.by_handle.iter().filter(|(_, entry)| &*entry.plugin == plugin);
        let holders = of_plugin.map(|(handle, Entry { caller, since, .. })| Holder {
            key: *handle,
            caller: caller.clone(),
            worth: Some(*since),
        });
        let oldest = make_way(holders.collect(), 1).pop()?;
        if self.given_up.len() >= REMEMBERED {
            self.given_up.pop_front();
        }
        self.given_up.push_back(oldest);
        self.remove(&oldest)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.owner.lock().remove(&self.handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "a";

    fn tickets(most: usize) -> (Arc<Parked>, impl Fn(&Arc<Parked>, &str) -> Ticket) {
        let parked = Parked::new(most, Duration::from_secs(60));
        (parked, |parked: &Arc<Parked>, plugin: &str| parked.wait(whose(plugin, 1), 2).unwrap())
    }

    fn whose(plugin: &str, from: u8) -> Whose {
        Whose { plugin: plugin.into(), caller: Caller::Address([192, 0, 2, from].into()) }
    }

    #[test]
    fn a_caller_who_has_many_calls_wait_gives_up_its_own() {
        let parked = Parked::new(9, Duration::from_secs(60));
        let wait = |from| parked.wait(whose(A, from), 3).unwrap();
        let (lone, first, _second) = (wait(1), wait(2), wait(2));
        let _third = wait(2);
        assert!(first.evicted.is_cancelled() && !lone.evicted.is_cancelled());
    }

    #[test]
    fn a_plugin_beyond_its_own_limit_loses_its_oldest() {
        let (parked, wait) = tickets(9);
        let (first, second, other) = (wait(&parked, A), wait(&parked, A), wait(&parked, "b"));
        let third = wait(&parked, A);
        assert!(first.evicted.is_cancelled());
        assert!(
            !second.evicted.is_cancelled() && !third.evicted.is_cancelled() && !other.evicted.is_cancelled()
        );
    }

    #[test]
    fn when_all_places_are_taken_the_busiest_plugin_makes_way() {
        let (parked, wait) = tickets(3);
        let (first, _second, other) = (wait(&parked, A), wait(&parked, A), wait(&parked, "b"));
        let _new = wait(&parked, "c");
        assert!(first.evicted.is_cancelled() && !other.evicted.is_cancelled());
    }

    #[test]
    fn a_ticket_that_is_dropped_makes_room() {
        let (parked, wait) = tickets(9);
        let first = wait(&parked, A);
        drop(wait(&parked, A));
        let _second = wait(&parked, A);
        assert!(!first.evicted.is_cancelled());
        assert_eq!(parked.lock().per_plugin.get(A), Some(&2));
        drop((first, _second));
        assert!(parked.lock().per_plugin.is_empty());
    }

    #[test]
    fn a_state_from_elsewhere_is_forged() {
        let (parked, _) = tickets(9);
        assert_eq!(parked.take("x", [0; 32]).err(), Some(Lost::Forged));
        let sealed = parked.seal.as_ref().unwrap().close([1; 16], Duration::from_secs(9));
        assert_eq!(parked.take(&sealed, [0; 32]).err(), Some(Lost::Used));
        let late = parked.seal.as_ref().unwrap().close([1; 16], Duration::ZERO);
        assert_eq!(parked.take(&late, [0; 32]).err(), Some(Lost::Expired));
    }
}
