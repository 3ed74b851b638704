//! Tells a database file whose creation was cut off from one that was damaged.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Bytes at the start of the file, which redb writes last when it makes the file.
pub(super) const MAGIC: usize = 9;

/// Bytes at the start of the file; redb writes nothing behind them before it writes [`MAGIC`].
pub(super) const HEADER: usize = 4_096;

/// Largest size of a database that was never used, bytes.
pub(super) const NEW: u64 = 2 << 20;

/// Empties a file in which the creation of a database was cut off, by a kill or by a full disk. Without this, redb
/// would never open it.
pub(super) fn truncate_partial(file: &File) -> io::Result<()> {
    // A process that has the lock may be about to write.
    if file.try_lock().is_ok() {
        if is_unfinished(file)? {
            file.set_len(0)?;
        }
        file.unlock()?;
    }
    Ok(())
}

/// Whether a database was begun in this file and never finished. A damaged database has data behind its header.
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
