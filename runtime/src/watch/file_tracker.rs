//! Tracks each plugin's file in the folder, and says which files to load, reject or remove now.
//!
//! Pure, so that tests can try every order of events.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tokio::time::Instant;

use super::debounce::{DEBOUNCE_TIME, Debounced};
use super::plugin_file_stats::PluginStat;

/// The files of the folder, by path.
#[derive(Debug, Default)]
pub(super) struct FileTracker {
    files: BTreeMap<PathBuf, TrackedFile>,
    /// Files have come or gone since [`FileTracker::take_paths_changed`] was last called.
    paths_changed: bool,
}

#[derive(Debug)]
struct TrackedFile {
    stat: Debounced<PluginStat>,
    loading: bool,
    /// The file is loaded again although its stat has not changed.
    stale: bool,
    /// A failed load is not tried again before this time.
    not_before: Option<Instant>,
    /// The file counts toward `max_plugins`.
    counted: bool,
}

/// What the folder watcher must do with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TrackerAction {
    /// Load a file that is new or has changed.
    Load(PathBuf, PluginStat),
    /// Reject a file that is beyond `max_plugins`.
    Reject(PathBuf),
    /// Remove the plugin of a file that is gone.
    Remove(PathBuf),
}

impl TrackedFile {
    fn new(stat: PluginStat, now: Instant) -> Self {
        Self {
            stat: Debounced::new(Some(stat), now),
            loading: false,
            stale: false,
            not_before: None,
            counted: false,
        }
    }

    fn done(&mut self, stat: PluginStat) {
        self.stat.handled(Some(stat));
        self.loading = false;
    }

    /// When the file may be acted on.
    fn due_at(&self) -> Instant {
        let retry_at = self.not_before.filter(|_| self.stat.is_handled());
        retry_at.map_or(self.stat.stable_at(), |time| time.max(self.stat.stable_at()))
    }

    fn needs_action(&self) -> bool {
        !self.stat.is_handled() || (self.stale && self.stat.seen().is_some())
    }
}

impl FileTracker {
    /// Begins with files that were there before, which nobody is copying: none has to stay the same first.
    pub(super) fn with_stable_files(stats: &BTreeMap<PathBuf, Option<PluginStat>>, now: Instant) -> Self {
        let mut tracker = Self::default();
        tracker.update(stats, now.checked_sub(DEBOUNCE_TIME).unwrap_or(now));
        tracker
    }

    /// Notes the files of the folder. A file whose stat could not be read stays as it was.
    pub(super) fn update(&mut self, stats: &BTreeMap<PathBuf, Option<PluginStat>>, now: Instant) {
        for (path, stat) in stats.iter().filter_map(|(path, stat)| Some((path, stat.as_ref()?))) {
            let file = self.files.entry(path.clone()).or_insert_with(|| {
                self.paths_changed = true;
                TrackedFile::new(*stat, now)
            });
            file.stat.observe(Some(*stat), now);
        }
        for (path, file) in &mut self.files {
            if !stats.contains_key(path) {
                file.stat.observe(None, now);
            }
        }
    }

    /// The actions that are due: at most `max_loads` files to load, which count as loading from now on, and at most
    /// `max_plugins` files in all that are not rejected.
    pub(super) fn due_actions(
        &mut self,
        now: Instant,
        max_loads: usize,
        max_plugins: usize,
    ) -> Vec<TrackerAction> {
        let mut actions = Vec::new();
        let (mut free_loads, mut some_gone) = (max_loads, false);
        let mut free_plugins =
            max_plugins.saturating_sub(self.files.values().filter(|file| file.counted).count());
        for (path, file) in &mut self.files {
            some_gone |= file.stat.seen().is_none();
            if file.loading || !file.needs_action() || file.due_at() > now {
                continue;
            }
            match file.stat.seen() {
                None => actions.push(TrackerAction::Remove(path.clone())),
                Some(stat) if !file.counted && free_plugins == 0 => {
                    file.done(stat);
                    file.stale = false;
                    actions.push(TrackerAction::Reject(path.clone()));
                }
                Some(stat) if free_loads > 0 => {
                    free_loads -= 1;
                    free_plugins -= usize::from(!file.counted);
                    (file.loading, file.stale, file.counted) = (true, false, true);
                    file.not_before = None;
                    actions.push(TrackerAction::Load(path.clone(), stat));
                }
                Some(_) => {}
            }
        }
        if some_gone {
            self.forget(now);
        }
        actions
    }

    /// Forgets files that are gone. Files beyond the limit are then tried again.
    fn forget(&mut self, now: Instant) {
        let before = self.files.values().filter(|file| file.counted).count();
        let all = self.files.len();
        self.files
            .retain(|_, file| file.loading || file.stat.seen().is_some() || file.stat.stable_at() > now);
        if self.files.values().filter(|file| file.counted).count() < before {
            self.files.values_mut().filter(|file| !file.counted).for_each(|file| file.stale = true);
        }
        self.paths_changed |= self.files.len() < all;
    }

