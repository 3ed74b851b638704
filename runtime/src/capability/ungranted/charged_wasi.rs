//! Functions of WASI that take or give what may be long, and have no file of their own here: charged by the byte, bounded
//! before anything is done, and with pauses for others.
//!
//! The library's own cost a flat price and never let anyone else run. What all linked functions cost at most, and what bounds
//! it, is in `docs/decisions/0020-host-calls.md`.

use wasmtime::StoreContextMut;
use wasmtime::component::{Lift, Linker, Resource, WasmList};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::ResolveAddressStream;
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, Network};
use wasmtime_wasi_io::bindings::wasi::io::poll;

use crate::capability::{InstanceCtx, LimitTrap};

/// The interfaces, in the version that wasmtime links.
const POLL: &str = "wasi:io/poll@0.2.12";
const LOOKUP: &str = "wasi:sockets/ip-name-lookup@0.2.12";

/// Longest name that DNS has (RFC 1035), bytes.
const NAME: usize = 253;

/// Price of one thing that is waited for, as bytes: about 0.2 µs.
const POLLABLE: usize = 2_000;

type StoreCtx<'s> = StoreContextMut<'s, InstanceCtx>;

/// Shadows the functions.
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
                let (meter, most) = (state.meter.clone(), state.plugin.config.limits.handles);
                meter.charge_work(waited.len().saturating_mul(POLLABLE), 0).await?;
                // Each is a handle, so a longer list has some of them many times.
                if waited.len() as u64 > most {
                    return Err(LimitTrap("handles").into());
                }
                let waited = lifted(&mut store, &waited)?;
                Ok((poll::Host::poll(&mut store.data_mut().table, waited).await?,))
            })
        },
    )?;
    linker.instance(LOOKUP)?.func_wrap_async(
        "resolve-addresses",
        |mut store: StoreCtx<'_>, (_, name): (Resource<Network>, String)| {
            Box::new(async move {
                store.data_mut().meter.clone().charge(name.len()).await?;
                // Nobody may look up anything, whatever the name is.
                let long = name.len() > NAME;
                let why = if long { ErrorCode::InvalidArgument } else { ErrorCode::PermanentResolverFailure };
                Ok((Err::<Resource<ResolveAddressStream>, _>(why),))
            })
        },
    )
}

/// What is in a list of the guest's.
fn lifted<T: Lift + 'static>(store: &mut StoreCtx<'_>, list: &WasmList<T>) -> wasmtime::Result<Vec<T>> {
    list.iter(&mut *store)?.collect()
}
