//! The WASI context of one instance: empty but for what was granted.
//!
//! No arguments, no inherited stdio, no network, and of the environment only what is granted by name. The wall clock
//! and randomness are the real ones, since plugins that tell the time or make identifiers are harmless and useless
//! without them.

use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

use crate::call_env::GuestOutput;
use crate::capability::build_wasi;
use crate::config::fixed_limits::RANDOM_KIB;
use crate::config::{Grants, kib};

/// Builds the context.
///
/// # Errors
/// When a granted directory has gone.
pub(in crate::capability) fn build(grants: &Grants, output: &GuestOutput) -> wasmtime::Result<WasiCtx> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdout(output.stdout.clone()).stderr(output.stderr.clone()).max_random_size(kib(RANDOM_KIB) as u64);
    build_wasi(grants, &mut wasi)?;
    Ok(wasi.build())
}
