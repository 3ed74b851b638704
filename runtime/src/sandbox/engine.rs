//! The one place where wasmtime's flags are set.
//!
//! Measured choices (`docs/decisions/0003-engine.md`): Cranelift only, a pooling allocator that resets pages instead of
//! unmapping them, fuel with a yield interval for budget and preemption, epochs for the work that costs no fuel, and no
//! support for concurrent component tasks, which makes every call and host call cheaper. Proposals that no guest of
//! ours needs are off: each has had its advisory.

use std::num::NonZeroUsize;

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OperatorCost, PoolingAllocationConfig,
    WasmBacktraceDetails,
};

use super::system_memory::guest_memory;
use crate::config::fixed_limits::{CORE_INSTANCES, TABLE_ELEMENTS};
use crate::config::{Limits, ServerConfig, kib, mib};

/// Fuel between two yields to other tasks: about 50 µs of ordinary code, 2 ms of the slowest that was found.
pub(crate) const YIELD_INTERVAL: u64 = 250_000;

/// Instances beside those of calls: the ones that list.
const SPARE: usize = 100;

/// Memory of a finished instance that is reset in place rather than given back, so that the next one takes no faults.
const KEEP_RESIDENT: usize = mib(1);

/// The same for each table and each stack.
const KEEP_RESIDENT_SMALL: usize = kib(64);

/// What all of that may take of the memory for guests: one part of so many.
const IDLE_SHARE: usize = 4;

/// Memories and tables of one component; most have one memory and a few tables.
pub(super) const MEMORIES: u32 = 2;
pub(super) const TABLES: u32 = 20;

/// Calls of the largest components for which there is room beside all others.
const LARGE: u32 = 500;

/// Functions of a guest that a backtrace names.
const BACKTRACE: usize = 8;

/// Stack for host functions, which run on the guest's.
const HOST_STACK: usize = kib(512);

/// The engine could not be made.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot set up the WebAssembly engine on this machine; it reserves {reserved_tib} TiB of address space, and less with \
     fewer `suspended_calls` and `concurrent_calls` under [server]"
)]
pub struct EngineError {
    reserved_tib: u64,
    source: Box<dyn std::error::Error + Send + Sync>,
}

impl EngineError {
    /// Of an engine for a server with these settings.
    pub(crate) fn new(settings: &ServerConfig, error: wasmtime::Error) -> Self {
        // Each memory has 4 GiB and its guard.
        let gib = memories(instances(settings), large(settings)).saturating_mul(4);
        Self { reserved_tib: u64::from(gib.div_ceil(1 << 10)), source: error.into() }
    }
}

/// Makes the engine for guests, with room for the calls that run or wait and for the idle instances. One per process:
/// stores must never mix engines (RUSTSEC-2026-0222). Each instance takes 4 mappings, and a Linux process has 65 530 by
/// default.
///
/// # Errors
/// When the machine refuses the address space or lacks a feature.
pub fn engine(settings: &ServerConfig) -> Result<Engine, EngineError> {
    let mut config = flags(settings);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(settings)));
    Engine::new(&config).map_err(|error| EngineError::new(settings, error))
}

/// Makes the same engine without a pool: each instance asks the system for its memory and gives it back. It reserves no
/// address space, and no server has it; it compiles, and benchmarks show with it what the pool saves.
///
/// # Errors
/// When the machine lacks a feature.
pub fn engine_without_pool(settings: &ServerConfig) -> Result<Engine, EngineError> {
    Engine::new(&flags(settings)).map_err(|error| EngineError::new(settings, error))
}

/// Makes an engine that only compiles, for engines that [`engine`] makes.
///
/// # Errors
/// When the machine lacks a feature.
pub(super) fn compiler() -> Result<Engine, EngineError> {
    engine_without_pool(&ServerConfig::default())
}

/// What decides how guests are compiled and how they run. Of the settings only the stack is in it, which code does not
/// depend on.
fn flags(settings: &ServerConfig) -> Config {
    let stack = kib(settings.stack_kib);
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .operator_cost(operator_cost())
        .concurrency_support(false)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        // Each frame holds a copy of a name that the guest chose, and nobody's debug information is read.
        .wasm_backtrace_max_frames(NonZeroUsize::new(BACKTRACE))
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        // Where in the file an instruction was, and tables for debuggers: a fifth of the code, and nobody looks at it.
        .generate_address_map(false)
        .native_unwind_info(false)
        .cranelift_nan_canonicalization(true)
        .max_wasm_stack(stack)
        .async_stack_size(stack + HOST_STACK);
    config
}

