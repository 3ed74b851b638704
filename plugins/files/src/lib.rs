//! Files for a model to list, read and search, and nothing that writes. All of it works on the directories that the
//! operator granted; answers are bounded and say what was left out, so that a model can ask for the rest.

mod content;
mod grants;
mod matching;
mod walk;

use std::ops::ControlFlow::{Break, Continue};

use plugport_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use grants::{FileError, Grants};
use matching::{Match, Search};
use walk::{Glob, walk};
use walkdir::DirEntry;

const MAX_DEPTH: usize = 64;
const MAX_LISTED: usize = 1_000;
const MAX_MATCHES: u32 = 1_000;
const MAX_CONTEXT: u32 = 10;
/// Files that could not be searched, named in one answer.
const MAX_NOTES: usize = 20;

/// What a directory holds.
#[derive(Debug, Serialize, JsonSchema)]
struct Listing {
    entries: Vec<Item>,
    /// What was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// One entry of a directory.
#[derive(Debug, Serialize, JsonSchema)]
struct Item {
    path: String,
    /// `file`, `directory`, `link` or `other`.
    kind: &'static str,
    /// The size of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

/// List what a directory holds. Hidden directories, `target` and `node_modules` are named, but not entered.
#[tool(read_only, idempotent)]
fn list(
    /// A directory, absolute or relative to the only granted one. Default: every granted directory.
    path: Option<String>,
    /// How many levels to show.
    #[arg(default = 1)]
    depth: u32,
) -> Result<Listing, FileError> {
    let grants = Grants::current()?;
    let (mut entries, mut listed_file) = (Vec::new(), None);
    let depth = (depth as usize).clamp(1, MAX_DEPTH);
    let note = walk(&grants, path.as_deref(), depth, |_, entry| {
        match entry.depth() {
            0 if !entry.file_type().is_dir() => listed_file = Some(entry.path().display().to_string()),
            0 => {}
            _ if entries.len() == MAX_LISTED => {
                return Break(format!("only the first {MAX_LISTED} are shown"));
            }
            _ => entries.push(Item::from(entry)),
        }
        Continue(())
    })?;
    match listed_file {
        Some(file) => Err(FileError::NotDirectory(file)),
        None => Ok(Listing { entries, note }),
    }
}

impl From<&DirEntry> for Item {
    fn from(entry: &DirEntry) -> Self {
        let kind = match entry.file_type() {
            kind if kind.is_file() => "file",
            kind if kind.is_dir() => "directory",
            kind if kind.is_symlink() => "link",
            _ => "other",
        };
        let bytes = entry.metadata().ok().filter(|_| kind == "file").map(|metadata| metadata.len());
        Self { path: entry.path().display().to_string(), kind, bytes }
    }
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
    let grants = Grants::current()?;
    let path = grants.resolve(&path)?;
    let bytes = content::load(&grants, &path)?;
    let shown = content::excerpt(&bytes, start_line as usize, end_line.map(|line| line as usize));
    let (text, note) =
        shown.ok_or_else(|| FileError::Lines(path.display().to_string(), content::count_lines(&bytes)))?;
    let note = note.map(|note| Content::text(format!("[{note}]")));
    Ok([Content::text(String::from_utf8_lossy(text))].into_iter().chain(note).collect())
}

/// What a search found.
#[derive(Debug, Serialize, JsonSchema)]
struct Found {
    matches: Vec<Match>,
    files_searched: usize,
    binary_files_skipped: usize,
    /// What was left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// Search files for lines that match a regular expression. Binary files are skipped, and hidden directories, `target` and
/// `node_modules` too unless `path` names them.
#[tool(read_only, idempotent)]
fn search(
    /// A regular expression, matched within lines: `fn \w+\(`.
    pattern: String,
    /// Where to look: a directory or a file. Default: every granted directory.
    path: Option<String>,
    /// Which files: `*.rs` by name, `src/**/*.{ts,tsx}` by path below `path`.
    #[arg(default = "*")]
    glob: String,
    /// Whether upper and lower case are the same.
    #[arg(default = false)]
    ignore_case: bool,
    /// How many lines to show around each match, at most 10.
    #[arg(default = 0)]
    context: u32,
    /// How many matches to stop at, at most 1000.
    #[arg(default = 100)]
    limit: u32,
) -> Result<Found, FileError> {
    let grants = Grants::current()?;
    let glob = Glob::new(&glob)?;
    let (context, limit) = (context.min(MAX_CONTEXT), limit.clamp(1, MAX_MATCHES));
    let mut search = Search::new(&pattern, ignore_case, context as usize, limit as usize)?;
    let (mut searched, mut binary, mut notes) = (0, 0, Vec::new());
    let note = walk(&grants, path.as_deref(), MAX_DEPTH, |root, entry| {
        if !entry.file_type().is_file() || !glob.matches(root, entry.path()) {
            return Continue(());
        }
        match content::load(&grants, entry.path()) {
            Ok(bytes) => {
                searched += 1;
                search.file(entry.path(), &bytes);
            }
            Err(FileError::Binary(..)) => binary += 1,
            Err(error) if notes.len() < MAX_NOTES => notes.push(error.to_string()),
            Err(_) => {}
        }
        match search.is_full() {
            true => Break("the limit was reached; there may be more matches".to_owned()),
            false => Continue(()),
        }
    })?;
    notes.extend(note);
    Ok(Found { matches: search.matches, files_searched: searched, binary_files_skipped: binary, notes })
}

/// Files by name.
#[derive(Debug, Serialize, JsonSchema)]
struct Paths {
    paths: Vec<String>,
    /// What was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Find files by name. Hidden directories, `target` and `node_modules` are skipped unless `path` names them.
#[tool(read_only, idempotent)]
fn find(
    /// `*.rs` by name, `src/**/*.{ts,tsx}` by path below `path`.
    glob: String,
    /// The directory to look in. Default: every granted directory.
    path: Option<String>,
) -> Result<Paths, FileError> {
    let grants = Grants::current()?;
    let glob = Glob::new(&glob)?;
    let mut paths = Vec::new();
    let note = walk(&grants, path.as_deref(), MAX_DEPTH, |root, entry| {
        match entry.file_type().is_file() && glob.matches(root, entry.path()) {
            true if paths.len() == MAX_LISTED => {
                return Break(format!("only the first {MAX_LISTED} are shown"));
            }
            true => paths.push(entry.path().display().to_string()),
            false => {}
        }
        Continue(())
    })?;
    Ok(Paths { paths, note })
}

plugport_sdk::export! { tools: [list, read, search, find] }

#[cfg(test)]
mod tests;
