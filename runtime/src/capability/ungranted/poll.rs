//! `wasi:io/poll`: charged by how much is waited for, bounded before anything is done, and with pauses for others.
//!
//! The library's own costs a flat price. What all linked functions cost at most, and what bounds it, is in
//! `docs/decisions/0020-host-calls.md`.

use wasmtime::StoreContextMut;
use wasmtime::component::{Lift, Linker, Resource, WasmList};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi_io::bindings::wasi::io::poll;

use crate::capability::{InstanceCtx, LimitTrap};
use crate::config::fixed_limits::HANDLES;

/// The interface, in the version that wasmtime links.
const POLL: &str = "wasi:io/poll@0.2.12";

/// Price of one thing that is waited for, as bytes: about 0.2 µs.
const POLLABLE: usize = 2_000;

type StoreCtx<'s> = StoreContextMut<'s, InstanceCtx>;

/// Shadows the function.
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
    linker.instance(POLL)?.func_wrap_async(
        "poll",
        |mut store: StoreCtx<'_>, (waited,): (WasmList<Resource<DynPollable>>,)| {
            Box::new(async move {
                let state = store.data_mut();
                let meter = state.meter.clone();
                meter.charge_work(waited.len().saturating_mul(POLLABLE), 0).await?;
                // Each is a handle, so a longer list has some of them many times.
                if waited.len() as u64 > HANDLES {
                    return Err(LimitTrap("handles").into());
                }
                let waited = lifted(&mut store, &waited)?;
                Ok((poll::Host::poll(&mut store.data_mut().table, waited).await?,))
            })
        },
    )
}

/// What is in a list of the guest's.
fn lifted<T: Lift + 'static>(store: &mut StoreCtx<'_>, list: &WasmList<T>) -> wasmtime::Result<Vec<T>> {
    list.iter(&mut *store)?.collect()
}
