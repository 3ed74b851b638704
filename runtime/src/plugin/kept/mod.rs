//! Instances that outlive their call, for plugins of which the operator says `instances = "reuse"`.
//!
//! Some languages take longer to start than to answer. An instance whose call ended well may rest here and serve a later
//! call of the same caller, and of nobody else, so that what one caller said is never in the memory that answers another.
//! How a call begins and ends is `call.rs`'s; it asks here for an instance and hands it back, and a plugin whose instances
//! are fresh has none of this. What rests is bounded for all plugins together, beside the instances of calls and never
//! instead of them.

mod shelf;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::task::JoinHandle;
use wasmtime::Store;

use super::Plugin;
use super::errand::{Function, Job};
use crate::config::{self, Instances, Limits, mib};
use crate::host::{Caller, Shared, State};
use crate::sandbox::guest_memory;
use shelf::{Bounds, Owner, Resting, Shelf};

/// Instances of one plugin that rest at the same time.
const MOST: u64 = 16;

/// What may rest of all memory for guests: one part of so many.
const SHARE: usize = 4;

/// Calls that one instance serves. What a runtime leaks with every call comes to an end, and no handle has the number of an
/// earlier one.
const CALLS: u64 = 1_000;

/// Some languages never give back the handle of their call, so an instance serves a part of the calls for which there would
/// be handles, and the rest is left to what its calls do.
const HANDLES: u64 = 4;

/// What all plugins of a server keep.
pub(super) struct Keeper {
    table: Mutex<Table>,
    owners: AtomicU64,
}

struct Table {
    shelf: Shelf<Store<State>>,
    /// Drops what has rested for long enough; there is one while anything rests. It ends with the keeper.
    tending: Option<JoinHandle<()>>,
    /// Versions that may keep nothing more and still have calls under way.
    closed: Vec<Owner>,
}

/// What one version of a plugin keeps.
pub(super) struct Kept {
    keeper: Arc<Keeper>,
    owner: Owner,
    most: usize,
    calls: u64,
}

/// A call that may be served by a kept instance, and its instance kept.
pub(super) struct Turn<'k> {
    kept: &'k Kept,
    caller: Caller,
}

