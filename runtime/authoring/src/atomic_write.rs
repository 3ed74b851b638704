//! Replaces a file atomically. A server may watch the folder and others may write the same file, so each writer writes
//! a temporary file beside it, which takes the name when it is complete.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Makes `bytes` the content of `file`, with the rights that the umask gives. Makes its folder if it is not there.
pub(crate) fn atomic_write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder =
        file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut beside = tempfile::Builder::new()
        .prefix(".plugport-")
        .suffix(".part")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    beside.write_all(bytes)?;
    beside.persist(file)?;
    Ok(())
}
