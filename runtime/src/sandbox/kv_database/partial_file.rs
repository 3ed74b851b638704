//! Tells a database file whose creation was cut off from one that was damaged.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Bytes at the begin of the file, which the database writes last when it is made.
pub(super) const MAGIC: usize = 9;

/// Bytes at the begin of the file beyond which nothing is written before those.
pub(super) const HEADER: usize = 4_096;

/// A database that was never used is no larger, bytes.
pub(super) const NEW: u64 = 2 << 20;

/// Empties a file in which the making of a database was cut off, by a kill or by a disk without room. The database
/// would take it for a stranger's for ever.
pub(super) fn truncate_partial(file: &File) -> io::Result<()> {
    // Who has the lock may be about to write.
    if file.try_lock().is_ok() {
        if is_unfinished(file)? {
            file.set_len(0)?;
        }
        file.unlock()?;
    }
    Ok(())
}

/// Whether a database was begun in this file and nothing was ever kept. One that was damaged has something behind its
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
