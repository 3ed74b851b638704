//! One walk for all tools. It cannot get lost: links are shown and not followed, what version control and builds leave
//! behind is not entered, and the number of entries is bounded.

use std::ops::ControlFlow;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use walkdir::{DirEntry, WalkDir};

use crate::grants::{FileError, Grants};

const MAX_ENTRIES: usize = 100_000;

/// Visits what is below `path`, or below every granted directory, in the order of names; a file visits itself. Tells what
/// was left out: what `visit` says as it ends the walk, or what the walk met with.
pub(crate) fn walk(
    grants: &Grants,
    path: Option<&str>,
    depth: usize,
    mut visit: impl FnMut(&Path, &DirEntry) -> ControlFlow<String>,
) -> Result<Option<String>, FileError> {
    let (mut seen, mut unreadable) = (0, 0);
    for root in grants.roots(path)? {
        let mut ahead = WalkDir::new(&root).max_depth(depth).sort_by_file_name().into_iter();
        while let Some(next) = ahead.next() {
            let entry = match next {
                Ok(entry) => entry,
                Err(error) if error.depth() == 0 => return Err(grants.explain(&root, error.into())),
                Err(_) => {
                    unreadable += 1;
                    continue;
                }
            };
            seen += 1;
            if seen > MAX_ENTRIES {
                return Ok(Some(format!("stopped after {MAX_ENTRIES} entries; give a `path` further down")));
            }
            if is_passed_by(&entry) {
                ahead.skip_current_dir();
            }
            if let ControlFlow::Break(note) = visit(&root, &entry) {
                return Ok(Some(note));
            }
        }
    }
    Ok((unreadable > 0).then(|| format!("{unreadable} entries could not be read")))
}

fn is_passed_by(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    let left_behind = name.starts_with('.') || name == "target" || name == "node_modules";
    left_behind && entry.depth() > 0 && entry.file_type().is_dir()
}

/// A glob as people mean it: without a slash about names, with one about paths below where the walk began.
pub(crate) struct Glob(GlobMatcher);

impl Glob {
    pub(crate) fn new(text: &str) -> Result<Self, FileError> {
        let text = if text.contains('/') { text.to_owned() } else { format!("**/{text}") };
        Ok(Self(GlobBuilder::new(&text).literal_separator(true).build()?.compile_matcher()))
    }

    /// Paths of the model's may be absolute, and so may its globs.
    pub(crate) fn matches(&self, root: &Path, path: &Path) -> bool {
        self.0.is_match(path) || path.strip_prefix(root).is_ok_and(|below| self.0.is_match(below))
    }
}
