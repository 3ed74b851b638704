//! The WASI context of one instance: empty but for what was granted.
//!
//! No arguments, no inherited stdio, no network, and of the environment only what is granted by name. The wall clock and randomness are the real ones, since
//! plugins that tell the time or make identifiers are harmless and useless without them.

use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

use super::stdio::Printed;
use crate::config::{Grants, Limits, Variable, kib};
use crate::sandbox::preopen;

/// Builds the context.
///
/// # Errors
/// When a granted directory has gone.
pub(super) fn context(grants: &Grants, limits: &Limits, printed: &Printed) -> wasmtime::Result<WasiCtx> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdout(printed.stdout.clone())
        .stderr(printed.stderr.clone())
        .max_random_size(kib(limits.random_kib) as u64)
        // Not even sockets that lead nowhere: each would be an open file of the server.
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    for Variable { name, value } in &grants.env {
        if let Some(value) = value {
            wasi.env(name, value);
        }
    }
    preopen(&mut wasi, grants)?;
    Ok(wasi.build())
}
