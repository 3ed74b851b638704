//! The instance pool: the idle instances of plugins with `instances = "reuse"`.
//!
//! In some languages the start of an instance takes longer than a call. After a result or the guest's own error an
//! instance may stay idle and serve a later call of the same caller only, so that data of one caller is never in memory
//! that serves another. `invoke.rs` takes an instance from the pool and hands it back; a plugin with fresh instances
//! has no pool. The idle instances of all plugins together are bounded in number and memory. The engine has them
//! besides the instances of calls, so they never take the instance of a call.

mod idle_list;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use wasmtime::Store;

use super::Plugin;
use super::guest_call::CallKind;
use crate::call_env::Caller;
use crate::capability::{InstanceCtx, PluginCtx};
use crate::config::fixed_limits::{HANDLES, IDLE_INSTANCES_MIB};
use crate::config::{self, InstanceMode, Limits, mib};
use crate::sandbox::guest_memory;
use idle_list::{IdleInstance, IdleList, Owner, PoolLimits};

/// Idle instances of one plugin.
const MAX_IDLE: u64 = 16;

/// Part of the memory for guests that idle instances may have: one in this many.
const MEMORY_SHARE: usize = 4;

/// Calls that one instance serves. This bounds what a runtime leaks with every call, and keeps handle numbers unique.
const CALLS: u64 = 1_000;

/// Some languages never drop the handle of their call. So an instance serves at most as many calls as one in this many
/// of its handles, and the other handles are for use within its calls.
const CALL_SHARE: u64 = 4;

/// The idle instances of all plugins of a server.
pub(super) struct InstancePool {
    table: Mutex<PoolTable>,
    owners: AtomicU64,
}

struct PoolTable {
    idle: IdleList<Store<InstanceCtx>>,
    /// The task that drops instances whose idle time has ended. It runs while any instance is idle.
    eviction: Option<JoinHandle<()>>,
    /// Versions whose instances are dropped when their running calls hand them back.
    closed: Vec<Owner>,
}

/// The idle instances of one version of a plugin.
pub(super) struct PluginPool {
    pool: Arc<InstancePool>,
    owner: Owner,
    max_idle: usize,
    calls: u64,
}

/// The right of a call to take an idle instance, and to hand its instance back.
pub(super) struct Lease<'k> {
    pool: &'k PluginPool,
    caller: Caller,
}

impl InstancePool {
    pub(super) fn new(settings: &config::ServerConfig) -> Arc<Self> {
        // Idle instances count towards the memory for guests, and must leave most of it to running calls.
        let bytes = mib(IDLE_INSTANCES_MIB).min(guest_memory(settings) / MEMORY_SHARE);
        let bounds =
            PoolLimits { instances: settings.idle_instances, bytes, idle_time: settings.idle_instance };
        let table = PoolTable { idle: IdleList::new(bounds), eviction: None, closed: Vec::new() };
        Arc::new(Self { table: Mutex::new(table), owners: AtomicU64::default() })
    }

    /// Makes an instance idle. Evicted instances are dropped outside the lock.
    fn put(self: &Arc<Self>, new: IdleInstance<Store<InstanceCtx>>, max_idle: usize) {
        let mut table = self.table.lock();
        if table.closed.contains(&new.owner) {
            drop(table);
            return;
        }
        let evicted = table.idle.put(new, max_idle);
        let is_evicting = table.eviction.as_ref().is_some_and(|task| !task.is_finished());
        if !is_evicting && table.idle.next_expiry().is_some() {
            table.eviction = self.spawn_eviction();
        }
        drop(table);
        drop(evicted);
    }

    /// Starts the task that drops instances whose idle time has ended, also when there are no more calls.
    fn spawn_eviction(self: &Arc<Self>) -> Option<JoinHandle<()>> {
        let pool = Arc::downgrade(self);
        let eviction = async move {
            loop {
                let Some(next) = pool.upgrade().and_then(|pool| pool.next_expiry()) else { return };
                tokio::time::sleep_until(next.into()).await;
                let Some(pool) = pool.upgrade() else { return };
                let evicted = pool.table.lock().idle.take_expired(Instant::now());
                drop(evicted);
            }
        };
        // Without a runtime the server is about to end, and drops all idle instances.
        tokio::runtime::Handle::try_current().ok().map(|runtime| runtime.spawn(eviction))
    }

