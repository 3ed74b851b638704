//! Files as text. A file is read in one go and searched as a whole, since calls to the host and work per line are what
//! costs fuel; so its size is bounded, and what is too large or not text is rejected.

use std::path::Path;
use std::{fs, iter};

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use memchr::{memchr, memchr_iter, memrchr};
use plugport_sdk::Content;

use crate::grants::FileError;

const MAX_FILE_BYTES: u64 = 8 << 20;
/// What one `read` shows: more would fill a model's context with one answer.
const MAX_SHOWN_BYTES: usize = 64 << 10;
/// A longer line is generated, and one could fill the answer of a search.
const MAX_LINE_BYTES: usize = 400;

pub(crate) fn load(path: &Path) -> Result<Vec<u8>, FileError> {
    let unopened = |error| FileError::Unopened(path.display().to_string(), error);
    let rejected = |what| Err(FileError::NotText(path.display().to_string(), what));
    let metadata = path.metadata().map_err(unopened)?;
    if metadata.is_dir() {
        return rejected("a directory; `list` shows what is in it");
    }
    if metadata.len() > MAX_FILE_BYTES {
        return rejected("larger than 8 MiB and not read");
    }
    let bytes = fs::read(path).map_err(unopened)?;
    if memchr(0, &bytes).is_some() { rejected("binary and cannot be shown as text") } else { Ok(bytes) }
}

/// Lines `start` to `end`, counted from 1, as far as they fit, and a note of what is missing.
pub(crate) fn excerpt(bytes: &[u8], start: usize, end: usize) -> Result<Vec<Content>, FileError> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let total = lines.clone().count();
    let (mut shown, mut last) = (Vec::new(), 0);
    for (number, line) in (1..=end).zip(lines).skip(start.saturating_sub(1)) {
        if number > start && shown.len() + line.len() > MAX_SHOWN_BYTES {
            break;
        }
        shown.extend_from_slice(line);
        last = number;
    }
    if total > 0 && (start == 0 || last == 0) {
        return Err(FileError::Lines(total));
    }
    let mut note = format!("[lines {start} to {last} of {total}");
    if shown.len() > MAX_SHOWN_BYTES {
        note += &format!("; line {last} was cut at 64 KiB");
        shown.truncate(MAX_SHOWN_BYTES);
    }
    if last < end.min(total) {
        note += &format!("; truncated, continue at start_line {}", last + 1);
    }
    let note = (shown.len() < bytes.len()).then(|| Content::text(note + "]"));
    Ok([Content::text(String::from_utf8_lossy(&shown))].into_iter().chain(note).collect())
}

/// The lines that match, and their numbers. The pattern cannot match across the end of a line, so that it runs over the
/// whole file, and lines are looked at only where it matched.
pub(crate) fn matching_lines(matcher: &RegexMatcher, bytes: &[u8]) -> impl Iterator<Item = (usize, String)> {
    let (mut at, mut line) = (0, 0);
    iter::from_fn(move || {
        let found = (at < bytes.len()).then(|| matcher.find_at(bytes, at).ok()?)??;
        let start = memrchr(b'\n', bytes.get(..found.start())?).map_or(0, |newline| newline + 1);
        let end = start + memchr(b'\n', bytes.get(start..)?).unwrap_or(bytes.len() - start);
        line += memchr_iter(b'\n', bytes.get(at..start)?).count() + 1;
        at = end + 1;
        // An empty pattern matches after the last line break too, where no line is.
        let text = bytes.get(start..end).filter(|_| start < bytes.len())?;
        let text = String::from_utf8_lossy(text.get(..MAX_LINE_BYTES).unwrap_or(text));
        Some((line, text.trim_end_matches('\r').to_owned()))
    })
}
