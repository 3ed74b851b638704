//! The compiler of commands that end soon, which keep what it makes for the next one.
//!
//! Whoever writes a tool tries it again and again, and an interpreter takes seconds to compile. So code is looked for where
//! servers of this configuration keep it, and where the commands of this person do; what is new goes to the first of them
//! that is there. Commands make no state folder, so without a server that is the person's own.

use crate::config::{Config, own_cache};
use crate::sandbox::{Cache, Compiler};

/// Room for one person's compiled code, MiB. Configurations come and go, and have no say in it.
const OWN_MIB: u64 = 512;

/// Compiles outside, and keeps it unless the configuration says that nothing is kept.
pub(super) fn compiler(config: &Config) -> Compiler {
    let mib = config.server.compiled_cache_mib;
    let own = own_cache().filter(|_| mib > 0).and_then(|folder| Cache::own(&folder, OWN_MIB));
    Compiler::outside().keeping(Cache::existing(&config.state, mib).into_iter().chain(own))
}
