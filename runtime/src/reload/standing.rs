//! What the folder knows that the catalog does not: files that are not served and why, versions that were replaced and still
//! have calls under way, and what of all that decides could not be followed.
//!
//! The catalog has only what is offered, so that no call passes what is of no use to it. This is written to by whoever follows
//! the folder and read by whoever tells an operator. A version that was replaced is kept alive by its calls alone: here it is
//! only known, until the last of them has ended or its time to drain is over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::config::Pin;
use crate::observe::brief;
use crate::plugin::Plugin;

/// Longest reason that is kept, bytes.
const WHY: usize = 1 << 10;

/// What is known of one folder.
#[derive(Debug)]
pub struct Standing {
    most: usize,
    pin: Mutex<Pin>,
    files: Mutex<BTreeMap<PathBuf, Unserved>>,
    problems: Mutex<BTreeMap<Kind, String>>,
    replaced: Mutex<Vec<Replaced<Plugin>>>,
}

/// What is followed besides the plugins' own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The folder of the plugins.
    Folder,
    /// The configuration.
    Configuration,
    /// What was approved.
    Lock,
}

impl Kind {
    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Folder => "folder",
            Self::Configuration => "configuration",
            Self::Lock => "lock",
        }
    }
}

/// Something that cannot be followed now. What it said before holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What.
    pub kind: Kind,
    /// What is wrong and what to do, on one line; the beginning of it.
    pub why: String,
}

/// A file of which nothing is served, or not what it holds now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unserved {
    /// The file.
    pub path: PathBuf,
    /// The plugin's name, if the file's name is one.
    pub plugin: Option<String>,
    /// What is wrong and what to do; the beginning of it.
    pub why: String,
    /// It could be served, and waits for someone to approve it.
    pub held: bool,
    /// SHA-256 of what was read, as lower-case hex.
    pub digest: Option<String>,
}

/// Everything that is known at one moment.
#[derive(Debug, Default)]
pub struct Known {
    /// Files, in the order of their names.
    pub unserved: Vec<Unserved>,
    /// Versions that were replaced or taken away and have calls under way, the oldest first.
    pub draining: Vec<Arc<Plugin>>,
    /// What cannot be followed, each kind once.
    pub problems: Vec<Problem>,
}

/// A version that has had its time.
trait Version {
    fn is_busy(&self) -> bool;
    fn retire(&self);
}

impl Version for Plugin {
    fn is_busy(&self) -> bool {
        self.running() > 0
    }

    fn retire(&self) {
        self.retire();
    }
}

#[derive(Debug)]
struct Replaced<V> {
    version: Weak<V>,
    since: Instant,
    is_retired: bool,
}

impl Standing {
    /// Knows nothing yet, and never more than `most` files.
    #[must_use]
    pub fn new(most: usize, pin: Pin) -> Self {
        let (files, problems, replaced) = Default::default();
        Self { most, pin: Mutex::new(pin), files, problems, replaced }
    }

    /// Plugins are compared with what was approved as strictly as this.
    pub fn judged(&self, pin: Pin) {
        *self.pin.lock().unwrap_or_else(PoisonError::into_inner) = pin;
    }

