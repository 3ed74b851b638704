//! The compiler of commands that end soon, with a cache of compiled code between them.
//!
//! Authors run a tool again and again, and compiling an interpreter takes seconds. Code is looked up in two caches:
//! that of the servers of this configuration and the per-user cache. They are the same unless the configuration names a
//! folder with `compiled_cache_dir` or `state_dir`. New code goes to the first of them that exists. Commands make no
//! state folder.

use std::path::PathBuf;

use crate::config::{Config, user_cache_dir};
use crate::sandbox::{CodeCache, Compiler};

/// Quota of the per-user cache, MiB. No configuration changes it, since all configurations of a user share the cache.
const USER_CACHE_MIB: u64 = 512;

/// A compiler in a child process, with caches unless the configuration disables them.
pub(super) fn compiler(config: &Config) -> Compiler {
    let mib = config.server.compiled_cache_mib;
    // Logged at debug level only: a missing cache costs nothing but time.
    let open = |folder: PathBuf| {
        let opened = CodeCache::own(&folder, USER_CACHE_MIB);
        opened.inspect_err(|error| tracing::debug!(%error, "there is no code cache")).ok().flatten()
    };
    let own = user_cache_dir().filter(|_| mib > 0).and_then(open);
    let state = config.server.state_dir.as_ref().and(config.state_dir.as_ref());
    let named = config.compiled_cache_dir.as_ref().or(state);
    let existing = named.and_then(|folder| CodeCache::existing(folder, mib));
    Compiler::in_child_process().with_caches(existing.into_iter().chain(own))
}
