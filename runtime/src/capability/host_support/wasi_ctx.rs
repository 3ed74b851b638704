//! The WASI context of one instance: empty but for what was granted.
//!
//! No arguments, no inherited stdio, no network, and of the environment only what is granted by name. The wall clock
//! and randomness are the real ones, since plugins that tell the time or make identifiers are harmless and useless
//! without them.
//!
//! Many calls use no function of WASI, and wasmtime seeds four random number generators for each context. So the
//! context is built when the guest first calls WASI. Only granted directories are opened before the guest starts, since
//! a directory that is gone ends the call.

use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

use crate::call_env::{GuestLog, GuestOutput};
use crate::capability::build_wasi;
use crate::config::fixed_limits::RANDOM_KIB;
use crate::config::{Grants, kib};
use crate::sandbox::HostFuel;

/// The context, once it is built, and where its stdout and stderr go.
#[derive(Default)]
pub(in crate::capability) struct LazyWasiCtx(Option<(WasiCtx, GuestOutput)>);

impl LazyWasiCtx {
    /// A context with directories that are open already; it is built at once.
    pub(in crate::capability) fn with_dirs(
        dirs: WasiCtxBuilder,
        grants: &Grants,
        logs: &GuestLog,
        host_fuel: &HostFuel,
    ) -> Self {
        Self(Some(build(dirs, grants, logs, host_fuel)))
    }

    /// The context, which is built now if it is not yet.
    pub(in crate::capability) fn get(
        &mut self,
        grants: &Grants,
        logs: &GuestLog,
        host_fuel: &HostFuel,
    ) -> &mut WasiCtx {
        let (ctx, _) = self.0.get_or_insert_with(|| build(WasiCtxBuilder::new(), grants, logs, host_fuel));
        ctx
    }

    /// Ends unfinished lines of stdout and stderr.
    pub(in crate::capability) fn end_lines(&self) {
        if let Some((_, output)) = &self.0 {
            output.end_lines();
        }
    }
}

fn build(
    mut wasi: WasiCtxBuilder,
    grants: &Grants,
    logs: &GuestLog,
    host_fuel: &HostFuel,
) -> (WasiCtx, GuestOutput) {
    let output = GuestOutput::new(logs, host_fuel);
    wasi.stdout(output.stdout.clone()).stderr(output.stderr.clone());
    wasi.max_random_size(kib(RANDOM_KIB) as u64);
    build_wasi(grants, &mut wasi);
    (wasi.build(), output)
}
