//! `wasi:cli/environment`, charged by the bytes that it hands over: the library's own function is charged at a flat
//! rate.

use wasmtime::StoreContextMut;
use wasmtime::component::Linker;
use wasmtime_wasi::cli::WasiCliView as _;
use wasmtime_wasi::p2::bindings::cli::environment;

use crate::capability::InstanceCtx;

/// The interface, in the version that wasmtime links.
const ENVIRONMENT: &str = "wasi:cli/environment@0.2.12";

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
    linker.instance(ENVIRONMENT)?.func_wrap_async(
        "get-environment",
        |mut store: StoreContextMut<'_, InstanceCtx>, (): ()| {
            Box::new(async move {
                let state = store.data_mut();
                let variables = environment::Host::get_environment(&mut state.cli())?;
                let size = variables.iter().map(|(name, value)| name.len() + value.len()).sum();
                state.host_fuel.clone().charge(size).await?;
                Ok((variables,))
            })
        },
    )
}
