//! What operators are told beyond the catalog: files that are not served and why, versions that were replaced and still
//! have calls under way, and what of all that decides could not be followed.
//!
//! The catalog has only what is published, so that no call passes what is of no use to it. This is written to by
//! whoever follows the folder and read by whoever tells an operator. A version that was replaced is kept alive by its
//! calls alone: here it is only known, until the last of them has ended or its time to drain is over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::config::ApprovalMode;
use crate::observe::truncate;
use crate::plugin::Plugin;

/// Longest reason that is kept, bytes.
const WHY: usize = 1 << 10;

/// What is known of one folder.
#[derive(Debug)]
pub struct LoadStatus {
    most: usize,
    approval_mode: Mutex<ApprovalMode>,
    files: Mutex<BTreeMap<PathBuf, RejectedVersion>>,
    problems: Mutex<BTreeMap<ProblemSource, String>>,
    replaced: Mutex<Vec<ReplacedVersion<Plugin>>>,
}

/// What is followed besides the plugins' own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemSource {
    /// The folder of the plugins.
    Folder,
    /// The configuration.
    Configuration,
    /// What was approved.
    Lock,
}

impl ProblemSource {
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
    pub kind: ProblemSource,
    /// What is wrong and what to do, on one line; the beginning of it.
    pub why: String,
}

/// A file of which nothing is served, or not what it holds now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedVersion {
    /// The file.
    pub path: PathBuf,
    /// The plugin's name, if the file's name is one.
    pub plugin: Option<String>,
    /// What is wrong and what to do; the beginning of it.
    pub why: String,
    /// It could be served, and waits for someone to approve it.
    pub pending_approval: bool,
    /// SHA-256 of what was read, as lower-case hex.
    pub digest: Option<String>,
}

/// Everything that is known at one moment.
#[derive(Debug, Default)]
pub struct StatusSnapshot {
    /// Files, in the order of their names.
    pub rejected: Vec<RejectedVersion>,
    /// Versions that were replaced or taken away and have calls under way, the oldest first.
    pub draining: Vec<Arc<Plugin>>,
    /// What cannot be followed, each kind once.
    pub problems: Vec<Problem>,
}

/// A version that has had its time.
trait DrainingVersion {
    fn is_busy(&self) -> bool;
    fn retire(&self);
}

impl DrainingVersion for Plugin {
    fn is_busy(&self) -> bool {
        self.running() > 0
    }

    fn retire(&self) {
        self.end_drain();
    }
}

#[derive(Debug)]
struct ReplacedVersion<V> {
    version: Weak<V>,
    since: Instant,
    is_retired: bool,
}

impl LoadStatus {
    /// Knows nothing yet, and never more than `most` files.
    #[must_use]
    pub fn new(most: usize, mode: ApprovalMode) -> Self {
        let (files, problems, replaced) = Default::default();
        Self { most, approval_mode: Mutex::new(mode), files, problems, replaced }
    }