impl Keeper {
    pub(super) fn new(settings: &config::Server) -> Arc<Self> {
        // What rests is part of the memory for guests, and must not take it from those who work.
        let bytes = mib(settings.kept_mib).min(guest_memory(settings) / SHARE);
        let bounds = Bounds { instances: settings.kept_instances, bytes, rest: settings.kept };
        let table = Table { shelf: Shelf::new(bounds), tending: None, closed: Vec::new() };
        Arc::new(Self { table: Mutex::new(table), owners: AtomicU64::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an instance to rest. Those that have to go are dropped when nobody waits for the lock any more.
    fn put(self: &Arc<Self>, new: Resting<Store<State>>, most: usize) {
        let mut table = self.lock();
        if table.closed.contains(&new.owner) {
            drop(table);
            return;
        }
        let gone = table.shelf.put(new, most);
        let is_tended = table.tending.as_ref().is_some_and(|task| !task.is_finished());
        if !is_tended && table.shelf.next_end().is_some() {
            table.tending = self.tend();
        }
        drop(table);
        drop(gone);
    }

    /// Drops what has rested for long enough, also when nobody calls any more.
    fn tend(self: &Arc<Self>) -> Option<JoinHandle<()>> {
        let keeper = Arc::downgrade(self);
        let tending = async move {
            loop {
                let Some(next) = keeper.upgrade().and_then(|keeper| keeper.next_end()) else { return };
                tokio::time::sleep_until(next.into()).await;
                let Some(keeper) = keeper.upgrade() else { return };
                let gone = keeper.lock().shelf.ended(Instant::now());
                drop(gone);
            }
        };
        // Without a runtime this is about to end, and drops all that rests.
        tokio::runtime::Handle::try_current().ok().map(|runtime| runtime.spawn(tending))
    }

    /// When to look again. `None`: nothing rests, and whoever puts something in has to see to it.
    fn next_end(&self) -> Option<Instant> {
        let mut table = self.lock();
        let next = table.shelf.next_end();
        if next.is_none() {
            table.tending = None;
        }
        next
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(task) = self.lock().tending.take() {
            task.abort();
        }
    }
}

impl Kept {
    /// For a plugin whose instances may serve several calls; `None` for all others.
    pub(super) fn of(plugin: &Shared, keeper: &Arc<Keeper>) -> Option<Self> {
        let config = &plugin.config;
        // An instance has the client's folders as they were when it was made; the configuration refuses that already.
        if config.instances == Instances::Fresh || config.grants.read_roots.is_some() {
            return None;
        }
        let owner = Owner(keeper.owners.fetch_add(1, Ordering::Relaxed));
        let (most, calls) = bounds(&config.limits);
        Some(Self { keeper: Arc::clone(keeper), owner, most, calls })
    }

    /// A call that a kept instance may serve, unless nobody knows for whom it would be kept.
    pub(super) fn turn(&self, job: &Job<'_>) -> Option<Turn<'_>> {
        let is_known = matches!(job.caller, Caller::Stdio | Caller::Address(_));
        let is_call = job.function != Function::List;
        (is_known && is_call).then(|| Turn { kept: self, caller: job.caller.clone() })
    }

    /// How many rest.
    fn count(&self) -> usize {
        self.keeper.lock().shelf.count(self.owner)
    }

    /// Drops all that rest; what calls hand back from now on is dropped too.
    fn close(&self) {
        let mut table = self.keeper.lock();
        if !table.closed.contains(&self.owner) {
            table.closed.push(self.owner);
        }
        let gone = table.shelf.forget(self.owner);
        drop(table);
        drop(gone);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.close();
        // No call of it is left that could hand anything back.
        self.keeper.lock().closed.retain(|owner| *owner != self.owner);
    }
}

impl Turn<'_> {
    /// An instance that served this caller before, if one rests.
    pub(super) fn take(&self) -> Option<Store<State>> {
        let Kept { keeper, owner, .. } = self.kept;
        keeper.lock().shelf.take(*owner, &self.caller, Instant::now())
    }

    /// Hands back an instance whose call ended well.
    pub(super) fn hand_back(self, mut store: Store<State>) {
        let Kept { keeper, owner, most, calls } = self.kept;
        let state = store.data_mut();
        if !state.rest() || u64::from(state.served) >= *calls {
            return;
        }
        let bytes = state.limiter.memory();
        let resting =
            Resting { owner: *owner, caller: self.caller, since: Instant::now(), bytes, kept: store };
        keeper.put(resting, *most);
    }
}

impl Plugin {
    /// Instances that rest between calls; `None`: each call has a fresh one.
    #[must_use]
    pub fn resting(&self) -> Option<usize> {
        self.kept.as_ref().map(Kept::count)
    }

    /// Another version has its place, or none: what rests is dropped, and its calls go on.
    pub fn replaced(&self) {
        if let Some(kept) = &self.kept {
            kept.close();
        }
    }
}

/// How many instances of a plugin may rest, and how many calls each serves.
fn bounds(limits: &Limits) -> (usize, u64) {
    let most = usize::try_from(limits.concurrent_calls.min(MOST)).unwrap_or(1);
    (most, CALLS.min(limits.handles / HANDLES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rest_and_none_serves_without_end() {
        assert_eq!(bounds(&Limits::default()), (16, 256));
        let generous = Limits { concurrent_calls: 900, handles: 100_000, ..Limits::default() };
        assert_eq!(bounds(&generous), (16, 1_000));
        let tight = Limits { concurrent_calls: 2, handles: 3, ..Limits::default() };
        assert_eq!(bounds(&tight), (2, 0), "none is kept");
    }
}
