//! What of a project is source, and whether it has changed so that a build is due.
//!
//! A build writes too, and often right beside the sources. Whoever took that for a change would build for ever; whoever
//! ignored all that happens during a build would lose what a person saves meanwhile. So what cargo writes is known, and
//! of other builds it is learnt: a file that appears while they run is theirs, and so is one that changes while one
//! after the other runs. When no build runs, every change counts.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::walk::{is_hidden, walk};
use crate::reload::Stamp;

/// Folders and files that nobody writes by hand, or that the server follows itself.
const NO_SOURCES: [&str; 7] = [
    "target",
    "node_modules",
    "__pycache__",
    "plugport-state",
    "plugport.toml",
    "plugport.lock",
    "4913", // what Vim tries whether it may write with
];

/// Ends of names of what builds make and of what editors write on the way.
const NO_SOURCE_ENDS: [&str; 8] = [".wasm", ".o", ".pyc", "~", ".tmp", ".swp", ".part", "#"];

/// Lies in folders that can be made anew at any time, such as cargo's wherever it was told to build.
const CACHE: &str = "CACHEDIR.TAG";

/// In how many builds one after the other a file changes before it is taken for what they make: one of which nothing is
/// known, and one that a person has changed before.
const PATIENCE: (u8, u8) = (2, 5);

/// The sources of one project.
#[derive(Debug, Clone)]
pub(super) struct Sources {
    root: PathBuf,
    /// Beside what is never one: places where this project's build, its server and its plugin write.
    others: Vec<PathBuf>,
}

/// How the sources look.
pub(super) struct Seen {
    pub(super) files: BTreeMap<PathBuf, Stamp>,
    pub(super) folders: BTreeSet<PathBuf>,
}

impl Sources {
    pub(super) fn new(root: PathBuf, others: impl IntoIterator<Item = PathBuf>) -> Self {
        // Whoever may write everywhere is no reason to see nothing.
        let others = others.into_iter().filter(|other| !root.starts_with(other)).collect();
        Self { root, others }
    }

    /// Whether a file is source, or a folder may hold some.
    pub(super) fn has(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.root) else { return false };
        let written = below.ancestors().filter(|part| part.file_name().is_some()).all(may_be_source);
        written && !self.others.iter().any(|other| belongs_to(path, other))
    }

    /// Looks at them all.
    pub(super) fn look(&self) -> Seen {
        let mut seen = Seen { files: BTreeMap::new(), folders: BTreeSet::new() };
        walk(
            &self.root,
            |path| !self.has(path) || path.join(CACHE).exists(),
            |path, is_folder| {
                if is_folder {
                    seen.folders.insert(path.to_owned());
                } else if let Some(stamp) = Stamp::of(path).ok().flatten() {
                    seen.files.insert(path.to_owned(), stamp);
                }
            },
        );
        seen
    }
}

fn may_be_source(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let known = NO_SOURCES.iter().any(|known| name == known.as_bytes());
    let ends = NO_SOURCE_ENDS.iter().any(|end| name.ends_with(end.as_bytes()));
    !known && !ends && !is_hidden(path)
}

/// Whether it is this file or lies below it; `audit.jsonl.1` belongs to `audit.jsonl`.
fn belongs_to(path: &Path, other: &Path) -> bool {
    let begins = || {
        let [name, of] = [path, other].map(|path| path.file_name().map(OsStr::as_encoded_bytes));
        let rest = name.zip(of).and_then(|(name, of)| name.strip_prefix(of));
        path.parent() == other.parent() && rest.is_some_and(|rest| rest.starts_with(b"."))
    };
    path.starts_with(other) || begins()
}

/// How the sources looked, and what builds have made among them.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    files: BTreeMap<PathBuf, Stamp>,
    /// What the build writes.
    made: BTreeSet<PathBuf>,
    /// Whether it may write what is not known yet.
    learns: bool,
    /// What changed while the last builds ran, and in how many of them.
    suspects: BTreeMap<PathBuf, u8>,
    /// What a person has changed for sure.
    persons: BTreeSet<PathBuf>,
}

impl Ledger {
    /// For a build that writes `made`; others are found out if it `learns`.
    pub(super) fn new(made: impl IntoIterator<Item = PathBuf>, learns: bool) -> Self {
        Self { made: made.into_iter().collect(), learns, ..Self::default() }
    }

    /// Notes how the sources look, and what a build is due for: none of them, and none is.
    pub(super) fn note(&mut self, files: BTreeMap<PathBuf, Stamp>, building: bool) -> Vec<PathBuf> {
        let gone = self.files.keys().filter(|path| !files.contains_key(*path));
        let here = files.iter().filter(|(path, stamp)| self.files.get(*path) != Some(*stamp));
        let mut changed: Vec<PathBuf> = here.map(|(path, _)| path).chain(gone).cloned().collect();
        let before = std::mem::replace(&mut self.files, files);
        if building {
            changed.retain(|path| self.is_persons(path, before.contains_key(path)));
        } else if !before.is_empty() {
            self.persons.extend(changed.iter().cloned());
        }
        changed
    }

    /// Whether a person, and not the build that runs, has changed this.
    fn is_persons(&mut self, path: &Path, was_there: bool) -> bool {
        if self.made.contains(path) {
            return false;
        }
        if !self.learns {
            return true;
        }
        let times = self.suspects.entry(path.to_owned()).or_default();
        *times += 1;
        let patience = if self.persons.contains(path) { PATIENCE.1 } else { PATIENCE.0 };
        let builds = !was_there || *times >= patience;
        if builds {
            self.made.insert(path.to_owned());
        }
        !builds
    }

