//! `wasi:sockets/ip-name-lookup`: refuses every name, at the price of its length. All other functions are the library's, which
//! refuses to make a socket.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::ResolveAddressStream;
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, Network};

use crate::capability::InstanceCtx;

/// The interface, in the version that wasmtime links.
const LOOKUP: &str = "wasi:sockets/ip-name-lookup@0.2.12";

/// Longest name that DNS has (RFC 1035), bytes.
const NAME: usize = 253;

/// Puts our function in place of the library's.
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
                store.data_mut().meter.clone().charge(name.len()).await?;
                // Nobody may look up anything, whatever the name is.
                let long = name.len() > NAME;
                let why = if long { ErrorCode::InvalidArgument } else { ErrorCode::PermanentResolverFailure };
                Ok((Err::<Resource<ResolveAddressStream>, _>(why),))
            })
        },
    )
}