/// Instances of calls that run, of those that wait, of those between calls, and of the rest.
fn instances(settings: &ServerConfig) -> u32 {
    let ServerConfig { concurrent_calls, suspended_calls, idle_instances, .. } = settings;
    u32::try_from(concurrent_calls + suspended_calls + idle_instances + SPARE).unwrap_or(u32::MAX / 4)
}

/// Of those, how many may be of the largest components. What is kept is usually large, and takes no room from calls.
fn large(settings: &ServerConfig) -> u32 {
    u32::try_from(settings.idle_instances).unwrap_or_default().saturating_add(LARGE).min(instances(settings))
}

fn memories(instances: u32, large: u32) -> u32 {
    instances.saturating_add(large)
}

/// What instances that are not used may keep resident together, bytes.
pub(super) fn idle_memory(settings: &ServerConfig) -> usize {
    guest_memory(settings) / IDLE_SHARE
}

/// What each may keep, so that all together keep no more than `idle_memory`: half of it in memories, and a quarter each
/// in tables and in stacks. Whole pages; where there is much room, more helps no call.
fn keep_resident(idle_memory: usize, count: u32, part: usize, most: usize) -> usize {
    let each = idle_memory / part / usize::try_from(count.max(1)).unwrap_or(1);
    each.min(most) & !(kib(4) - 1)
}

fn pool(settings: &ServerConfig) -> PoolingAllocationConfig {
    let (instances, large, idle_memory) = (instances(settings), large(settings), idle_memory(settings));
    let largest = |name: &str| Limits::TABLE.iter().find(|spec| spec.name == name).map_or(1, |spec| spec.max);
    let mut pool = PoolingAllocationConfig::new();
    let cores = CORE_INSTANCES;
    // One of each kind for everyone, and room for many of the largest components beside them: no plugin's calls take
    // the room of another's. Core instances are only counted.
    let tables = instances.saturating_mul(2).saturating_add(TABLES.saturating_mul(large));
    pool.total_component_instances(instances)
        .total_core_instances(cores.saturating_mul(instances))
        .total_memories(memories(instances, large))
        .total_tables(tables)
        .total_stacks(instances)
        .max_memory_size(mib(largest("memory_mib")))
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_core_instances_per_component(cores)
        .max_component_instance_size(mib(1))
        .max_core_instance_size(mib(1))
        .table_elements(TABLE_ELEMENTS as usize)
        .linear_memory_keep_resident(keep_resident(idle_memory, memories(instances, large), 2, KEEP_RESIDENT))
        .table_keep_resident(keep_resident(idle_memory, tables, 4, KEEP_RESIDENT_SMALL))
        .async_stack_keep_resident(keep_resident(idle_memory, instances, 4, KEEP_RESIDENT_SMALL))
        .pagemap_scan(Enabled::Auto);
    pool
}

/// Prices that bring fuel nearer to time: a division takes as long as many additions, a fresh page must be zeroed.
fn operator_cost() -> OperatorCost {
    let mut cost = OperatorCost::new();
    for operator in [&mut cost.I64DivU, &mut cost.I64DivS, &mut cost.I64RemU, &mut cost.I64RemS] {
        *operator = 20;
    }
    for operator in [&mut cost.I32DivU, &mut cost.I32DivS, &mut cost.I32RemU, &mut cost.I32RemS] {
        *operator = 12;
    }
    for operator in [&mut cost.F64Sqrt, &mut cost.F32Sqrt] {
        *operator = 12;
    }
    for operator in [&mut cost.F64Div, &mut cost.F32Div] {
        *operator = 8;
    }
    cost.variable.memory_grow_per_page = 255;
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rests_in_the_pool_is_a_part_of_the_memory_for_guests() {
        let of = |gib: usize| keep_resident(gib << 28, 2_000, 2, KEEP_RESIDENT);
        assert_eq!((of(1), of(4), of(64)), (kib(64), kib(260), KEEP_RESIDENT));
        assert_eq!(keep_resident(mib(32), 14_000, 4, KEEP_RESIDENT_SMALL), 0);
    }

    #[test]
    fn the_largest_server_that_may_be_configured_has_an_engine() {
        let settings = ServerConfig {
            concurrent_calls: 900,
            suspended_calls: 15_000,
            idle_instances: 100,
            ..ServerConfig::default()
        };
        let engine = engine(&settings);
        assert!(engine.is_ok(), "{engine:?}");
        let error = EngineError::new(&settings, wasmtime::Error::msg("no"));
        assert!(error.to_string().contains("reserves 66 TiB"), "{error}");
    }
}
