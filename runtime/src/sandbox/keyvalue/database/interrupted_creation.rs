//! Distinguishes a database file whose creation was interrupted from a damaged one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// The number of bytes at the start of the file that redb writes last when it creates the file.
pub(super) const MAGIC: usize = 9;

/// The number of bytes at the start of the file; redb writes nothing after them before it writes [`MAGIC`].
pub(super) const HEADER: usize = 4_096;

/// Maximum size of a database that was never used, in bytes.
pub(super) const NEW: u64 = 2 << 20;

/// Empties a file in which creating the database was interrupted, by a kill or by a full disk. Otherwise redb would
/// never open the file.
pub(super) fn truncate_partial(file: &File) -> io::Result<()> {
    // A process that holds the lock may be about to write.
    if file.try_lock().is_ok() {
        if is_unfinished(file)? {
            file.set_len(0)?;
        }
        file.unlock()?;
    }
    Ok(())
}

/// Whether creating a database in this file was started and never finished. A damaged database has data after its
/// header.
fn is_unfinished(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    if length > NEW {
        return Ok(false);
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, 0)?;
    let is_zero = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
    Ok(is_zero(bytes.get(..MAGIC)) && is_zero(bytes.get(HEADER..)))
}
