//! The instance pool: the idle instances of plugins with `instances = "reuse"`.
//!
//! Some languages take longer to start than to answer. An instance whose call ended well may stay here and serve a later
//! call of the same caller, and of nobody else, so that what one caller said is never in the memory that answers another.
//! `invoke.rs` takes an instance from here and hands it back; a plugin with fresh instances has no pool. The idle instances
//! of all plugins together are bounded, beside the instances of running calls and never
//! instead of them.

mod idle_list;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::task::JoinHandle;
use wasmtime::Store;

use super::Plugin;
use super::guest_call::{CallInfo, CallKind};
use crate::capability::{InstanceCtx, PluginCtx};
use crate::config::fixed_limits::{HANDLES, IDLE_INSTANCES_MIB};
use crate::config::{self, InstanceMode, Limits, mib};
use crate::host::Caller;
use crate::sandbox::guest_memory;
use idle_list::{IdleInstance, IdleList, Owner, PoolLimits};

/// Instances of one plugin that are idle at the same time.
const MOST: u64 = 16;

/// What idle instances may have of all memory for guests: one part of so many.
const SHARE: usize = 4;

/// Calls that one instance serves. What a runtime leaks with every call comes to an end, and no handle has the number
/// of an earlier one.
const CALLS: u64 = 1_000;

/// Some languages never give back the handle of their call, so an instance serves a part of the calls for which there
/// would be handles, and the rest is left to what its calls do.
const CALL_SHARE: u64 = 4;

/// What all plugins of a server keep.
pub(super) struct InstancePool {
    table: Mutex<PoolTable>,
    owners: AtomicU64,
}

struct PoolTable {
    idle: IdleList<Store<InstanceCtx>>,
    /// Drops what has been idle for long enough; there is one while anything is idle. It ends with the pool.
    eviction: Option<JoinHandle<()>>,
    /// Versions that may keep nothing more and still have calls under way.
    closed: Vec<Owner>,
}

/// What one version of a plugin keeps.
pub(super) struct PluginPool {
    pool: Arc<InstancePool>,
    owner: Owner,
    most: usize,
    calls: u64,
}

/// A call that may be served by a kept instance, and its instance kept.
pub(super) struct Lease<'k> {
    pool: &'k PluginPool,
    caller: Caller,
}

impl InstancePool {
    pub(super) fn new(settings: &config::ServerConfig) -> Arc<Self> {
        // What is idle is part of the memory for guests, and must not take it from those who work.
        let bytes = mib(IDLE_INSTANCES_MIB).min(guest_memory(settings) / SHARE);
        let bounds =
            PoolLimits { instances: settings.idle_instances, bytes, idle_time: settings.idle_instance };
        let table = PoolTable { idle: IdleList::new(bounds), eviction: None, closed: Vec::new() };
        Arc::new(Self { table: Mutex::new(table), owners: AtomicU64::default() })
    }

    fn lock(&self) -> MutexGuard<'_, PoolTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes an instance idle. Those that have to go are dropped when nobody waits for the lock any more.
    fn put(self: &Arc<Self>, new: IdleInstance<Store<InstanceCtx>>, most: usize) {
        let mut table = self.lock();
        if table.closed.contains(&new.owner) {
            drop(table);
            return;
        }
        let gone = table.idle.put(new, most);
        let is_evicting = table.eviction.as_ref().is_some_and(|task| !task.is_finished());
        if !is_evicting && table.idle.next_expiry().is_some() {
            table.eviction = self.spawn_eviction();
        }
        drop(table);
        drop(gone);
    }

    /// Drops what has been idle for long enough, also when nobody calls any more.
    fn spawn_eviction(self: &Arc<Self>) -> Option<JoinHandle<()>> {
        let pool = Arc::downgrade(self);
        let eviction = async move {
            loop {
                let Some(next) = pool.upgrade().and_then(|pool| pool.next_expiry()) else { return };
                tokio::time::sleep_until(next.into()).await;
                let Some(pool) = pool.upgrade() else { return };
                let gone = pool.lock().idle.take_expired(Instant::now());
                drop(gone);
            }
        };
        // Without a runtime this is about to end, and drops all that is idle.
        tokio::runtime::Handle::try_current().ok().map(|runtime| runtime.spawn(eviction))
    }

