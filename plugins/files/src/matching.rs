//! Search by line, without going line by line: the matcher is built so that it cannot match across the end of a line, runs
//! over the whole file, and lines are counted between matches only. Time is linear in the text for every pattern.

use std::path::Path;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use memchr::{memchr, memchr_iter, memrchr};
use schemars::JsonSchema;
use serde::Serialize;

use crate::grants::FileError;

const MAX_PATTERN_BYTES: usize = 4 << 20;
/// A longer line is generated, and one could fill the answer.
const MAX_LINE_BYTES: usize = 400;
const MAX_ANSWER_BYTES: usize = 256 << 10;

/// A line that matches.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Match {
    path: String,
    /// Counted from 1.
    line: usize,
    text: String,
    /// The lines around it and itself, when asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    context: Vec<String>,
}

/// A search under way.
pub(crate) struct Search {
    matcher: RegexMatcher,
    context: usize,
    limit: usize,
    bytes: usize,
    pub(crate) matches: Vec<Match>,
}

impl Search {
    pub(crate) fn new(
        pattern: &str,
        ignore_case: bool,
        context: usize,
        limit: usize,
    ) -> Result<Self, FileError> {
        let mut matcher = RegexMatcherBuilder::new();
        matcher.case_insensitive(ignore_case).multi_line(true).crlf(true);
        matcher.size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES);
        Ok(Self { matcher: matcher.build(pattern)?, context, limit, bytes: 0, matches: Vec::new() })
    }

    pub(crate) fn is_full(&self) -> bool {
        self.matches.len() >= self.limit || self.bytes >= MAX_ANSWER_BYTES
    }

    pub(crate) fn file(&mut self, path: &Path, bytes: &[u8]) {
        let (mut at, mut line, mut counted) = (0, 1, 0);
        while at < bytes.len() && !self.is_full() {
            let Ok(Some(found)) = self.matcher.find_at(bytes, at) else { return };
            let (start, end) = line_around(bytes, found.start());
            // An empty pattern matches after the last line break too, where no line is.
            if start == bytes.len() {
                return;
            }
            line += memchr_iter(b'\n', slice(bytes, counted, start)).count();
            let context = self.around(bytes, start, end);
            let found = Match {
                path: path.display().to_string(),
                line,
                text: cut(slice(bytes, start, end)),
                context,
            };
            self.bytes +=
                found.path.len() + found.text.len() + found.context.iter().map(String::len).sum::<usize>();
            self.matches.push(found);
            (at, counted) = (end + 1, start);
        }
    }

    fn around(&self, bytes: &[u8], mut start: usize, mut end: usize) -> Vec<String> {
        if self.context == 0 {
            return Vec::new();
        }
        for _ in 0..self.context {
            start = line_around(bytes, start.saturating_sub(1)).0;
            end = if end + 1 < bytes.len() { line_around(bytes, end + 1).1 } else { end };
        }
        slice(bytes, start, end).split(|byte| *byte == b'\n').map(cut).collect()
    }
}

/// Where the line that holds `at` begins and ends, its line break excluded.
fn line_around(bytes: &[u8], at: usize) -> (usize, usize) {
    let start = memrchr(b'\n', slice(bytes, 0, at)).map_or(0, |newline| newline + 1);
    let end = memchr(b'\n', slice(bytes, at, bytes.len())).map_or(bytes.len(), |newline| at + newline);
    (start, end)
}

fn slice(bytes: &[u8], start: usize, end: usize) -> &[u8] {
    bytes.get(start..end).unwrap_or_default()
}

fn cut(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let shown = line.get(..MAX_LINE_BYTES).unwrap_or(line);
    let end = if shown.len() < line.len() { "…" } else { "" };
    String::from_utf8_lossy(shown).into_owned() + end
}
