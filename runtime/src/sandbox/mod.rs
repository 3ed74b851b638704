//! Everything that bounds a guest: engine flags, limits, permits and host fuel.
//!
//! This layer has the mechanisms; `config` has their values, and `capability` and `plugin` apply them. It knows
//! wasmtime and WASI, but no MCP, no names of plugins and no grants.

mod call_permits;
mod compile;
mod compile_effort;
mod cpu_time;
mod engine;
mod epoch_ticker;
mod guest_memory;
mod guest_pauses;
mod host_fuel;
mod keyvalue;
mod large_work_threads;
mod malloc_trim;
mod poll_permits;
mod shared_permits;
mod store_limiter;
mod suspension;
mod system_memory;
mod thread_cpu_clock;
mod work_estimate;

pub(crate) use call_permits::CallPermits;
pub use compile::{
    CacheError, CodeCache, CompileError, CompilePermit, CompileRequest, Compiler, CompilerMessage,
    DetachedCompile, WorkerError, compile_for_server,
};
pub use compile_effort::CompileEffort;
pub(crate) use cpu_time::CpuTime;
pub(crate) use engine::YIELD_INTERVAL;
pub use engine::{EngineError, engine, engine_without_pool};
pub(crate) use epoch_ticker::EpochTicker;
pub(crate) use guest_memory::{GuestMemory, GuestMemoryExhausted, InstanceMemory, PluginMemory};
pub(crate) use host_fuel::{ChargeError, HostFuel};
pub(crate) use keyvalue::{
    CallerQuota, KeyValues, KvBucket, LONGEST_KEY, RecordId, RecordTable, ValueVersion,
};
pub use keyvalue::{KvDatabase, KvError};
pub(crate) use large_work_threads::{LargeWork, SMALL, SpentCpuTime, WorkBudget, WorkStopped};
pub use malloc_trim::{KEPT_HEAP, TRIM_INTERVAL, set_malloc_thresholds, trim_heap};
pub use poll_permits::worker_threads;
pub(crate) use poll_permits::{CountedSemaphore, PermittedPolls, PollPermits};
pub(crate) use shared_permits::{NoSharedPermit, SharedPermit, SharedPermits};
pub(crate) use store_limiter::{StoreLimitHit, StoreLimiter};
pub(crate) use suspension::Suspension;
pub use system_memory::{guest_memory, memory as machine_memory};
pub(crate) use work_estimate::{json_string_work, json_work};
