//! Files as text. A file is read in one go, since every call to the host has its price; so its size is bounded, and what
//! is too large or not text is refused by name.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use memchr::{memchr, memchr_iter, memrchr};

use crate::grants::{FileError, Grants};

const MAX_FILE_BYTES: u64 = 8 << 20;
/// What one `read` shows: more would fill a model's context with one answer.
const MAX_SHOWN_BYTES: usize = 64 << 10;
/// Where a NUL is looked for: text has none, and nearly all binary formats have one early.
const SNIFFED_BYTES: usize = 8 << 10;

pub(crate) fn load(grants: &Grants, path: &Path) -> Result<Vec<u8>, FileError> {
    let open = || File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    let explain = |error: io::Error| grants.explain(path, error);
    let (metadata, file) = open().map_err(explain)?;
    let name = path.display().to_string();
    if metadata.is_dir() {
        return Err(FileError::Directory(name));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(FileError::TooLarge(name, metadata.len()));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(explain)?;
    match memchr(0, bytes.get(..SNIFFED_BYTES).unwrap_or(&bytes)) {
        Some(_) => Err(FileError::Binary(name, bytes.len())),
        None => Ok(bytes),
    }
}

/// Lines `start` to `end`, counted from 1, as far as they fit, and what is missing. Nothing when there are no such lines.
pub(crate) fn excerpt(bytes: &[u8], start: usize, end: Option<usize>) -> Option<(&[u8], Option<String>)> {
    let total = count_lines(bytes);
    let end = end.map_or(total.max(1), |end| end.min(total));
    let skipped = start.checked_sub(1).filter(|_| start <= end)?;
    let wanted = bytes.get(after_lines(bytes, skipped)..after_lines(bytes, end))?;
    let shown = fitting(wanted);
    let last = skipped + count_lines(shown).max(1);
    let is_cut = shown.len() < wanted.len() && !shown.ends_with(b"\n");
    let missing = match (is_cut, last < end) {
        (true, true) => {
            format!("; line {last} is longer than 64 KiB and was cut; continue at start_line {}", last + 1)
        }
        (true, false) => format!("; line {last} is longer than 64 KiB and was cut"),
        (false, true) => format!("; truncated, continue at start_line {}", last + 1),
        (false, false) if shown.len() == bytes.len() => return Some((shown, None)),
        (false, false) => String::new(),
    };
    Some((shown, Some(format!("lines {start} to {last} of {total}{missing}"))))
}

/// Whole lines as far as they fit; the beginning of the first one when not even that does.
fn fitting(bytes: &[u8]) -> &[u8] {
    let head = bytes.get(..MAX_SHOWN_BYTES).unwrap_or(bytes);
    match memrchr(b'\n', head).and_then(|end| head.get(..=end)) {
        Some(lines) if head.len() < bytes.len() => lines,
        _ => head,
    }
}

pub(crate) fn count_lines(bytes: &[u8]) -> usize {
    let open_end = bytes.last().is_some_and(|byte| *byte != b'\n');
    memchr_iter(b'\n', bytes).count() + usize::from(open_end)
}

/// Where the first `count` lines end.
fn after_lines(bytes: &[u8], count: usize) -> usize {
    let last = count.checked_sub(1);
    last.map_or(0, |last| memchr_iter(b'\n', bytes).nth(last).map_or(bytes.len(), |end| end + 1))
}
