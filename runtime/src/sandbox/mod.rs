//! The walls: engine flags, resource limits and meters.
//!
//! Everything that makes a guest's reach finite is decided here and nowhere else, so that a reviewer of the sandbox
//! reads one folder. Knows wasmtime and WASI; knows no MCP, no plugin names and no policy of which plugin gets what.

mod bucket;
mod callers;
mod compile;
mod cpu_time;
mod egress;
mod engine;
mod epoch_ticker;
mod filesystem;
mod guest_memory;
mod heap;
mod limiter;
mod machine;
mod measure;
mod meter;
mod offload;
mod permits;
mod places;
mod poll_slots;
mod quota;
mod rate;
mod store;
mod trees;
mod waiting;

pub(crate) use bucket::{Bucket, Found, Version};
pub(crate) use callers::{Callers, Origin};
pub use compile::{
    Cache, CacheError, CompileError, Compiler, Job, Keep, Unanswered, Words, compile_for_server,
};
pub(crate) use cpu_time::CpuTime;
pub(crate) use egress::{Egress, EgressError, Target, Wire};
pub(crate) use engine::YIELD_INTERVAL;
pub use engine::{EngineError, engine, engine_without_pool};
pub(crate) use epoch_ticker::EpochTicker;
pub(crate) use filesystem::{Pinned, place_of, preopen};
pub use guest_memory::guest_memory;
pub(crate) use guest_memory::{GuestMemory, InstanceMemory, NoGuestMemory, PluginMemory};
pub use heap::{EVERY as GIVE_BACK_EVERY, give_back, set_up as set_up_heap};
pub(crate) use limiter::{Limiter, Refusal};
pub use machine::memory as machine_memory;
pub(crate) use meter::{Exhausted, Meter};
pub(crate) use offload::{Allowance, Offload, SMALL, SpentCpuTime, Stopped};
pub(crate) use permits::Permits;
pub(crate) use places::{NoPlace, Places, Taken};
pub use poll_slots::worker_threads;
pub(crate) use poll_slots::{PollSlots, SlottedPolls};
pub(crate) use quota::{ChangeError, OverQuota, Quota, Turn};
pub(crate) use rate::Rate;
pub(crate) use store::KEY as LONGEST_KEY;
pub use store::{Store, StoreError};
pub(crate) use waiting::Waiting;
