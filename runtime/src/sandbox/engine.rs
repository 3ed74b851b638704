//! The one place where wasmtime's flags are set.
//!
//! Measured choices (`docs/decisions/0003-engine.md`): Cranelift only, a pooling allocator that resets pages instead of
//! unmapping them, fuel with a yield interval for both budget and preemption, and no support for concurrent component
//! tasks, which makes every call and host call cheaper. Proposals that no guest of ours needs are off: each has had
//! its advisory.

use std::num::NonZeroUsize;

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OperatorCost, PoolingAllocationConfig,
    WasmBacktraceDetails,
};

use crate::config::{Limits, Server, kib, mib};

/// Fuel between two yields to other tasks: about 50 µs of ordinary code, 2 ms of the slowest that was found.
pub(crate) const YIELD_INTERVAL: u64 = 250_000;

/// Instances beside those of calls: the ones that list.
const SPARE: usize = 100;

/// Memory of a finished instance that is reset in place rather than given back, so that the next one takes no faults.
const KEEP_RESIDENT: usize = mib(1);

/// Memories and tables of one component; most have one memory and a few tables.
pub(super) const MEMORIES: u32 = 2;
pub(super) const TABLES: u32 = 20;

/// Functions of a guest that a backtrace names.
const BACKTRACE: usize = 8;

/// Stack for host functions, which run on the guest's.
const HOST_STACK: usize = kib(512);

/// The engine could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up the WebAssembly engine on this machine; it needs about 12 TiB of free address space")]
pub struct EngineError(#[source] pub(crate) Box<dyn std::error::Error + Send + Sync>);

/// Makes the engine for guests, with room for the calls that run or wait. One per process: stores must never mix engines
/// (RUSTSEC-2026-0222). Each instance takes 4 mappings, and a Linux process has 65 530 by default.
///
/// # Errors
/// When the machine refuses the address space or lacks a feature.
pub fn engine(settings: &Server) -> Result<Engine, EngineError> {
    let calls = settings.concurrent_calls + settings.parked_calls;
    let mut config = flags(settings);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(calls)));
    Engine::new(&config).map_err(|error| EngineError(error.into()))
}

/// Makes an engine that only compiles, for engines that [`engine`] makes. It reserves no address space.
///
/// # Errors
/// When the machine lacks a feature.
pub(super) fn compiler() -> Result<Engine, EngineError> {
    Engine::new(&flags(&Server::default())).map_err(|error| EngineError(error.into()))
}

/// What decides how guests are compiled and how they run. Of the settings only the stack is in it, which code does not
/// depend on.
fn flags(settings: &Server) -> Config {
    let stack = kib(settings.stack_kib);
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .operator_cost(operator_cost())
        .concurrency_support(false)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        // Each frame holds a copy of a name that the guest chose, and nobody's debug information is read.
        .wasm_backtrace_max_frames(NonZeroUsize::new(BACKTRACE))
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .cranelift_nan_canonicalization(true)
        .max_wasm_stack(stack)
        .async_stack_size(stack + HOST_STACK);
    config
}

fn pool(calls: usize) -> PoolingAllocationConfig {
    let instances = u32::try_from(calls + SPARE).unwrap_or(u32::MAX / 4);
    let largest = |name: &str| Limits::TABLE.iter().find(|spec| spec.name == name).map_or(1, |spec| spec.max);
    let mut pool = PoolingAllocationConfig::new();
    let cores = u32::try_from(largest("core_instances")).unwrap_or(64);
    // As many of everything as so many of the largest components need: nobody's calls take the room of another's.
    pool.total_component_instances(instances)
        .total_core_instances(cores.saturating_mul(instances))
        .total_memories(MEMORIES.saturating_mul(instances))
        .total_tables(TABLES.saturating_mul(instances))
        .total_stacks(instances)
        .max_memory_size(mib(largest("memory_mib")))
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_core_instances_per_component(cores)
        .max_component_instance_size(mib(1))
        .max_core_instance_size(mib(1))
        .table_elements(usize::try_from(largest("table_elements")).unwrap_or(20_000))
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(kib(64))
        .async_stack_keep_resident(kib(64))
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