    /// When the idle time of the next instance ends. `None`: none is idle, the task ends, and `put` starts another.
    fn next_expiry(&self) -> Option<Instant> {
        let mut table = self.table.lock();
        let next = table.idle.next_expiry();
        if next.is_none() {
            table.eviction = None;
        }
        next
    }
}

impl Drop for InstancePool {
    fn drop(&mut self) {
        if let Some(task) = self.table.lock().eviction.take() {
            task.abort();
        }
    }
}

impl PluginPool {
    /// For a plugin whose instances may serve several calls; `None` for all others.
    pub(super) fn of(plugin: &PluginCtx, pool: &Arc<InstancePool>) -> Option<Self> {
        let config = &plugin.config;
        // An instance has the client's roots of the time when it was made; the configuration rejects such grants
        // already.
        if config.instances == InstanceMode::Fresh || config.grants.roots.may_read() {
            return None;
        }
        let owner = Owner(pool.owners.fetch_add(1, Ordering::Relaxed));
        let (max_idle, calls) = bounds(&config.limits);
        Some(Self { pool: Arc::clone(pool), owner, max_idle, calls })
    }

    /// The lease for a call; `None` for listings and for calls of unknown callers.
    pub(super) fn lease(&self, kind: CallKind, caller: &Caller) -> Option<Lease<'_>> {
        let is_known = matches!(caller, Caller::Stdio | Caller::Principal(_) | Caller::Address(_));
        let is_call = kind != CallKind::List;
        (is_known && is_call).then(|| Lease { pool: self, caller: caller.clone() })
    }

    /// Idle instances.
    fn count(&self) -> usize {
        self.pool.table.lock().idle.count(self.owner)
    }

    /// Drops all idle instances, and from now on those that calls hand back.
    fn close(&self) {
        let mut table = self.pool.table.lock();
        if !table.closed.contains(&self.owner) {
            table.closed.push(self.owner);
        }
        let evicted = table.idle.forget(self.owner);
        drop(table);
        drop(evicted);
    }
}

impl Drop for PluginPool {
    fn drop(&mut self) {
        self.close();
        // No call is left that could hand an instance back.
        self.pool.table.lock().closed.retain(|owner| *owner != self.owner);
    }
}

impl Lease<'_> {
    /// An instance that served this caller before, if one is idle.
    pub(super) fn take_idle(&self) -> Option<Store<InstanceCtx>> {
        let PluginPool { pool, owner, .. } = self.pool;
        pool.table.lock().idle.take(*owner, &self.caller, Instant::now())
    }

    /// Hands back an instance after a result or the guest's own error.
    pub(super) fn hand_back(self, mut store: Store<InstanceCtx>) {
        let PluginPool { pool, owner, max_idle, calls } = self.pool;
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
        pool.put(idle, *max_idle);
    }
}

impl Plugin {
    /// Idle instances; `None`: each call has a fresh one.
    #[must_use]
    pub fn idle_instances(&self) -> Option<usize> {
        self.pool.as_ref().map(PluginPool::count)
    }

    /// Drops the idle instances of a version that was replaced or removed. Its calls go on.
    pub fn drop_idle_instances(&self) {
        if let Some(pool) = &self.pool {
            pool.close();
        }
    }
}

/// How many instances of a plugin may be idle, and how many calls each serves.
fn bounds(limits: &Limits) -> (usize, u64) {
    let max_idle = usize::try_from(limits.concurrent_calls.min(MAX_IDLE)).unwrap_or(1);
    (max_idle, CALLS.min(HANDLES / CALL_SHARE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_idle_and_none_serves_without_end() {
        assert_eq!(bounds(&Limits::default()), (16, 256));
        let generous = Limits { concurrent_calls: 900, ..Limits::default() };
        assert_eq!(bounds(&generous), (16, 256));
        let tight = Limits { concurrent_calls: 2, ..Limits::default() };
        assert_eq!(bounds(&tight), (2, 256));
    }
}
