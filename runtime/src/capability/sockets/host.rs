//! `wasi:sockets/ip-name-lookup`: denies every name and charges its length. All other functions are the library's,
//! which makes no socket.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::ResolveAddressStream;
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, Network};

use crate::capability::InstanceCtx;

/// The interface, in the version that wasmtime links.
const LOOKUP: &str = "wasi:sockets/ip-name-lookup@0.2.12";

/// Longest name that DNS has (RFC 1035), bytes.
const MAX_NAME: usize = 253;

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
    linker.instance(LOOKUP)?.func_wrap_async(
        "resolve-addresses",
        |mut store: StoreContextMut<'_, InstanceCtx>, (_, name): (Resource<Network>, String)| {
            Box::new(async move {
                store.data_mut().host_fuel.clone().charge(name.len()).await?;
                let is_long = name.len() > MAX_NAME;
                let error =
                    if is_long { ErrorCode::InvalidArgument } else { ErrorCode::PermanentResolverFailure };
                Ok((Err::<Resource<ResolveAddressStream>, _>(error),))
            })
        },
    )
}
