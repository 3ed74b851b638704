//! The memory of all instances together, so that many small limits do not add up to more than the machine has.
//!
//! Counted is what an instance may make resident: its linear memories, its tables and its stack, what it has the host
//! keep, and what it hands over to the host function that works for it; from its beginning to its end, also while it
//! waits for a client or rests between calls. A plugin may have as much as it leaves to others: alone it comes to a
//! half, two come to a third each, and however many take all they can, a newcomer finds as much as each of them has.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::engine;
use super::system_memory::guest_memory;
use crate::config::{ServerConfig, kib};

/// What an instance takes beside its memories and its stack: tables of its handles, streams, what it logs.
const BESIDE: usize = kib(128);

/// What is handed over and is no longer than this is part of that.
const SMALL: usize = kib(64);

/// All instances.
#[derive(Debug)]
pub(crate) struct GuestMemory {
    most: usize,
    /// What each takes from its beginning.
    instance: usize,
    used: AtomicUsize,
}

/// The instances of one plugin.
#[derive(Debug)]
pub(crate) struct PluginMemory {
    all: Arc<GuestMemory>,
    used: AtomicUsize,
}

/// What one instance has taken, given back when dropped.
#[derive(Debug)]
pub(crate) struct InstanceMemory {
    plugin: Arc<PluginMemory>,
    bytes: usize,
}

/// What an instance has handed over to a host function, or gets from it: the last one that was charged for. A value is
/// lifted before anything of ours runs, and then waits for a permit, a disk or a client.
#[derive(Debug)]
pub(crate) struct HostCallMemory {
    plugin: Arc<PluginMemory>,
    /// No call of a host function moves more, though some are charged as if they did, for their work.
    most: usize,
    bytes: AtomicUsize,
}

/// There is no memory left for another instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no memory is left for another instance (setting [server] `guest_memory_mib`)")]
pub(crate) struct GuestMemoryExhausted;

impl GuestMemory {
    pub(crate) fn new(settings: &ServerConfig) -> Arc<Self> {
        let most = guest_memory(settings) - engine::idle_memory(settings);
        Self::within(most, kib(settings.stack_kib) + BESIDE)
    }

    fn within(most: usize, instance: usize) -> Arc<Self> {
        Arc::new(Self { most, instance, used: AtomicUsize::new(0) })
    }

    /// For one plugin's instances.
    pub(crate) fn of_plugin(self: &Arc<Self>) -> Arc<PluginMemory> {
        Arc::new(PluginMemory { all: Arc::clone(self), used: AtomicUsize::new(0) })
    }
}

impl PluginMemory {
    /// For another instance.
    pub(crate) fn instance(self: &Arc<Self>) -> Result<InstanceMemory, GuestMemoryExhausted> {
        let mut taken = InstanceMemory { plugin: Arc::clone(self), bytes: 0 };
        if taken.grow(self.all.instance) { Ok(taken) } else { Err(GuestMemoryExhausted) }
    }

    /// For what an instance hands over, of which one call of a host function moves at most so many bytes.
    pub(crate) fn host_call(self: &Arc<Self>, most: usize) -> HostCallMemory {
        HostCallMemory { plugin: Arc::clone(self), most, bytes: AtomicUsize::new(0) }
    }

    /// Takes bytes if as much is left after that as the plugin then has. Two instances of one plugin that come at once
    /// may both be measured by what it had before; what all plugins have together is exact.
    fn take(&self, bytes: usize) -> bool {
        let all = &self.all;
        let own = self.used.load(Ordering::Relaxed).saturating_add(bytes);
        let after = |used: usize| {
            let used = used.saturating_add(bytes);
            let left = all.most.checked_sub(used)?;
            (own <= left).then_some(used)
        };
        let had = all.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).is_ok();
        if had {
            self.used.fetch_add(bytes, Ordering::Relaxed);
        }
        had
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.all.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl InstanceMemory {
    /// Takes more. `false`: it is not to be had.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let had = self.plugin.take(bytes);
        self.bytes += if had { bytes } else { 0 };
        had
    }

    /// Gives back some of what it has taken.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.plugin.give_back(bytes);
    }
}

impl HostCallMemory {
    /// Another host function works, for which so much is handed over. `false`: there is no memory for it.
    pub(super) fn replace(&self, bytes: usize) -> bool {
        let bytes = if bytes <= SMALL { 0 } else { bytes.min(self.most) };
        let before = self.bytes.load(Ordering::Relaxed);
        // What takes less than the one before is never refused.
        let had = bytes <= before || self.plugin.take(bytes - before);
        if had {
            self.bytes.store(bytes, Ordering::Relaxed);
            self.plugin.give_back(before.saturating_sub(bytes));
        }
        had
    }
}

impl Drop for HostCallMemory {
    fn drop(&mut self) {
        self.plugin.give_back(*self.bytes.get_mut());
    }
}

impl Drop for InstanceMemory {
    fn drop(&mut self) {
        self.plugin.give_back(self.bytes);
    }
}

#[cfg(test)]
pub(super) use tests::unbounded;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::mib;

    /// An instance of a plugin that may have whatever it likes.
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
