//! Files for a model to list, read and search, and nothing that writes. All of it works on the directories that the
//! operator granted; answers are bounded and say when something was left out, so that a model can ask for the rest.

mod grants;
mod text;

use globset::GlobBuilder;
use grep_regex::RegexMatcherBuilder;
use plugport_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use walkdir::{DirEntry, WalkDir};

use grants::FileError;

const MAX_PATHS: usize = 1_000;
const MAX_PATTERN_BYTES: usize = 4 << 20;

/// What there is.
#[derive(Debug, Serialize, JsonSchema)]
struct Paths {
    /// That of a directory ends with a slash.
    paths: Vec<String>,
    /// Whether there are more than are shown.
    truncated: bool,
}

impl Paths {
    fn of(mut entries: impl Iterator<Item = DirEntry>) -> Self {
        let told = |entry: DirEntry| {
            let slash = if entry.file_type().is_dir() { "/" } else { "" };
            format!("{}{slash}", entry.path().display())
        };
        let paths = entries.by_ref().take(MAX_PATHS).map(told).collect();
        Self { paths, truncated: entries.next().is_some() }
    }
}

/// List what a directory holds.
#[tool(read_only, idempotent)]
fn list(
    /// A directory, absolute or relative to the only granted one. Default: every granted directory.
    path: Option<String>,
) -> Result<Paths, FileError> {
    let walks = grants::roots(path.as_deref())?.into_iter().map(|root| WalkDir::new(root).max_depth(1));
    let entries = walks.flat_map(|walk| walk.sort_by_file_name()).flatten();
    Ok(Paths::of(entries.filter(|entry| entry.depth() > 0 || entry.file_type().is_file())))
}

/// Find files by name. Hidden directories, `target` and `node_modules` are skipped unless `path` names them.
#[tool(read_only, idempotent)]
fn find(
    /// `*.rs` by name, `src/**/*.{ts,tsx}` by the end of the path.
    glob: String,
    /// The directory to look in. Default: every granted directory.
    path: Option<String>,
) -> Result<Paths, FileError> {
    Ok(Paths::of(files(path.as_deref(), &glob)?))
}

/// Show a text file, or some of its lines. At most 64 KiB at a time; longer ones say where to continue.
#[tool(read_only, idempotent)]
fn read(
    /// A file, absolute or relative to the only granted directory.
    path: String,
    /// The first line to show.
    #[arg(default = 1)]
    start_line: u32,
    /// The last line to show. Default: the end of the file.
    end_line: Option<u32>,
) -> Result<Vec<Content>, FileError> {
    let bytes = text::load(&grants::resolve(&path)?)?;
    let end = end_line.map_or(usize::MAX, |line| line as usize);
    text::excerpt(&bytes, start_line as usize, end)
}

/// A line that matches.
#[derive(Debug, Serialize, JsonSchema)]
struct Match {
    path: String,
    /// Counted from 1.
    line: usize,
    /// The line, or the first 400 bytes of it.
    text: String,
}

/// What a search found.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Found {
    matches: Vec<Match>,
    files_searched: usize,
    /// Files that are binary, larger than 8 MiB or cannot be opened.
    files_skipped: usize,
    /// Whether the limit was reached, so that there may be more matches.
    truncated: bool,
}

/// Search files for lines that match a regular expression. Binary files are skipped, and hidden directories, `target`
/// and `node_modules` too unless `path` names them.
#[tool(read_only, idempotent)]
fn search(
    /// A regular expression, matched within lines: `fn \w+\(`.
    pattern: String,
    /// Where to look: a directory or a file. Default: every granted directory.
    path: Option<String>,
    /// Which files: `*.rs` by name, `src/**/*.{ts,tsx}` by the end of the path.
    #[arg(default = "*")]
    glob: String,
    /// Whether upper and lower case are the same.
    #[arg(default = false)]
    ignore_case: bool,
    /// How many matches to stop at, at most 500.
    #[arg(default = 100)]
    limit: u32,
) -> Result<Found, FileError> {
    let mut matcher = RegexMatcherBuilder::new();
    matcher.case_insensitive(ignore_case).multi_line(true).crlf(true);
    let matcher = matcher.size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES).build(&pattern)?;
    let limit = limit.clamp(1, 500) as usize;
    let mut found = Found::default();
    for entry in files(path.as_deref(), &glob)? {
        let Ok(bytes) = text::load(entry.path()) else {
            found.files_skipped += 1;
            continue;
        };
        found.files_searched += 1;
        for (line, text) in text::matching_lines(&matcher, &bytes) {
            found.matches.push(Match { path: entry.path().display().to_string(), line, text });
            if found.matches.len() == limit {
                return Ok(Found { truncated: true, ..found });
            }
        }
    }
    Ok(found)
}

/// The files below `path`, or in all that is granted, that `glob` names. Links are not followed.
fn files(path: Option<&str>, glob: &str) -> Result<impl Iterator<Item = DirEntry>, FileError> {
    let glob = if glob.starts_with('/') { glob.to_owned() } else { format!("**/{glob}") };
    let glob = GlobBuilder::new(&glob).literal_separator(true).build()?.compile_matcher();
    let walks = grants::roots(path)?.into_iter().map(|root| WalkDir::new(root).sort_by_file_name());
    let entries = walks.flat_map(|walk| walk.into_iter().filter_entry(|entry| !is_passed_by(entry)));
    Ok(entries.flatten().filter(move |entry| entry.file_type().is_file() && glob.is_match(entry.path())))
}

/// Whether `entry` is a directory that version control or a build leaves behind.
fn is_passed_by(entry: &DirEntry) -> bool {
    let left_behind = |name: &str| name.starts_with('.') || name == "target" || name == "node_modules";
    entry.depth() > 0 && entry.file_type().is_dir() && entry.file_name().to_str().is_some_and(left_behind)
}

plugport_sdk::export! { tools: [list, read, search, find] }

#[cfg(test)]
mod tests;