    /// How strictly they are.
    #[must_use]
    pub fn pin(&self) -> Pin {
        *self.pin.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This cannot be followed, and stands as it was; `why` may have several lines.
    pub fn problem(&self, kind: Kind, why: String) {
        let lines: Vec<&str> = why.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let why = brief(WHY, format_args!("{}", lines.join("; ")));
        self.problems().insert(kind, why);
    }

    /// This can be followed, or can be again.
    pub fn solved(&self, kind: Kind) {
        self.problems().remove(&kind);
    }

    /// A file was looked into and is not served; `held` until someone approves it.
    pub fn refused(&self, path: &Path, plugin: Option<&str>, why: &str, held: bool, digest: Option<String>) {
        let (why, plugin) = (brief(WHY, format_args!("{why}")), plugin.map(ToOwned::to_owned));
        let file = Unserved { path: path.to_owned(), plugin, why, held, digest };
        let mut files = self.files();
        if files.len() < self.most || files.contains_key(path) {
            files.insert(path.to_owned(), file);
        }
    }

    /// What the file holds now is served.
    pub fn served(&self, path: &Path) {
        self.files().remove(path);
    }

    /// The file is gone.
    pub fn gone(&self, path: &Path) {
        self.files().remove(path);
    }

    /// A plugin was taken out of the catalog: another version has its place, or none.
    pub fn replaced(&self, plugin: &Arc<Plugin>) {
        plugin.replaced();
        note(&mut self.old(), plugin, Instant::now());
    }

    /// Retires the versions whose time of `drain` is over. When to ask again, if there is a reason to.
    pub fn retire(&self, drain: Duration) -> Option<Instant> {
        retire(&mut self.old(), drain, Instant::now())
    }

    /// What is known now.
    #[must_use]
    pub fn snapshot(&self) -> Known {
        let unserved = self.files().values().cloned().collect();
        let mut draining: Vec<_> = self.old().iter().filter_map(|old| old.version.upgrade()).collect();
        draining.retain(|plugin| plugin.is_busy());
        let problems =
            self.problems().iter().map(|(&kind, why)| Problem { kind, why: why.clone() }).collect();
        Known { unserved, draining, problems }
    }

    fn problems(&self) -> MutexGuard<'_, BTreeMap<Kind, String>> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Unserved>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn old(&self) -> MutexGuard<'_, Vec<Replaced<Plugin>>> {
        self.replaced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes a version, and forgets those that are gone: what is left is held by calls, of which there are never many.
fn note<V: Version>(old: &mut Vec<Replaced<V>>, version: &Arc<V>, now: Instant) {
    old.retain(|known| known.version.strong_count() > 0);
    let version = Arc::downgrade(version);
    if !old.iter().any(|known| known.version.ptr_eq(&version)) {
        old.push(Replaced { version, since: now, is_retired: false });
    }
}

fn retire<V: Version>(old: &mut Vec<Replaced<V>>, drain: Duration, now: Instant) -> Option<Instant> {
    old.retain(|known| known.version.strong_count() > 0);
    for known in old.iter_mut().filter(|known| !known.is_retired && known.since + drain <= now) {
        known.is_retired = true;
        if let Some(version) = known.version.upgrade() {
            version.retire();
        }
    }
    old.iter().filter(|known| !known.is_retired).map(|known| known.since + drain).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[derive(Default)]
    struct Fake(AtomicBool);

    impl Version for Fake {
        fn is_busy(&self) -> bool {
            true
        }

        fn retire(&self) {
            assert!(!self.0.swap(true, Ordering::Relaxed), "retired twice");
        }
    }

    fn refuse(standing: &Standing, path: &str, why: &str) {
        standing.refused(Path::new(path), Some("a"), why, false, None);
    }

    #[test]
    fn a_file_is_known_until_it_is_served_or_gone() {
        let standing = Standing::new(2, Pin::Off);
        refuse(&standing, "b.wasm", "first");
        refuse(&standing, "a.wasm", "other");
        refuse(&standing, "b.wasm", "second");
        refuse(&standing, "c.wasm", "one too many");
        let known: Vec<_> = standing.snapshot().unserved.into_iter().map(|file| file.why).collect();
        assert_eq!(known, ["other", "second"]);
        standing.served(Path::new("a.wasm"));
        standing.gone(Path::new("b.wasm"));
        assert!(standing.snapshot().unserved.is_empty());
        refuse(&standing, "c.wasm", &"x".repeat(9_000));
        assert!(standing.snapshot().unserved[0].why.len() < 2_000);
    }

    #[test]
    fn what_cannot_be_followed_is_known_until_it_can_be() {
        let standing = Standing::new(2, Pin::Off);
        standing.problem(Kind::Lock, "x".repeat(9_000));
        standing.problem(Kind::Configuration, "1 mistake\n".to_owned());
        standing.problem(
            Kind::Configuration,
            "2 mistakes; mend them\n  a.toml:1: one\n\n  a.toml:2: two".to_owned(),
        );
        standing.solved(Kind::Folder);
        let problems = standing.snapshot().problems;
        let [configuration, lock] = problems.as_slice() else { panic!("{problems:?}") };
        assert_eq!(configuration.why, "2 mistakes; mend them; a.toml:1: one; a.toml:2: two");
        assert!(lock.kind == Kind::Lock && lock.why.len() < 2_000);
        standing.solved(Kind::Lock);
        standing.solved(Kind::Configuration);
        assert!(standing.snapshot().problems.is_empty());
    }

    #[test]
    fn a_version_is_retired_once_when_its_time_is_over() {
        let (start, drain) = (Instant::now(), Duration::from_secs(10));
        let after = |s| start + Duration::from_secs(s);
        let (first, second) = (Arc::new(Fake::default()), Arc::new(Fake::default()));
        let mut old = Vec::new();
        note(&mut old, &first, start);
        note(&mut old, &first, after(1));
        note(&mut old, &second, after(2));
        assert_eq!(retire(&mut old, drain, after(9)), Some(after(10)));
        assert_eq!(retire(&mut old, drain, after(10)), Some(after(12)));
        assert!(first.0.load(Ordering::Relaxed) && !second.0.load(Ordering::Relaxed));
        assert_eq!(old.len(), 2, "it may still have calls that end");
        drop(first);
        assert_eq!(retire(&mut old, drain, after(12)), None);
        assert_eq!(old.len(), 1);
        drop(second);
        note(&mut old, &Arc::new(Fake::default()), after(13));
        assert_eq!(retire(&mut old, drain, after(13)), None, "it had no calls");
    }
}