    /// All files of the folder, also rejected ones. A file that is gone counts until its removal is due.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    /// Whether files have come or gone since the last call.
    pub(super) fn take_paths_changed(&mut self) -> bool {
        std::mem::take(&mut self.paths_changed)
    }

    /// Notes that a file was loaded with this `stat`.
    pub(super) fn mark_loaded(&mut self, path: &Path, stat: PluginStat) {
        if let Some(file) = self.files.get_mut(path) {
            file.done(stat);
        }
    }

    /// Notes that a file could not be loaded for now; it is tried again at `time`.
    pub(super) fn mark_retry(&mut self, path: &Path, stat: PluginStat, time: Instant) {
        self.mark_loaded(path, stat);
        if let Some(file) = self.files.get_mut(path) {
            (file.stale, file.not_before) = (true, Some(time));
        }
    }

    /// Notes that a file changed while it was read; it is loaded again.
    pub(super) fn mark_changed(&mut self, path: &Path, now: Instant) {
        if let Some(file) = self.files.get_mut(path) {
            file.stat.restart_wait(now);
            (file.loading, file.stale) = (false, true);
        }
    }

    /// Notes that a file was loaded under an old policy; it is loaded again.
    pub(super) fn mark_stale(&mut self, path: &Path) {
        if let Some(file) = self.files.get_mut(path) {
            (file.loading, file.stale) = (false, true);
        }
    }

    /// Has all files loaded again, since the policy has changed.
    pub(super) fn mark_all_stale(&mut self) {
        self.files.values_mut().for_each(|file| (file.stale, file.not_before) = (true, None));
    }

    /// Whether no file is loading or is about to be acted on; retries do not count.
    pub(super) fn is_idle(&self) -> bool {
        !self.files.values().any(|file| file.loading || (file.needs_action() && file.not_before.is_none()))
    }

