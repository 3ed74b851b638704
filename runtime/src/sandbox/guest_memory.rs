//! The memory of all instances together: many small limits must not add up to more than the machine has.
//!
//! The memory that an instance may make resident counts from its start to its end, even while its call is suspended or
//! the instance is idle: linear memories, tables, the stack, what the host stores for it, and the arguments and results
//! of the running host function. A plugin may use as much as it leaves to others: one plugin alone can use half, two
//! can use a third each. However many plugins use as much as they can get, a further plugin can get as much as each of
//! them has.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::engine;
use super::system_memory::guest_memory;
use crate::config::{ServerConfig, kib};

/// Memory of an instance besides its linear memories and its stack, in bytes: tables of handles, streams, its log.
const OVERHEAD: usize = kib(128);

/// A transfer to a host function of up to this size is not counted, because [`OVERHEAD`] covers it.
const SMALL: usize = kib(64);

/// The memory of all instances.
#[derive(Debug)]
pub(crate) struct GuestMemory {
    max: usize,
    /// What each instance takes from its start, in bytes.
    instance: usize,
    used: AtomicUsize,
}

/// The memory of one plugin's instances.
#[derive(Debug)]
pub(crate) struct PluginMemory {
    all: Arc<GuestMemory>,
    used: AtomicUsize,
}

/// The memory of one instance. Dropping it releases the memory.
#[derive(Debug)]
pub(crate) struct InstanceMemory {
    plugin: Arc<PluginMemory>,
    bytes: usize,
}

/// The bytes that an instance passes to a host function or gets from it: the last transfer that was charged. The engine
/// lifts a value before the host function runs, and the value then stays while the function waits for a permit, a disk
/// or a client.
#[derive(Debug)]
pub(crate) struct HostCallMemory {
    plugin: Arc<PluginMemory>,
    /// No call of a host function transfers more bytes, although the work of some is charged as more.
    max: usize,
    bytes: AtomicUsize,
}

/// Too little memory is left for another instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no memory is left for another instance (setting [server] `guest_memory_mib`)")]
pub(crate) struct GuestMemoryExhausted;

impl GuestMemory {
    pub(crate) fn new(settings: &ServerConfig) -> Arc<Self> {
        let max = guest_memory(settings) - engine::idle_memory(settings);
        Self::within(max, kib(settings.stack_kib) + OVERHEAD)
    }

    fn within(max: usize, instance: usize) -> Arc<Self> {
        Arc::new(Self { max, instance, used: AtomicUsize::new(0) })
    }

    /// How much memory all instances have now, in bytes.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Starts counting the instances of one plugin.
    pub(crate) fn of_plugin(self: &Arc<Self>) -> Arc<PluginMemory> {
        Arc::new(PluginMemory { all: Arc::clone(self), used: AtomicUsize::new(0) })
    }
}

impl PluginMemory {
    /// Reserves the memory of another instance.
    pub(crate) fn instance(self: &Arc<Self>) -> Result<InstanceMemory, GuestMemoryExhausted> {
        let mut memory = InstanceMemory { plugin: Arc::clone(self), bytes: 0 };
        if memory.grow(self.all.instance) { Ok(memory) } else { Err(GuestMemoryExhausted) }
    }

    /// Counts the transfers of an instance. One call of a host function transfers at most `max` bytes.
    pub(crate) fn host_call(self: &Arc<Self>, max: usize) -> HostCallMemory {
        HostCallMemory { plugin: Arc::clone(self), max, bytes: AtomicUsize::new(0) }
    }