    /// A build has ended, and nobody had changed anything meanwhile.
    pub(super) fn settled(&mut self) {
        self.suspects.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_write_is_no_source() {
        let others = ["/p/out/tool.bin", "/p/data", "/p/logs/audit.jsonl", "/"].map(PathBuf::from);
        let sources = Sources::new("/p".into(), others);
        for path in ["src/lib.rs", "Cargo.toml", "wit/plugin.wit", "targets/x", "out/tool.rs", "database"] {
            assert!(sources.has(&Path::new("/p").join(path)), "{path}");
        }
        for path in [
            "target/release/x.rs",
            "web/node_modules/a.js",
            ".git/HEAD",
            "src/.lib.rs.swp",
            "src/lib.rs~",
            "src/#lib.rs#",
            "src/4913",
            "plugport.toml",
            "plugport-state/kv",
            "plugin.wasm",
            "out/tool.bin",
            "data/note",
            "logs/audit.jsonl.1",
        ] {
            assert!(!sources.has(&Path::new("/p").join(path)), "{path}");
        }
        assert!(!sources.has(Path::new("/q/src/lib.rs")));
    }

    #[test]
    fn sources_are_found_with_their_folders() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for folder in ["src/deep", "target/x", "built/release"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in
            ["src/deep/a.rs", "target/x/b.rs", "Cargo.toml", "built/CACHEDIR.TAG", "built/release/c.d"]
        {
            std::fs::write(root.join(file), "x").unwrap();
        }
        let seen = Sources::new(root.to_owned(), []).look();
        let files: Vec<_> = seen.files.keys().map(|path| path.strip_prefix(root).unwrap()).collect();
        assert_eq!(files, [Path::new("Cargo.toml"), Path::new("src/deep/a.rs")]);
        assert_eq!(seen.folders.len(), 3);
    }

    /// Files with these lengths, as they look.
    fn looks(dir: &Path, files: &[(&str, usize)]) -> BTreeMap<PathBuf, Stamp> {
        let write = |(name, length): &(&str, usize)| {
            let path = dir.join(name);
            let text = "x".repeat(*length);
            if std::fs::read_to_string(&path).unwrap_or_default() != text {
                std::fs::write(&path, text).unwrap();
            }
            (PathBuf::from(name), Stamp::of(&path).unwrap().unwrap())
        };
        files.iter().map(write).collect()
    }

    #[test]
    fn a_build_that_writes_among_the_sources_does_not_trigger_itself() {
        let dir = tempfile::tempdir().unwrap();
        let look = |files: &[(&str, usize)]| looks(dir.path(), files);
        let mut ledger = Ledger::new([], true);
        assert_eq!(ledger.note(look(&[("a.py", 1), ("old.js", 1)]), false).len(), 2);
        // What is new is the build's; what was there may be a person's, once.
        assert_eq!(
            ledger.note(look(&[("a.py", 1), ("old.js", 2), ("new.js", 1)]), true),
            [Path::new("old.js")]
        );
        assert!(ledger.note(look(&[("a.py", 1), ("old.js", 3), ("new.js", 2)]), true).is_empty());
        ledger.settled();
        assert_eq!(
            ledger.note(look(&[("a.py", 2), ("old.js", 4)]), true),
            [Path::new("a.py")],
            "a person saves"
        );
        assert!(ledger.note(look(&[("a.py", 2), ("old.js", 4)]), false).is_empty());
        assert_eq!(
            ledger.note(look(&[("a.py", 2), ("old.js", 5)]), false),
            [Path::new("old.js")],
            "no build runs"
        );
        assert_eq!(ledger.note(look(&[("a.py", 2)]), false), [Path::new("old.js")], "deleted");
    }

    #[test]
    fn what_a_person_saves_while_builds_run_is_not_lost() {
        let dir = tempfile::tempdir().unwrap();
        let look = |length: usize| looks(dir.path(), &[("a.py", length)]);
        let mut ledger = Ledger::new([], true);
        ledger.note(look(1), false);
        assert_eq!(ledger.note(look(2), false).len(), 1);
        let counted = (3..20).filter(|length| !ledger.note(look(*length), true).is_empty()).count();
        assert_eq!(counted, 4, "but there is an end to it");
    }

    #[test]
    fn what_cargo_writes_is_known_and_nothing_else_is_its() {
        let dir = tempfile::tempdir().unwrap();
        let look = |files: &[(&str, usize)]| looks(dir.path(), files);
        let mut ledger = Ledger::new([PathBuf::from("Cargo.lock")], false);
        ledger.note(look(&[("a.rs", 1)]), false);
        assert!(ledger.note(look(&[("a.rs", 1), ("Cargo.lock", 1)]), true).is_empty());
        for length in 2..5 {
            assert_eq!(ledger.note(look(&[("a.rs", length), ("Cargo.lock", 1)]), true), [Path::new("a.rs")]);
        }
        let new = ledger.note(look(&[("a.rs", 4), ("b.rs", 1), ("Cargo.lock", 2)]), true);
        assert_eq!(new, [Path::new("b.rs")]);
        assert_eq!(ledger.note(look(&[("a.rs", 4), ("b.rs", 1), ("Cargo.lock", 3)]), false).len(), 1);
    }
}
