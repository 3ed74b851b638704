//! The WASI context of one instance: empty but for what was granted.
//!
//! No arguments, no inherited stdio, no network, and of the environment only what is granted by name. The wall clock and randomness are the real ones, since
//! plugins that tell the time or make identifiers are harmless and useless without them.

use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

use crate::capability::lifetimes;
use crate::config::{Grants, Limits, kib};
use crate::host::GuestOutput;

/// Builds the context.
///
/// # Errors
/// When a granted directory has gone.
pub(super) fn build(grants: &Grants, limits: &Limits, output: &GuestOutput) -> wasmtime::Result<WasiCtx> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdout(output.stdout.clone())
        .stderr(output.stderr.clone())
        .max_random_size(kib(limits.random_kib) as u64);
    lifetimes::build_wasi(grants, &mut wasi)?;
    Ok(wasi.build())
}
