//! Sets wasmtime's flags. No other module does.
//!
//! The choices were measured (`docs/decisions/0003-engine.md`): only Cranelift; a pooling allocator that resets pages
//! instead of unmapping them; fuel with a yield interval, for the budget and for preemption; epochs, for work that
//! costs no fuel; no concurrent component tasks, which makes every call and host call cheaper. Wasm proposals that no
//! supported guest needs are off, because each of them has had security advisories.

use std::num::NonZeroUsize;

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OperatorCost, OptLevel, PoolingAllocationConfig,
    RegallocAlgorithm, WasmBacktraceDetails,
};

use super::compile_effort::CompileEffort;
use super::system_memory::guest_memory;
use crate::config::fixed_limits::{CORE_INSTANCES, TABLE_ELEMENTS};
use crate::config::{Limits, ServerConfig, kib, mib};

/// Fuel between two yields to other tasks: about 50 µs of ordinary code, and 2 ms of the slowest code that was found.
pub(crate) const YIELD_INTERVAL: u64 = 250_000;

/// Maximum number of instances in addition to those of running and suspended calls. Calls that have just returned their
/// permit use them, and suspended calls that have got their response and wait for a permit.
const SPARE_INSTANCES: usize = 100;

/// Memory of a finished instance that is reset in place and not returned to the system, so that the next instance has
/// no page faults.
const KEEP_RESIDENT: usize = mib(1);

/// Like [`KEEP_RESIDENT`], for each table and each stack.
const KEEP_RESIDENT_SMALL: usize = kib(64);

/// The file in which Linux lists its swap areas: a title line, and one line for each area.
const SWAPS: &str = "/proc/swaps";

/// Unused instances may keep one part in this many of the memory for guests resident.
const IDLE_SHARE: usize = 4;

/// The number of memories and tables that one component may have. Most components have one memory and a few tables.
pub(super) const MEMORIES: u32 = 2;
pub(super) const TABLES: u32 = 20;

/// The pooling allocator has additional memories and tables for this many calls of the largest components. With 100
/// more, the largest server that may be configured would not fit between the lowest address and the program, which
/// Linux loads at 85.3 TiB or a random distance above, so that one start in ten would fail.
const LARGE_INSTANCES: u32 = 400;

/// Maximum number of a guest's functions in a backtrace.
const BACKTRACE: usize = 8;

/// Stack size for host functions, which run on the guest's stack.
const HOST_STACK: usize = kib(512);

/// The engine could not be created.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot set up the WebAssembly engine on this machine; it reserves {reserved_tib} TiB of address space, and less with \
     fewer `suspended_calls`, `tasks` and `concurrent_calls` under [server]"
)]
pub struct EngineError {
    reserved_tib: u64,
    source: Box<dyn std::error::Error + Send + Sync>,
}

impl EngineError {
    /// Makes the error for an engine with these settings.
    pub(crate) fn new(settings: &ServerConfig, error: wasmtime::Error) -> Self {
        // Each memory reserves 4 GiB of addresses including its guard region.
        let gib = memories(instances(settings), large(settings)).saturating_mul(4);
        Self { reserved_tib: u64::from(gib.div_ceil(1 << 10)), source: error.into() }
    }
}

/// Creates the engine for guests, with instances for running calls, for suspended calls, and for the instance pool. A
/// process must have only one: stores must never mix engines (RUSTSEC-2026-0222). Each instance takes 4 memory
/// mappings, of which a Linux process has 65 530 by default.
///
/// # Errors
/// When the machine has too little address space or lacks a processor feature.
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

/// Creates the same engine without the pooling allocator: each instance maps and unmaps its memory, and no address
/// space is reserved. It is a comparison in benchmarks; no server runs guests with it.
///
/// # Errors
/// When the machine lacks a processor feature.
pub fn engine_without_pool(settings: &ServerConfig) -> Result<Engine, EngineError> {
    Engine::new(&flags(settings)).map_err(|error| EngineError::new(settings, error))
}

/// Creates an engine that only compiles; [`engine`] can run its code. Neither of the settings for quick compiling
/// changes what the code may do.
///
/// # Errors
/// When the machine lacks a feature.
pub(super) fn compiler(effort: CompileEffort) -> Result<Engine, EngineError> {
    let settings = ServerConfig::default();
    let mut config = flags(&settings);
    if effort == CompileEffort::Quick {
        config
            .cranelift_opt_level(OptLevel::None)
            .cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    Engine::new(&config).map_err(|error| EngineError::new(&settings, error))
}

/// The flags for compiling and running guests. Of `settings` only the stack size is used, on which compiled code does
/// not depend.
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
        // Each frame of a backtrace copies a name that the guest chose. Debug information of guests is not read.
        .wasm_backtrace_max_frames(NonZeroUsize::new(BACKTRACE))
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        // The address map is a fifth of the code, and only debuggers would use it.
        .generate_address_map(false)
        .native_unwind_info(false)
        .cranelift_nan_canonicalization(true)
        .max_wasm_stack(stack)
        .async_stack_size(stack + HOST_STACK);
    config
}

