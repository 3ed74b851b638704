//! Replaces a file atomically. A server may watch the folder, and others may write the same file, so each writer writes
//! a temporary file in that folder and renames it when it is complete.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// How the names of unfinished files begin and end.
const UNFINISHED: (&str, &str) = (".plugport-", ".part");

/// Makes `bytes` the content of `file`, with permissions as the umask says. Makes its folder if that is missing.
pub(crate) fn atomic_write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder =
        file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut temporary = tempfile::Builder::new()
        .prefix(UNFINISHED.0)
        .suffix(UNFINISHED.1)
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    temporary.persist(file)?;
    Ok(())
}

/// Whether a file of this name is one that was not written to its end.
pub(crate) fn is_unfinished(name: &str) -> bool {
    name.starts_with(UNFINISHED.0) && name.ends_with(UNFINISHED.1)
}