    /// Plugins are compared with what was approved as strictly as this.
    pub fn set_approval_mode(&self, mode: ApprovalMode) {
        *self.approval_mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// How strictly they are.
    #[must_use]
    pub fn approval_mode(&self) -> ApprovalMode {
        *self.approval_mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This cannot be followed, and stands as it was; `why` may have several lines.
    pub fn set_problem(&self, kind: ProblemSource, why: String) {
        let lines: Vec<&str> = why.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let why = truncate(WHY, format_args!("{}", lines.join("; ")));
        self.problems().insert(kind, why);
    }

    /// This can be followed, or can be again.
    pub fn clear_problem(&self, kind: ProblemSource) {
        self.problems().remove(&kind);
    }

    /// A file was rejected; `pending_approval`: until someone approves it.
    pub fn file_rejected(
        &self,
        path: &Path,
        plugin: Option<&str>,
        why: &str,
        pending_approval: bool,
        digest: Option<String>,
    ) {
        let (why, plugin) = (truncate(WHY, format_args!("{why}")), plugin.map(ToOwned::to_owned));
        let file = RejectedVersion { path: path.to_owned(), plugin, why, pending_approval, digest };
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
        plugin.drop_idle_instances();
        add_draining(&mut self.old(), plugin, Instant::now());
    }

    /// Retires the versions whose time of `drain` is over. When to ask again, if there is a reason to.
    pub fn retire(&self, drain: Duration) -> Option<Instant> {
        retire(&mut self.old(), drain, Instant::now())
    }

    /// What is known now.
    #[must_use]
    pub fn snapshot(&self) -> StatusSnapshot {
        let rejected = self.files().values().cloned().collect();
        let mut draining: Vec<_> = self.old().iter().filter_map(|old| old.version.upgrade()).collect();
        draining.retain(|plugin| plugin.is_busy());
        let problems =
            self.problems().iter().map(|(&kind, why)| Problem { kind, why: why.clone() }).collect();
        StatusSnapshot { rejected, draining, problems }
    }

    fn problems(&self) -> MutexGuard<'_, BTreeMap<ProblemSource, String>> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, RejectedVersion>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn old(&self) -> MutexGuard<'_, Vec<ReplacedVersion<Plugin>>> {
        self.replaced.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes a version, and forgets those that are gone: what is left is held by calls, of which there are never many.
fn add_draining<V: DrainingVersion>(old: &mut Vec<ReplacedVersion<V>>, version: &Arc<V>, now: Instant) {
    old.retain(|known| known.version.strong_count() > 0);
    let version = Arc::downgrade(version);
    if !old.iter().any(|known| known.version.ptr_eq(&version)) {
        old.push(ReplacedVersion { version, since: now, is_retired: false });
    }
}

fn retire<V: DrainingVersion>(
    old: &mut Vec<ReplacedVersion<V>>,
    drain: Duration,
    now: Instant,
) -> Option<Instant> {
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

    impl DrainingVersion for Fake {
        fn is_busy(&self) -> bool {
            true
        }

        fn retire(&self) {
            assert!(!self.0.swap(true, Ordering::Relaxed), "retired twice");
        }
    }

    fn reject(status: &LoadStatus, path: &str, why: &str) {
        status.file_rejected(Path::new(path), Some("a"), why, false, None);
    }

    #[test]
    fn a_file_is_known_until_it_is_served_or_gone() {
        let status = LoadStatus::new(2, ApprovalMode::Off);
        reject(&status, "b.wasm", "first");
        reject(&status, "a.wasm", "other");
        reject(&status, "b.wasm", "second");
        reject(&status, "c.wasm", "one too many");
        let known: Vec<_> = status.snapshot().rejected.into_iter().map(|file| file.why).collect();
        assert_eq!(known, ["other", "second"]);
        status.served(Path::new("a.wasm"));
        status.gone(Path::new("b.wasm"));
        assert!(status.snapshot().rejected.is_empty());
        reject(&status, "c.wasm", &"x".repeat(9_000));
        assert!(status.snapshot().rejected[0].why.len() < 2_000);
    }

    #[test]
    fn what_cannot_be_followed_is_known_until_it_can_be() {
        let status = LoadStatus::new(2, ApprovalMode::Off);
        status.set_problem(ProblemSource::Lock, "x".repeat(9_000));
        status.set_problem(ProblemSource::Configuration, "1 mistake\n".to_owned());
        status.set_problem(
            ProblemSource::Configuration,
            "2 mistakes; mend them\n  a.toml:1: one\n\n  a.toml:2: two".to_owned(),
        );
        status.clear_problem(ProblemSource::Folder);
        let problems = status.snapshot().problems;
        let [configuration, lock] = problems.as_slice() else { panic!("{problems:?}") };
        assert_eq!(configuration.why, "2 mistakes; mend them; a.toml:1: one; a.toml:2: two");
        assert!(lock.kind == ProblemSource::Lock && lock.why.len() < 2_000);
        status.clear_problem(ProblemSource::Lock);
        status.clear_problem(ProblemSource::Configuration);
        assert!(status.snapshot().problems.is_empty());
    }

    #[test]
    fn a_version_is_retired_once_when_its_time_is_over() {
        let (start, drain) = (Instant::now(), Duration::from_secs(10));
        let after = |s| start + Duration::from_secs(s);
        let (first, second) = (Arc::new(Fake::default()), Arc::new(Fake::default()));
        let mut old = Vec::new();
        add_draining(&mut old, &first, start);
        add_draining(&mut old, &first, after(1));
        add_draining(&mut old, &second, after(2));
        assert_eq!(retire(&mut old, drain, after(9)), Some(after(10)));
        assert_eq!(retire(&mut old, drain, after(10)), Some(after(12)));
        assert!(first.0.load(Ordering::Relaxed) && !second.0.load(Ordering::Relaxed));
        assert_eq!(old.len(), 2, "it may still have calls that end");
        drop(first);
        assert_eq!(retire(&mut old, drain, after(12)), None);
        assert_eq!(old.len(), 1);
        drop(second);
        add_draining(&mut old, &Arc::new(Fake::default()), after(13));
        assert_eq!(retire(&mut old, drain, after(13)), None, "it had no calls");
    }
}