    /// When to look again. `None`: nothing is idle, and whoever puts something in has to see to it.
    fn next_expiry(&self) -> Option<Instant> {
        let mut table = self.lock();
        let next = table.idle.next_expiry();
        if next.is_none() {
            table.eviction = None;
        }
        next
    }
}

impl Drop for InstancePool {
    fn drop(&mut self) {
        if let Some(task) = self.lock().eviction.take() {
            task.abort();
        }
    }
}

impl PluginPool {
    /// For a plugin whose instances may serve several calls; `None` for all others.
    pub(super) fn of(plugin: &PluginCtx, pool: &Arc<InstancePool>) -> Option<Self> {
        let config = &plugin.config;
        // An instance has the client's folders as they were when it was made; the configuration rejects that already.
        if config.instances == InstanceMode::Fresh || config.grants.roots.may_read() {
            return None;
        }
        let owner = Owner(pool.owners.fetch_add(1, Ordering::Relaxed));
        let (most, calls) = bounds(&config.limits);
        Some(Self { pool: Arc::clone(pool), owner, most, calls })
    }

    /// A call that a kept instance may serve, unless nobody knows for whom it would be kept.
    pub(super) fn lease(&self, info: &CallInfo<'_>) -> Option<Lease<'_>> {
        let is_known = matches!(info.caller, Caller::Stdio | Caller::Address(_));
        let is_call = info.kind != CallKind::List;
        (is_known && is_call).then(|| Lease { pool: self, caller: info.caller.clone() })
    }

    /// How many are idle.
    fn count(&self) -> usize {
        self.pool.lock().idle.count(self.owner)
    }

    /// Drops all that are idle; what calls hand back from now on is dropped too.
    fn close(&self) {
        let mut table = self.pool.lock();
        if !table.closed.contains(&self.owner) {
            table.closed.push(self.owner);
        }
        let gone = table.idle.forget(self.owner);
        drop(table);
        drop(gone);
    }
}

impl Drop for PluginPool {
    fn drop(&mut self) {
        self.close();
        // No call of it is left that could hand anything back.
        self.pool.lock().closed.retain(|owner| *owner != self.owner);
    }
}

impl Lease<'_> {
    /// An instance that served this caller before, if one is idle.
    pub(super) fn take_idle(&self) -> Option<Store<InstanceCtx>> {
        let PluginPool { pool, owner, .. } = self.pool;
        pool.lock().idle.take(*owner, &self.caller, Instant::now())
    }

    /// Hands back an instance whose call ended well.
    pub(super) fn hand_back(self, mut store: Store<InstanceCtx>) {
        let PluginPool { pool, owner, most, calls } = self.pool;
        let state = store.data_mut();
        if !state.end_call() || u64::from(state.served) >= *calls {
            return;
        }
        let bytes = state.limiter.memory();
        let idle = IdleInstance {
            owner: *owner,
            caller: self.caller,
            since: Instant::now(),
            bytes,
            instance: store,
        };
        pool.put(idle, *most);
    }
}

impl Plugin {
    /// Idle instances; `None`: each call has a fresh one.
    #[must_use]
    pub fn idle_instances(&self) -> Option<usize> {
        self.pool.as_ref().map(PluginPool::count)
    }

    /// Another version has its place, or none: what is idle is dropped, and its calls go on.
    pub fn drop_idle_instances(&self) {
        if let Some(pool) = &self.pool {
            pool.close();
        }
    }
}

/// How many instances of a plugin may be idle, and how many calls each serves.
fn bounds(limits: &Limits) -> (usize, u64) {
    let most = usize::try_from(limits.concurrent_calls.min(MOST)).unwrap_or(1);
    (most, CALLS.min(HANDLES / CALL_SHARE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rest_and_none_serves_without_end() {
        assert_eq!(bounds(&Limits::default()), (16, 256));
        let generous = Limits { concurrent_calls: 900, ..Limits::default() };
        assert_eq!(bounds(&generous), (16, 256));
        let tight = Limits { concurrent_calls: 2, ..Limits::default() };
        assert_eq!(bounds(&tight), (2, 256));
    }
}
