//! Limits the size of a store's memories and tables, and records which limit was reached.
//!
//! A guest whose memory cannot grow usually traps a moment later for another reason, because a failed allocation
//! aborts. So the trap alone does not tell why, and the limiter records the reason for the code that classifies the
//! failure.

use wasmtime::ResourceLimiter;

use super::engine;
use super::guest_memory::InstanceMemory;
use crate::config::fixed_limits::{CORE_INSTANCES, TABLE_ELEMENTS};
use crate::config::{Limits, mib};

/// The size of a table's entry, in bytes.
const ENTRY: usize = size_of::<usize>();

/// The limit that the guest reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreLimitHit {
    /// All memories together would exceed `memory_mib`.
    Memory,
    /// A table would exceed [`TABLE_ELEMENTS`].
    Table,
    /// All instances of the plugin, or of all plugins, would exceed the memory for guests.
    Guests,
}

/// The limiter of one store.
#[derive(Debug)]
pub(crate) struct StoreLimiter {
    memory_max: usize,
    memory_used: usize,
    table_max: usize,
    instances_max: usize,
    /// The instance's part of the memory for guests.
    instance_memory: InstanceMemory,
    limit_hit: Option<StoreLimitHit>,
}

impl StoreLimiter {
    pub(crate) fn new(limits: &Limits, instance_memory: InstanceMemory) -> Self {
        Self {
            memory_max: mib(limits.memory_mib),
            memory_used: 0,
            table_max: TABLE_ELEMENTS as usize,
            instances_max: CORE_INSTANCES as usize,
            instance_memory,
            limit_hit: None,
        }
    }

    /// The size of the store's linear memories in bytes. They never shrink.
    pub(crate) fn memory(&self) -> usize {
        self.memory_used
    }

    /// The instance's part of the memory for guests, for counting what the host stores for the instance.
    pub(crate) fn instance_memory(&mut self) -> &mut InstanceMemory {
        &mut self.instance_memory
    }

    /// Whether less than a quarter of the memory is left.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.memory_used > self.memory_max / 4 * 3
    }

    /// Forgets the limit that an earlier call of the same instance reached.
    pub(crate) fn begin_again(&mut self) {
        self.limit_hit = None;
    }

    pub(crate) fn limit_hit(&self) -> Option<StoreLimitHit> {
        self.limit_hit
    }
}

impl ResourceLimiter for StoreLimiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current);
        let used = self.memory_used.saturating_add(more);
        if used > self.memory_max {
            self.limit_hit = Some(StoreLimitHit::Memory);
            return Ok(false);
        }
        if !self.instance_memory.grow(more) {
            self.limit_hit = Some(StoreLimitHit::Guests);
            return Ok(false);
        }
        self.memory_used = used;
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.table_max {
            self.limit_hit = Some(StoreLimitHit::Table);
            return Ok(false);
        }
        if !self.instance_memory.grow(desired.saturating_sub(current).saturating_mul(ENTRY)) {
            self.limit_hit = Some(StoreLimitHit::Guests);
            return Ok(false);
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        self.instances_max
    }

    fn memories(&self) -> usize {
        engine::MEMORIES as usize
    }

    fn tables(&self) -> usize {
        engine::TABLES as usize
    }
}

#[cfg(test)]
mod tests {
    use super::super::guest_memory::unbounded;
    use super::*;

    #[test]
    fn memories_are_counted_together() {
        let mut limiter = StoreLimiter::new(&Limits { memory_mib: 2, ..Limits::default() }, unbounded());
        assert!(limiter.memory_growing(0, mib(1), None).unwrap());
        assert!(limiter.memory_growing(0, mib(1), None).unwrap());
        assert_eq!(limiter.limit_hit(), None);
        assert!(!limiter.memory_growing(mib(1), mib(1) + 1, None).unwrap());
        assert_eq!(limiter.limit_hit(), Some(StoreLimitHit::Memory));
    }

    #[test]
    fn what_one_call_took_the_next_one_lacks() {
        let mut limiter = StoreLimiter::new(&Limits { memory_mib: 4, ..Limits::default() }, unbounded());
        assert!(limiter.memory_growing(0, mib(3), None).unwrap() && !limiter.is_nearly_full());
        assert!(!limiter.memory_growing(mib(3), mib(5), None).unwrap());
        limiter.begin_again();
        assert_eq!((limiter.limit_hit(), limiter.memory()), (None, mib(3)));
        assert!(!limiter.memory_growing(mib(3), mib(5), None).unwrap());
        assert!(limiter.memory_growing(mib(3), mib(3) + 1, None).unwrap() && limiter.is_nearly_full());
    }
}
