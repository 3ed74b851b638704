//! `wasi:io/poll`: charged by the number of pollables, bounded before anything is done, and with pauses for others.
//!
//! The library's own function is charged at a flat rate. `docs/decisions/0020-host-calls.md` has the most that each
//! linked function takes, and its bounds.

use wasmtime::StoreContextMut;
use wasmtime::component::{Lift, Linker, Resource, WasmList};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi_io::bindings::wasi::io::poll;

use crate::capability::{InstanceCtx, LimitTrap};
use crate::config::fixed_limits::HANDLES;

/// The interface, in the version that wasmtime links.
const POLL: &str = "wasi:io/poll@0.2.12";

/// Bytes that one pollable is charged: about 0.2 µs.
const POLLABLE_CHARGE: usize = 2_000;

type StoreCtx<'s> = StoreContextMut<'s, InstanceCtx>;

/// Links this function in place of the library's.
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
        |mut store: StoreCtx<'_>, (pollables,): (WasmList<Resource<DynPollable>>,)| {
            Box::new(async move {
                let state = store.data_mut();
                let host_fuel = state.host_fuel.clone();
                host_fuel.charge_work(pollables.len().saturating_mul(POLLABLE_CHARGE), 0).await?;
                // Each element is a handle, so a longer list has some handles several times.
                if pollables.len() as u64 > HANDLES {
                    return Err(LimitTrap("handles").into());
                }
                let pollables = lifted(&mut store, &pollables)?;
                Ok((poll::Host::poll(&mut store.data_mut().table, pollables).await?,))
            })
        },
    )
}

/// Lifts a list of the guest's.
fn lifted<T: Lift + 'static>(store: &mut StoreCtx<'_>, list: &WasmList<T>) -> wasmtime::Result<Vec<T>> {
    list.iter(&mut *store)?.collect()
}
