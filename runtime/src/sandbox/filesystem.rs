//! Opens granted directories for a guest. What may be granted at all is decided where grants are parsed; this only
//! turns a grant into a preopen, read-only unless it says otherwise.

use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use crate::config::Grants;

/// Adds every granted directory.
///
/// # Errors
/// When a directory has gone since it was granted.
pub(crate) fn preopen(wasi: &mut WasiCtxBuilder, grants: &Grants) -> wasmtime::Result<()> {
    for dir in &grants.dirs {
        let perms = if dir.write.is_some() { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
        wasi.preopened_dir(&dir.host, &dir.guest, perms)?;
    }
    Ok(())
}
