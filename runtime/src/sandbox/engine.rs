//! The one place where wasmtime's flags are set.
//!
//! Measured choices (`docs/decisions/0003-engine.md`): Cranelift only, a pooling allocator that resets pages instead of
//! unmapping them, fuel with a yield interval for budget and preemption, epochs for the work that costs no fuel, and no
//! support for concurrent component tasks, which makes every call and host call cheaper. Proposals that no supported
//! guest needs are off: each has had its advisory.

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

/// Most instances besides those of running and suspended calls: of calls that have just given their permit back, and of
/// suspended calls whose response has come and that wait for a permit.
const SPARE: usize = 100;

/// Memory of a finished instance that is reset in place rather than given back, so that the next one takes no faults.
const KEEP_RESIDENT: usize = mib(1);

/// The same for each table and each stack.
const KEEP_RESIDENT_SMALL: usize = kib(64);

/// Where Linux lists its swap areas: a line of titles, and a line for each.
const SWAPS: &str = "/proc/swaps";

/// Part of the memory for guests that may stay resident in unused instances: one in this many.
const IDLE_SHARE: usize = 4;

/// Memories and tables of one component; most have one memory and a few tables.
pub(super) const MEMORIES: u32 = 2;
pub(super) const TABLES: u32 = 20;

/// Calls of the largest components for which the pooling allocator has memories and tables besides all others.
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
    /// The error for an engine with these settings.
    pub(crate) fn new(settings: &ServerConfig, error: wasmtime::Error) -> Self {
        // Each memory has 4 GiB and its guard.
        let gib = memories(instances(settings), large(settings)).saturating_mul(4);
        Self { reserved_tib: u64::from(gib.div_ceil(1 << 10)), source: error.into() }
    }
}

/// Makes the engine for guests, with instances for calls that run, for suspended calls, and for the instance pool. One
/// per process: stores must never mix engines (RUSTSEC-2026-0222). Each instance takes 4 mappings, and a Linux process
/// has 65 530 by default.
///
/// # Errors
/// When the machine has not enough address space or lacks a feature.
pub fn engine(settings: &ServerConfig) -> Result<Engine, EngineError> {
    if idle_memory(settings) == 0 {
        tracing::info!(
            "this machine has swap space, so no instance keeps memory for the next, and calls take longer"
        );
    }
    let mut config = flags(settings);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(settings)));
    Engine::new(&config).map_err(|error| EngineError::new(settings, error))
}

/// Makes the same engine without the pooling allocator: each instance maps and unmaps its memory, and no address space
/// is reserved. It compiles, and benchmarks compare with it; no server runs guests with it.
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

/// The flags for compiling and running guests. Of `settings` it uses only the stack, on which compiled code does not
/// depend.
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
        // Each frame of a backtrace has a copy of a name that the guest chose. Debug information of guests is not read.
        .wasm_backtrace_max_frames(NonZeroUsize::new(BACKTRACE))
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        // A fifth of the code, and not used: where in the file an instruction was, and tables for debuggers.
        .generate_address_map(false)
        .native_unwind_info(false)
        .cranelift_nan_canonicalization(true)
        .max_wasm_stack(stack)
        .async_stack_size(stack + HOST_STACK);
    config
}

/// Instances of calls that run, of suspended calls, of the instance pool, and to spare. A server that runs few calls
/// needs few to spare, and so fits into little address space: some systems and tools give a program 64 GiB.
fn instances(settings: &ServerConfig) -> u32 {
    let ServerConfig { concurrent_calls, suspended_calls, idle_instances, .. } = settings;
    let spare = SPARE.min(*concurrent_calls);
    u32::try_from(concurrent_calls + suspended_calls + idle_instances + spare).unwrap_or(u32::MAX / 4)
}

/// How many of the instances may be of the largest components. Instances of the instance pool are usually large, so
/// they come on top of [`LARGE`].
fn large(settings: &ServerConfig) -> u32 {
    u32::try_from(settings.idle_instances).unwrap_or_default().saturating_add(LARGE).min(instances(settings))
}

fn memories(instances: u32, large: u32) -> u32 {
    instances.saturating_add(large)
}

/// Memory that unused instances may keep resident together, bytes. None where there is swap space: wasmtime 48 resets
/// pages in place by a scan that overlooks those which were swapped out, so the next instance would read what the one
/// before wrote there (`docs/decisions/0038-swap.md`).
pub(super) fn idle_memory(settings: &ServerConfig) -> usize {
    // wasmtime scans pages on Linux only.
    let may_leak = cfg!(target_os = "linux") && has_swap(std::fs::read_to_string(SWAPS).ok().as_deref());
    if may_leak { 0 } else { guest_memory(settings) / IDLE_SHARE }
}

/// Whether the system may move memory to swap space, by what it says in [`SWAPS`]. Where it says nothing, it may.
fn has_swap(swaps: Option<&str>) -> bool {
    swaps.is_none_or(|swaps| swaps.lines().count() > 1)
}

/// Bytes that each of `count` memories, tables or stacks may keep resident, in whole pages and at most `max`. Together
/// they may keep `idle_memory / part`: memories a half of it, tables and stacks a quarter each.
fn keep_resident(idle_memory: usize, count: u32, part: usize, max: usize) -> usize {
    let each = idle_memory / part / usize::try_from(count.max(1)).unwrap_or(1);
    each.min(max) & !(kib(4) - 1)
}

fn pool(settings: &ServerConfig) -> PoolingAllocationConfig {
    let (instances, large, idle_memory) = (instances(settings), large(settings), idle_memory(settings));
    let largest = |name: &str| Limits::TABLE.iter().find(|spec| spec.name == name).map_or(1, |spec| spec.max);
    let mut pool = PoolingAllocationConfig::new();
    let cores = CORE_INSTANCES;
    // Each instance has one memory and two tables, and the largest components have more on top, so that the calls of
    // one plugin leave enough for others. Core instances are only counted.
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
        .pagemap_scan(if idle_memory == 0 { Enabled::No } else { Enabled::Auto });
    pool
}

/// Fuel for operators that take longer than others: a division takes as long as many additions, and a fresh page must
/// be zeroed.
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
    fn what_stays_resident_is_a_part_of_the_memory_for_guests() {
        let per_memory = |gib: usize| keep_resident(gib << 28, 2_000, 2, KEEP_RESIDENT);
        assert_eq!((per_memory(1), per_memory(4), per_memory(64)), (kib(64), kib(260), KEEP_RESIDENT));
        assert_eq!(keep_resident(mib(32), 14_000, 4, KEEP_RESIDENT_SMALL), 0);
    }

    #[test]
    fn a_server_for_few_calls_fits_into_64_gib_of_addresses() {
        let settings = ServerConfig {
            concurrent_calls: 2,
            suspended_calls: 1,
            idle_instances: 1,
            ..ServerConfig::default()
        };
        let memories = memories(instances(&settings), large(&settings));
        assert!(memories * 4 < 60, "{memories} memories of 4 GiB");
        let usual = instances(&ServerConfig::default());
        assert_eq!(usual as usize, 256 + 1_000 + 64 + SPARE);
    }

    #[test]
    fn memory_is_reset_in_place_only_where_none_is_swapped_out() {
        let titles = "Filename\tType\tSize\tUsed\tPriority\n";
        assert!(!has_swap(Some(titles)));
        assert!(has_swap(Some(&format!("{titles}/swapfile file 2097148 0 -2\n"))));
        assert!(has_swap(None));
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
