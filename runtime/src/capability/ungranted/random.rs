//! `wasi:random`: the functions that make many bytes, charged by the byte and with pauses for others.
//!
//! Wasmtime's own take what thousands of a guest's instructions take and never let anyone else run.

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
const DEAR: u64 = 16;

/// Shadows the functions that make bytes.
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
                let meter = state.meter.clone();
                meter.charge_work(price(length), 0).await?;
                Ok((random::Host::get_random_bytes(state.ctx().ctx.random(), length)?,))
            })
        },
    )?;
    linker.instance(INSECURE)?.func_wrap_async(
        "get-insecure-random-bytes",
        |mut store: StoreContextMut<'_, InstanceCtx>, (length,): (u64,)| {
            Box::new(async move {
                let state = store.data_mut();
                let meter = state.meter.clone();
                meter.charge_work(price(length), 0).await?;
                Ok((insecure::Host::get_insecure_random_bytes(state.ctx().ctx.random(), length)?,))
            })
        },
    )
}

/// The price of as many bytes as may be asked for at once; asking for more fails without making any.
fn price(length: u64) -> usize {
    let most = kib(RANDOM_KIB) as u64;
    usize::try_from(length.min(most).saturating_mul(DEAR)).unwrap_or(usize::MAX)
}
