//! The WASI context of one instance: empty but for what was granted.
//!
//! No arguments, no inherited stdio, no network, and of the environment only what is granted by name. The wall clock and randomness are the real ones, since
//! plugins that tell the time or make identifiers are harmless and useless without them.

use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

use super::guest_output::GuestOutput;
use crate::config::fixed_limits::RANDOM_KIB;
use crate::config::{EnvVar, Grants, kib};
use crate::sandbox::preopen;

/// Builds the context.
///
/// # Errors
/// When a granted directory has gone.
pub(super) fn build(grants: &Grants, output: &GuestOutput) -> wasmtime::Result<WasiCtx> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdout(output.stdout.clone())
        .stderr(output.stderr.clone())
        .max_random_size(kib(RANDOM_KIB) as u64)
        // Not even sockets that lead nowhere: each would be an open file of the server.
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    for EnvVar { name, value } in &grants.env {
        if let Some(value) = value {
            wasi.env(name, value);
        }
    }
    preopen(&mut wasi, grants)?;
    Ok(wasi.build())
}