    /// Reserves bytes if afterwards at least as much is left for others as the plugin has. If two instances of one
    /// plugin reserve at the same time, both may be compared with the plugin's previous sum; the sum of all plugins is
    /// always exact.
    fn reserve(&self, bytes: usize) -> bool {
        let all = &self.all;
        let own = self.used.load(Ordering::Relaxed).saturating_add(bytes);
        let after = |used: usize| {
            let used = used.saturating_add(bytes);
            let remaining = all.max.checked_sub(used)?;
            (own <= remaining).then_some(used)
        };
        let is_reserved = all.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).is_ok();
        if is_reserved {
            self.used.fetch_add(bytes, Ordering::Relaxed);
        }
        is_reserved
    }

    fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.all.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl InstanceMemory {
    /// Reserves more bytes. Returns `false` if not enough is left.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let is_reserved = self.plugin.reserve(bytes);
        self.bytes += if is_reserved { bytes } else { 0 };
        is_reserved
    }

    /// Releases some bytes.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.plugin.release(bytes);
    }
}

impl HostCallMemory {
    /// Counts a transfer of `bytes` in place of the last one. Returns `false` if there is not enough memory.
    pub(super) fn replace(&self, bytes: usize) -> bool {
        let bytes = if bytes <= SMALL { 0 } else { bytes.min(self.max) };
        let before = self.bytes.load(Ordering::Relaxed);
        // A transfer that is not larger than the last one always succeeds.
        let is_reserved = bytes <= before || self.plugin.reserve(bytes - before);
        if is_reserved {
            self.bytes.store(bytes, Ordering::Relaxed);
            self.plugin.release(before.saturating_sub(bytes));
        }
        is_reserved
    }
}

impl Drop for HostCallMemory {
    fn drop(&mut self) {
        self.plugin.release(*self.bytes.get_mut());
    }
}

impl Drop for InstanceMemory {
    fn drop(&mut self) {
        self.plugin.release(self.bytes);
    }
}

#[cfg(test)]
pub(super) use tests::unbounded;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::mib;

    /// An instance of a plugin with unlimited memory.
    pub(in super::super) fn unbounded() -> InstanceMemory {
        GuestMemory::within(usize::MAX / 2, 0).of_plugin().instance().unwrap()
    }

    #[test]
    fn a_plugin_has_no_more_than_it_leaves_to_others() {
        let all = GuestMemory::within(mib(8), kib(512));
        let (greedy, other) = (all.of_plugin(), all.of_plugin());
        let mut first = greedy.instance().unwrap();
        assert!(first.grow(mib(3)) && !first.grow(mib(1)));
        let mut second = greedy.instance().unwrap();
        assert!(!second.grow(1) && greedy.instance().is_err());
        let mut neighbour = other.instance().unwrap();
        assert!(neighbour.grow(mib(1)) && !neighbour.grow(mib(1)));
        drop(first);
        assert!(second.grow(mib(2)));
        drop((second, neighbour));
        assert_eq!((all.used.load(Ordering::Relaxed), greedy.used.load(Ordering::Relaxed)), (0, 0));
    }

    #[test]
    fn what_is_handed_over_counts_until_something_else_is() {
        let all = GuestMemory::within(mib(8), 0);
        let plugin = all.of_plugin();
        let used = || all.used.load(Ordering::Relaxed);
        let (one, other) = (plugin.host_call(mib(2)), plugin.host_call(mib(2)));
        assert!(one.replace(mib(1)) && one.replace(mib(2)) && used() == mib(2));
        assert!(one.replace(mib(100)) && used() == mib(2), "no more than one call can move");
        assert!(other.replace(mib(2)) && used() == mib(4));
        assert!(!plugin.host_call(mib(2)).replace(mib(1)), "it leaves a half to others");
        assert!(one.replace(SMALL) && used() == mib(2));
        drop((one, other));
        assert_eq!(used(), 0);
    }

    #[test]
    fn hogs_leave_room_for_a_newcomer_however_many_they_are() {
        let all = GuestMemory::within(mib(64), kib(1));
        let mut hogs: Vec<_> = (0..6).map(|_| all.of_plugin().instance().unwrap()).collect();
        for hog in &mut hogs {
            while hog.grow(kib(64)) {}
        }
        let mut newcomer = all.of_plugin().instance().unwrap();
        assert!(newcomer.grow(kib(256)));
    }
}
