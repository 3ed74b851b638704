//! What operators see beyond the catalog: rejected files and why, replaced versions that still have calls, and problems
//! with the folder, the configuration or the lockfile.
//!
//! The catalog has only what is published, so that calls read nothing they do not need. The folder watcher writes the
//! status, and status reports read it. Only its calls keep a replaced version alive: the status holds a weak reference,
//! until the last call has ended or the drain is over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::config::ApprovalMode;
use crate::observe::truncate;
use crate::plugin::Plugin;

/// Maximum length of a reason in bytes.
const MAX_REASON: usize = 1 << 10;

/// The status of one folder.
#[derive(Debug)]
pub struct LoadStatus {
    max_files: usize,
    approval_mode: Mutex<ApprovalMode>,
    files: Mutex<BTreeMap<PathBuf, RejectedVersion>>,
    problems: Mutex<BTreeMap<ProblemSource, String>>,
    replaced: Mutex<Vec<ReplacedVersion<Plugin>>>,
    loads: LoadCounts,
}

/// How many files were loaded and how many were rejected, since the start.
#[derive(Debug, Default)]
struct LoadCounts {
    loaded: AtomicU64,
    rejected: AtomicU64,
}

/// What the folder watcher reads besides the plugins' files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemSource {
    /// The folder of the plugins.
    Folder,
    /// The configuration.
    Configuration,
    /// The lockfile.
    Lockfile,
}

impl ProblemSource {
    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Folder => "folder",
            Self::Configuration => "configuration",
            Self::Lockfile => "lock",
        }
    }
}

/// Something that cannot be read now. What was read before still holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What cannot be read.
    pub kind: ProblemSource,
    /// What is wrong and what to do, on one line; cut off if long.
    pub why: String,
}

/// A file whose current contents are not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedVersion {
    /// The file.
    pub path: PathBuf,
    /// The plugin's name, if the file's name is a valid one.
    pub plugin: Option<String>,
    /// What is wrong and what to do; cut off if long.
    pub why: String,
    /// The file could be served once an operator approves it.
    pub pending_approval: bool,
    /// SHA-256 of the file, as lower-case hex.
    pub digest: Option<String>,
}

/// The status at one moment.
#[derive(Debug, Default)]
pub struct StatusSnapshot {
    /// Files, in the order of their names.
    pub rejected: Vec<RejectedVersion>,
    /// Replaced or removed versions that have running calls, the oldest first.
    pub draining: Vec<Arc<Plugin>>,
    /// What cannot be read, each kind once.
    pub problems: Vec<Problem>,
}

/// A replaced version; a trait so that tests need no plugin.
trait DrainingVersion {
    fn is_busy(&self) -> bool;
    fn end_calls(&self);
}

impl DrainingVersion for Plugin {
    fn is_busy(&self) -> bool {
        self.running() > 0
    }

    fn end_calls(&self) {
        self.end_drain();
    }
}

#[derive(Debug)]
struct ReplacedVersion<V> {
    version: Weak<V>,
    since: Instant,
    has_ended: bool,
}

impl LoadStatus {
    /// An empty status, for at most `max_files` files.
    #[must_use]
    pub fn new(max_files: usize, mode: ApprovalMode) -> Self {
        let (files, problems, replaced, loads) = Default::default();
        Self { max_files, approval_mode: Mutex::new(mode), files, problems, replaced, loads }
    }

