//! The compiler of commands that end soon, which keep what it makes for the next one.
//!
//! Whoever writes a tool tries it again and again, and an interpreter takes seconds to compile. So code is looked for where
//! servers of this configuration keep it, and in this person's own folder, which is the same unless the configuration names a
//! state folder; what is new goes to the first of them that is there. Commands make no state folder.

use std::path::PathBuf;

use crate::config::{Config, own_cache};
use crate::sandbox::{Cache, Compiler};

/// Room for one person's compiled code, MiB. Configurations come and go, and have no say in it.
const OWN_MIB: u64 = 512;

/// Compiles outside, and keeps it unless the configuration says that nothing is kept.
pub(super) fn compiler(config: &Config) -> Compiler {
    let mib = config.server.compiled_cache_mib;
    // When it cannot be had nobody has to know: all that it saves is time.
    let open = |folder: PathBuf| {
        let opened = Cache::own(&folder, OWN_MIB);
        opened.inspect_err(|error| tracing::debug!(%error, "compiled code is not kept")).ok().flatten()
    };
    let own = own_cache().filter(|_| mib > 0).and_then(open);
    let named = config.server.state.is_some().then_some(config.state.as_ref()).flatten();
    let existing = named.and_then(|state| Cache::existing(state, mib));
    Compiler::outside().keeping(existing.into_iter().chain(own))
}