    /// When the next action is due without another event; `None` if there is none.
    pub(super) fn next(&self) -> Option<Instant> {
        let pending = self.files.values().filter(|file| !file.loading && file.needs_action());
        pending.map(TrackedFile::due_at).min()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Stats of two files that differ.
    fn stats() -> (tempfile::TempDir, PluginStat, PluginStat) {
        let dir = tempfile::tempdir().unwrap();
        let stat = |name: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, name).unwrap();
            PluginStat::of(&path).unwrap().unwrap()
        };
        let (one, two) = (stat("one"), stat("another"));
        (dir, one, two)
    }

    fn stats_of(files: &[(&str, PluginStat)]) -> BTreeMap<PathBuf, Option<PluginStat>> {
        files.iter().map(|(path, stat)| (PathBuf::from(path), Some(*stat))).collect()
    }

    #[test]
    fn a_file_is_loaded_once_it_stays_the_same() {
        let (_dir, one, two) = stats();
        let (mut tracker, start) = (FileTracker::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        tracker.update(&stats_of(&[("a", one)]), start);
        assert_eq!(tracker.due_actions(after(50), 9, 9), []);
        tracker.update(&stats_of(&[("a", two)]), after(60));
        assert_eq!(tracker.due_actions(after(100), 9, 9), [], "it has changed meanwhile");
        assert_eq!(tracker.next(), Some(after(160)));
        assert_eq!(tracker.due_actions(after(160), 9, 9), [TrackerAction::Load("a".into(), two)]);
        assert_eq!(tracker.due_actions(after(500), 9, 9), [], "it is being loaded");
        tracker.mark_loaded(Path::new("a"), two);
        tracker.update(&stats_of(&[("a", two)]), after(600));
        assert_eq!((tracker.due_actions(after(900), 9, 9), tracker.next()), (vec![], None));
    }

    #[test]
    fn what_changes_while_it_is_loaded_is_loaded_again() {
        let (_dir, one, two) = stats();
        let (mut tracker, start) = (FileTracker::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        tracker.update(&stats_of(&[("a", one)]), start);
        assert_eq!(tracker.due_actions(after(100), 9, 9).len(), 1);
        tracker.update(&stats_of(&[("a", two)]), after(150));
        tracker.mark_loaded(Path::new("a"), one);
        assert_eq!(tracker.due_actions(after(200), 9, 9), []);
        assert_eq!(tracker.due_actions(after(250), 9, 9), [TrackerAction::Load("a".into(), two)]);
        tracker.mark_changed(Path::new("a"), after(300));
        assert_eq!(tracker.due_actions(after(400), 9, 9), [TrackerAction::Load("a".into(), two)]);
    }

    #[test]
    fn a_file_that_is_gone_is_forgotten_after_a_moment_and_may_come_back() {
        let (_dir, one, two) = stats();
        let (mut tracker, start) = (FileTracker::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        tracker.update(&stats_of(&[("a", one)]), start);
        tracker.due_actions(after(100), 9, 9);
        tracker.mark_loaded(Path::new("a"), one);
        tracker.update(&stats_of(&[]), after(200));
        assert_eq!(tracker.due_actions(after(250), 9, 9), [], "someone may be replacing it");
        tracker.update(&stats_of(&[("a", two)]), after(260));
        assert_eq!(tracker.due_actions(after(360), 9, 9), [TrackerAction::Load("a".into(), two)]);
        tracker.mark_loaded(Path::new("a"), two);
        tracker.update(&stats_of(&[]), after(400));
        assert_eq!(tracker.due_actions(after(500), 9, 9), [TrackerAction::Remove("a".into())]);
        assert_eq!((tracker.due_actions(after(900), 9, 9), tracker.next()), (vec![], None));
    }

    #[test]
    fn only_so_many_are_loaded_at_a_time() {
        let (_dir, one, _) = stats();
        let (mut tracker, start) = (FileTracker::default(), Instant::now());
        tracker.update(&stats_of(&[("a", one), ("b", one), ("c", one)]), start);
        let later = start + DEBOUNCE_TIME;
        assert_eq!(
            tracker.due_actions(later, 2, 9),
            [TrackerAction::Load("a".into(), one), TrackerAction::Load("b".into(), one)]
        );
        assert_eq!(tracker.due_actions(later, 0, 9), []);
        tracker.mark_loaded(Path::new("a"), one);
        assert_eq!(tracker.due_actions(later, 1, 9), [TrackerAction::Load("c".into(), one)]);
    }

    #[test]
    fn what_failed_in_passing_is_tried_again_in_a_while() {
        let (_dir, one, two) = stats();
        let (mut tracker, start) = (FileTracker::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        tracker.update(&stats_of(&[("a", one)]), start);
        assert_eq!(tracker.due_actions(after(100), 9, 9).len(), 1);
        tracker.mark_retry(Path::new("a"), one, after(5_000));
        assert!(tracker.is_idle() && tracker.due_actions(after(4_000), 9, 9).is_empty());
        assert_eq!((tracker.next(), tracker.due_actions(after(5_000), 9, 9).len()), (Some(after(5_000)), 1));
        tracker.mark_retry(Path::new("a"), one, after(60_000));
        tracker.update(&stats_of(&[("a", two)]), after(6_000));
        assert_eq!(
            tracker.due_actions(after(6_100), 9, 9),
            [TrackerAction::Load("a".into(), two)],
            "it is another one now"
        );
    }

    #[test]
    fn one_too_many_is_rejected_until_another_file_goes() {
        let (_dir, one, two) = stats();
        let (mut tracker, start) = (FileTracker::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        tracker.update(&stats_of(&[("a", one), ("b", one)]), start);
        assert_eq!(
            tracker.due_actions(after(100), 9, 1),
            [TrackerAction::Load("a".into(), one), TrackerAction::Reject("b".into())]
        );
        tracker.mark_loaded(Path::new("a"), one);
        tracker.update(&stats_of(&[("a", two), ("b", one)]), after(200));
        assert_eq!(
            tracker.due_actions(after(300), 9, 1),
            [TrackerAction::Load("a".into(), two)],
            "it counts already"
        );
        tracker.mark_loaded(Path::new("a"), two);
        tracker.update(&stats_of(&[("b", one)]), after(400));
        assert_eq!(tracker.due_actions(after(500), 9, 1), [TrackerAction::Remove("a".into())]);
        assert_eq!(tracker.due_actions(after(500), 9, 1), [TrackerAction::Load("b".into(), one)]);
    }

    #[test]
    fn what_is_decided_about_anew_is_loaded_again() {
        let (_dir, one, _) = stats();
        let (mut tracker, start) = (FileTracker::default(), Instant::now());
        tracker.update(&stats_of(&[("a", one), ("b", one)]), start);
        let later = start + DEBOUNCE_TIME;
        tracker.due_actions(later, 9, 9);
        tracker.mark_loaded(Path::new("a"), one);
        assert!(!tracker.is_idle(), "b is being loaded");
        tracker.mark_all_stale();
        assert_eq!(tracker.due_actions(later, 9, 9), [TrackerAction::Load("a".into(), one)]);
        tracker.mark_loaded(Path::new("b"), one);
        assert_eq!(
            tracker.due_actions(later, 9, 9),
            [TrackerAction::Load("b".into(), one)],
            "it was loaded with what held before"
        );
        tracker.mark_loaded(Path::new("a"), one);
        tracker.mark_loaded(Path::new("b"), one);
        assert!(tracker.is_idle() && tracker.next().is_none());
    }
}
