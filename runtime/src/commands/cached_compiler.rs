//! The compiler of commands that end soon, with a cache of compiled code between them.
//!
//! Authors run a tool again and again, and an interpreter takes seconds to compile. Code is looked up in the cache of the
//! servers of this configuration and in the per-user cache; these are the same unless the configuration names a folder with
//! `compiled_cache_dir` or `state_dir`. New code goes to the first of them that exists. Commands make no state folder.

use std::path::PathBuf;

use crate::config::{Config, user_cache_dir};
use crate::sandbox::{CodeCache, Compiler};

/// Room for one person's compiled code, MiB. Configurations come and go, and have no say in it.
const OWN_MIB: u64 = 512;

/// Compiles outside, and keeps it unless the configuration says that nothing is kept.
pub(super) fn compiler(config: &Config) -> Compiler {
    let mib = config.server.compiled_cache_mib;
    // When it cannot be had nobody has to know: all that it saves is time.
    let open = |folder: PathBuf| {
        let opened = CodeCache::own(&folder, OWN_MIB);
        opened.inspect_err(|error| tracing::debug!(%error, "there is no code cache")).ok().flatten()
    };
    let own = user_cache_dir().filter(|_| mib > 0).and_then(open);
    let state = config.server.state_dir.as_ref().and(config.state_dir.as_ref());
    let named = config.compiled_cache_dir.as_ref().or(state);
    let existing = named.and_then(|folder| CodeCache::existing(folder, mib));
    Compiler::in_child_process().with_caches(existing.into_iter().chain(own))
}