    /// Counts a file that was loaded or rejected.
    pub(super) fn count_load(&self, is_loaded: bool) {
        let count = if is_loaded { &self.loads.loaded } else { &self.loads.rejected };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// How many files were loaded since the start, and how many were rejected.
    #[must_use]
    pub fn loads(&self) -> (u64, u64) {
        (self.loads.loaded.load(Ordering::Relaxed), self.loads.rejected.load(Ordering::Relaxed))
    }

    /// Sets how strictly plugins are compared with their approvals.
    pub fn set_approval_mode(&self, mode: ApprovalMode) {
        *self.approval_mode.lock() = mode;
    }

    /// How strictly plugins are compared with their approvals.
    #[must_use]
    pub fn approval_mode(&self) -> ApprovalMode {
        *self.approval_mode.lock()
    }

    /// Notes that this cannot be read; `why` may have several lines.
    pub fn set_problem(&self, kind: ProblemSource, why: String) {
        let lines: Vec<&str> = why.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let why = truncate(MAX_REASON, format_args!("{}", lines.join("; ")));
        self.problems.lock().insert(kind, why);
    }

    /// Notes that this can be read.
    pub fn clear_problem(&self, kind: ProblemSource) {
        self.problems.lock().remove(&kind);
    }

    /// Notes that a file was rejected; `pending_approval`: until an operator approves it.
    pub fn file_rejected(
        &self,
        path: &Path,
        plugin: Option<&str>,
        why: &str,
        pending_approval: bool,
        digest: Option<String>,
    ) {
        let (why, plugin) = (truncate(MAX_REASON, format_args!("{why}")), plugin.map(ToOwned::to_owned));
        let file = RejectedVersion { path: path.to_owned(), plugin, why, pending_approval, digest };
        let mut files = self.files.lock();
        if files.len() < self.max_files || files.contains_key(path) {
            files.insert(path.to_owned(), file);
        }
    }

    /// Notes that the file's current contents are served.
    pub fn served(&self, path: &Path) {
        self.files.lock().remove(path);
    }

    /// Notes that the file was removed from the folder.
    pub fn file_removed(&self, path: &Path) {
        self.files.lock().remove(path);
    }

    /// Notes that a version was replaced by another one or removed from the catalog.
    pub fn replaced(&self, plugin: &Arc<Plugin>) {
        plugin.drop_idle_instances();
        add_draining(&mut self.replaced.lock(), plugin, Instant::now());
    }

    /// Ends the calls of versions that have drained for `drain`. Returns when the next one is due.
    pub fn end_drains(&self, drain: Duration) -> Option<Instant> {
        end_drains(&mut self.replaced.lock(), drain, Instant::now())
    }

    /// The status now.
    #[must_use]
    pub fn snapshot(&self) -> StatusSnapshot {
        let rejected = self.files.lock().values().cloned().collect();
        let mut draining: Vec<_> =
            self.replaced.lock().iter().filter_map(|old| old.version.upgrade()).collect();
        draining.retain(|plugin| plugin.is_busy());
        let problems =
            self.problems.lock().iter().map(|(&kind, why)| Problem { kind, why: why.clone() }).collect();
        StatusSnapshot { rejected, draining, problems }
    }
}

/// Adds a version and forgets those that are gone. Calls hold the others, so there are never many.
fn add_draining<V: DrainingVersion>(old: &mut Vec<ReplacedVersion<V>>, version: &Arc<V>, now: Instant) {
    old.retain(|known| known.version.strong_count() > 0);
    let version = Arc::downgrade(version);
    if !old.iter().any(|known| known.version.ptr_eq(&version)) {
        old.push(ReplacedVersion { version, since: now, has_ended: false });
    }
}

fn end_drains<V: DrainingVersion>(
    old: &mut Vec<ReplacedVersion<V>>,
    drain: Duration,
    now: Instant,
) -> Option<Instant> {
    old.retain(|known| known.version.strong_count() > 0);
    for known in old.iter_mut().filter(|known| !known.has_ended && known.since + drain <= now) {
        known.has_ended = true;
        if let Some(version) = known.version.upgrade() {
            version.end_calls();
        }
    }
    old.iter().filter(|known| !known.has_ended).map(|known| known.since + drain).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[derive(Default)]
    struct Fake(AtomicBool);

    impl DrainingVersion for Fake {
        fn is_busy(&self) -> bool {
            true
        }

        fn end_calls(&self) {
            assert!(!self.0.swap(true, Ordering::Relaxed), "ended twice");
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
        status.file_removed(Path::new("b.wasm"));
        assert!(status.snapshot().rejected.is_empty());
        reject(&status, "c.wasm", &"x".repeat(9_000));
        assert!(status.snapshot().rejected[0].why.len() < 2_000);
    }

    #[test]
    fn what_cannot_be_followed_is_known_until_it_can_be() {
        let status = LoadStatus::new(2, ApprovalMode::Off);
        status.set_problem(ProblemSource::Lockfile, "x".repeat(9_000));
        status.set_problem(ProblemSource::Configuration, "1 mistake\n".to_owned());
        status.set_problem(
            ProblemSource::Configuration,
            "2 mistakes; mend them\n  a.toml:1: one\n\n  a.toml:2: two".to_owned(),
        );
        status.clear_problem(ProblemSource::Folder);
        let problems = status.snapshot().problems;
        let [configuration, lock] = problems.as_slice() else { panic!("{problems:?}") };
        assert_eq!(configuration.why, "2 mistakes; mend them; a.toml:1: one; a.toml:2: two");
        assert!(lock.kind == ProblemSource::Lockfile && lock.why.len() < 2_000);
        status.clear_problem(ProblemSource::Lockfile);
        status.clear_problem(ProblemSource::Configuration);
        assert!(status.snapshot().problems.is_empty());
    }

    #[test]
    fn the_calls_of_a_version_are_ended_once_when_its_drain_is_over() {
        let (start, drain) = (Instant::now(), Duration::from_secs(10));
        let after = |s| start + Duration::from_secs(s);
        let (first, second) = (Arc::new(Fake::default()), Arc::new(Fake::default()));
        let mut old = Vec::new();
        add_draining(&mut old, &first, start);
        add_draining(&mut old, &first, after(1));
        add_draining(&mut old, &second, after(2));
        assert_eq!(end_drains(&mut old, drain, after(9)), Some(after(10)));
        assert_eq!(end_drains(&mut old, drain, after(10)), Some(after(12)));
        assert!(first.0.load(Ordering::Relaxed) && !second.0.load(Ordering::Relaxed));
        assert_eq!(old.len(), 2, "it may still have calls that end");
        drop(first);
        assert_eq!(end_drains(&mut old, drain, after(12)), None);
        assert_eq!(old.len(), 1);
        drop(second);
        add_draining(&mut old, &Arc::new(Fake::default()), after(13));
        assert_eq!(end_drains(&mut old, drain, after(13)), None, "it had no calls");
    }
}