/// The number of instances: for running calls, suspended calls, tasks, the instance pool, and spare ones. A server for
/// few calls needs few spare instances, and so fits into little address space: some systems and tools limit a program to
/// 64 GiB.
fn instances(settings: &ServerConfig) -> u32 {
    let ServerConfig { concurrent_calls, suspended_calls, tasks, idle_instances, .. } = settings;
    let spare = SPARE_INSTANCES.min(*concurrent_calls);
    u32::try_from(concurrent_calls + suspended_calls + tasks + idle_instances + spare).unwrap_or(u32::MAX / 4)
}

/// How many instances may be of the largest components. Instances in the instance pool are usually large, so they are
/// added to [`LARGE_INSTANCES`].
fn large(settings: &ServerConfig) -> u32 {
    u32::try_from(settings.idle_instances)
        .unwrap_or_default()
        .saturating_add(LARGE_INSTANCES)
        .min(instances(settings))
}

fn memories(instances: u32, large: u32) -> u32 {
    instances.saturating_add(large)
}

/// How much memory all unused instances may keep resident, in bytes. Zero if there is swap space: when wasmtime 48
/// resets pages in place, it overlooks pages that were swapped out, so the next instance would read what the previous
/// one wrote there (`docs/decisions/0038-swap.md`).
pub(super) fn idle_memory(settings: &ServerConfig) -> usize {
    // wasmtime scans pages on Linux only.
    let may_leak = cfg!(target_os = "linux") && has_swap(std::fs::read_to_string(SWAPS).ok().as_deref());
    if may_leak { 0 } else { guest_memory(settings) / IDLE_SHARE }
}

/// Whether the system may swap memory out, according to the content of [`SWAPS`]. If the file cannot be read, the
/// answer is yes.
fn has_swap(swaps: Option<&str>) -> bool {
    swaps.is_none_or(|swaps| swaps.lines().count() > 1)
}

/// How many bytes each of `count` memories, tables or stacks may keep resident: whole pages, at most `max`. Together
/// they may keep `idle_memory / part`: memories a half, tables and stacks a quarter each.
fn keep_resident(idle_memory: usize, count: u32, part: usize, max: usize) -> usize {
    let each = idle_memory / part / usize::try_from(count.max(1)).unwrap_or(1);
    each.min(max) & !(kib(4) - 1)
}

fn pool(settings: &ServerConfig) -> PoolingAllocationConfig {
    let (instances, large, idle_memory) = (instances(settings), large(settings), idle_memory(settings));
    let largest = |name: &str| Limits::TABLE.iter().find(|spec| spec.name == name).map_or(1, |spec| spec.max);
    let mut pool = PoolingAllocationConfig::new();
    let cores = CORE_INSTANCES;
    // Each instance has one memory and two tables, and the largest components have additional ones. So the calls of one
    // plugin leave enough for others. For core instances there is only a number.
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

/// The fuel for operators that take longer than others: a division takes as long as many additions, and a new page must
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
            tasks: 1,
            idle_instances: 1,
            ..ServerConfig::default()
        };
        let memories = memories(instances(&settings), large(&settings));
        assert!(memories * 4 < 60, "{memories} memories of 4 GiB");
        let usual = instances(&ServerConfig::default());
        assert_eq!(usual as usize, 256 + 1_000 + 256 + 64 + SPARE_INSTANCES);
    }

    #[test]
    fn memory_is_reset_in_place_only_where_none_is_swapped_out() {
        let titles = "Filename\tType\tSize\tUsed\tPriority\n";
        assert!(!has_swap(Some(titles)));
        assert!(has_swap(Some(&format!("{titles}/swapfile file 2097148 0 -2\n"))));
        assert!(has_swap(None));
    }

    #[test]
    fn the_error_names_the_addresses_of_the_largest_server_that_may_be_configured() {
        let settings = ServerConfig {
            concurrent_calls: 900,
            suspended_calls: 10_000,
            tasks: 10_000,
            idle_instances: 100,
            ..ServerConfig::default()
        };
        let error = EngineError::new(&settings, wasmtime::Error::msg("no"));
        assert!(error.to_string().contains("reserves 85 TiB"), "{error}");
    }
}
