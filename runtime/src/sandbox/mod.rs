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
mod filesystem;
mod limiter;
mod measure;
mod meter;
mod permits;
mod places;
mod quota;
mod rate;
mod store;
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
pub(crate) use filesystem::{Pinned, place_of, preopen};
pub(crate) use limiter::{Limiter, Refusal};
pub(crate) use meter::{Meter, OutOfHostFuel};
pub(crate) use permits::Permits;
pub(crate) use places::{NoPlace, Places, Taken};
pub(crate) use quota::{ChangeError, OverQuota, Quota, Turn};
pub(crate) use rate::Rate;
pub use store::{Store, StoreError};
pub(crate) use waiting::Waiting;
