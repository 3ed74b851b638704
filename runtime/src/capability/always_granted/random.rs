//! `wasi:random`: the functions that make many bytes, charged by the byte and with pauses for others.
//!
//! Wasmtime's own functions take as long as thousands of a guest's instructions and never let others run.

use wasmtime::StoreContextMut;
use wasmtime::component::Linker;
use wasmtime_wasi::WasiView as _;
use wasmtime_wasi::p2::bindings::random::{insecure, random};

use crate::capability::InstanceCtx;
use crate::config::fixed_limits::RANDOM_KIB;
use crate::config::kib;

/// The interfaces, in the version that wasmtime links.
const RANDOM: &str = "wasi:random/random@0.2.12";
const INSECURE: &str = "wasi:random/insecure@0.2.12";

/// Random bytes take this many times as long as copied ones.
const RANDOM_FACTOR: u64 = 16;

/// Links these functions in place of the library's.
///
/// # Errors
/// Never for a fixed set of interfaces.
pub(super) fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let shadowed = shadow(linker);
    linker.allow_shadowing(false);
    shadowed
}

fn shadow(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
    linker.instance(RANDOM)?.func_wrap_async(
        "get-random-bytes",
        |mut store: StoreContextMut<'_, InstanceCtx>, (length,): (u64,)| {
            Box::new(async move {
                let state = store.data_mut();
                let host_fuel = state.host_fuel.clone();
                host_fuel.charge_work(work(length), 0).await?;
                Ok((random::Host::get_random_bytes(state.ctx().ctx.random(), length)?,))
            })
        },
    )?;
    linker.instance(INSECURE)?.func_wrap_async(
        "get-insecure-random-bytes",
        |mut store: StoreContextMut<'_, InstanceCtx>, (length,): (u64,)| {
            Box::new(async move {
                let state = store.data_mut();
                let host_fuel = state.host_fuel.clone();
                host_fuel.charge_work(work(length), 0).await?;
                Ok((insecure::Host::get_insecure_random_bytes(state.ctx().ctx.random(), length)?,))
            })
        },
    )
}

/// The work for `length` random bytes, as copied bytes. More than the limit is not made, so it is not charged either.
fn work(length: u64) -> usize {
    let max = kib(RANDOM_KIB) as u64;
    usize::try_from(length.min(max).saturating_mul(RANDOM_FACTOR)).unwrap_or(usize::MAX)
}
