//! Tracks each plugin's file in the folder, and says which of them to load now.
//!
//! Pure, so that every order of events can be tried.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tokio::time::Instant;

use super::debounce::{Debounced, SETTLE};
use super::file_stat::PluginStat;

/// The files, by path.
#[derive(Debug, Default)]
pub(super) struct FileTracker {
    files: BTreeMap<PathBuf, TrackedFile>,
    /// Files have come or gone since that was last asked.
    moved: bool,
}

#[derive(Debug)]
struct TrackedFile {
    stat: Debounced<PluginStat>,
    busy: bool,
    /// To be loaded although nothing about it has changed.
    stale: bool,
    /// Not to be tried again before.
    not_before: Option<Instant>,
    /// It counts toward the limit on plugins.
    counted: bool,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TrackerAction {
    /// Load a file that is new or has changed.
    Load(PathBuf, PluginStat),
    /// Leave one alone that is one too many.
    Reject(PathBuf),
    /// Forget one that is gone.
    Remove(PathBuf),
}

impl TrackedFile {
    fn new(stat: PluginStat, now: Instant) -> Self {
        Self {
            stat: Debounced::new(Some(stat), now),
            busy: false,
            stale: false,
            not_before: None,
            counted: false,
        }
    }

    fn done(&mut self, stat: PluginStat) {
        self.stat.handled(Some(stat));
        self.busy = false;
    }

    /// When it may be acted on.
    fn ripe(&self) -> Instant {
        let retried = self.not_before.filter(|_| self.stat.is_handled());
        retried.map_or(self.stat.stable_at(), |time| time.max(self.stat.stable_at()))
    }

    fn is_open(&self) -> bool {
        !self.stat.is_handled() || (self.stale && self.stat.seen().is_some())
    }
}

impl FileTracker {
    /// Of files that were there before, which nobody is copying: none has to stay the same for a moment.
    pub(super) fn of_settled(found: &BTreeMap<PathBuf, Option<PluginStat>>, now: Instant) -> Self {
        let mut tracker = Self::default();
        tracker.update(found, now.checked_sub(SETTLE).unwrap_or(now));
        tracker
    }

    /// Notes what lies in the folder now. A file of which nothing can be told for now stays as it was.
    pub(super) fn update(&mut self, found: &BTreeMap<PathBuf, Option<PluginStat>>, now: Instant) {
        for (path, stat) in found.iter().filter_map(|(path, stat)| Some((path, stat.as_ref()?))) {
            let file = self.files.entry(path.clone()).or_insert_with(|| {
                self.moved = true;
                TrackedFile::new(*stat, now)
            });
            file.stat.observe(Some(*stat), now);
        }
        for (path, file) in &mut self.files {
            if !found.contains_key(path) {
                file.stat.observe(None, now);
            }
        }
    }

    /// What it is time to do: at most `room` files to load, which count as begun, and at most `most` in all that are
    /// not left alone.
    pub(super) fn due_actions(&mut self, now: Instant, room: usize, most: usize) -> Vec<TrackerAction> {
        let mut actions = Vec::new();
        let mut room = room;
        let mut free = most.saturating_sub(self.files.values().filter(|file| file.counted).count());
        for (path, file) in &mut self.files {
            if file.busy || !file.is_open() || file.ripe() > now {
                continue;
            }
            match file.stat.seen() {
                None => actions.push(TrackerAction::Remove(path.clone())),
                Some(stat) if !file.counted && free == 0 => {
                    file.done(stat);
                    file.stale = false;
                    actions.push(TrackerAction::Reject(path.clone()));
                }
                Some(stat) if room > 0 => {
                    room -= 1;
                    free -= usize::from(!file.counted);
                    (file.busy, file.stale, file.counted) = (true, false, true);
                    file.not_before = None;
                    actions.push(TrackerAction::Load(path.clone(), stat));
                }
                Some(_) => {}
            }
        }
        self.forget(now);
        actions
    }

    /// Forgets what is gone. One that was beyond the limit may come instead.
    fn forget(&mut self, now: Instant) {
        let before = self.files.values().filter(|file| file.counted).count();
        let all = self.files.len();
        self.files.retain(|_, file| file.busy || file.stat.seen().is_some() || file.stat.stable_at() > now);
        if self.files.values().filter(|file| file.counted).count() < before {
            self.files.values_mut().filter(|file| !file.counted).for_each(|file| file.stale = true);
        }
        self.moved |= self.files.len() < all;
    }

    /// All files that are there, also those that are left alone. One that is gone is, until that is acted on.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    /// Whether files have come or gone since this was last asked.
    pub(super) fn has_moved(&mut self) -> bool {
        std::mem::take(&mut self.moved)
    }

    /// A file was loaded as it was at `stat`.
    pub(super) fn mark_loaded(&mut self, path: &Path, stat: PluginStat) {
        if let Some(file) = self.files.get_mut(path) {
            file.done(stat);
        }
    }

    /// A file could not be loaded for now; it is to be tried again at this time.
    pub(super) fn mark_retry(&mut self, path: &Path, stat: PluginStat, time: Instant) {
        self.mark_loaded(path, stat);
        if let Some(file) = self.files.get_mut(path) {
            (file.stale, file.not_before) = (true, Some(time));
        }
    }

    /// A file was different from what it should have been when it was read, so it is loaded again.
    pub(super) fn mark_changed(&mut self, path: &Path, now: Instant) {
        if let Some(file) = self.files.get_mut(path) {
            file.stat.moved(now);
            (file.busy, file.stale) = (false, true);
        }
    }

    /// A file was loaded under another policy than holds now, so it is loaded again.
    pub(super) fn mark_stale(&mut self, path: &Path) {
        if let Some(file) = self.files.get_mut(path) {
            (file.busy, file.stale) = (false, true);
        }
    }

    /// What decides about files has changed: all of them are loaded again.
    pub(super) fn mark_all_stale(&mut self) {
        self.files.values_mut().for_each(|file| (file.stale, file.not_before) = (true, None));
    }

    /// Whether nothing is being done, or left to do before long.
    pub(super) fn is_settled(&self) -> bool {
        !self.files.values().any(|file| file.busy || (file.is_open() && file.not_before.is_none()))
    }

    /// When to look again although nobody says that anything happened; `None` when all is settled.
    pub(super) fn next(&self) -> Option<Instant> {
        let open = self.files.values().filter(|file| !file.busy && file.is_open());
        open.map(TrackedFile::ripe).min()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Sights of files that differ.
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

    fn found(files: &[(&str, PluginStat)]) -> BTreeMap<PathBuf, Option<PluginStat>> {
        files.iter().map(|(path, stat)| (PathBuf::from(path), Some(*stat))).collect()
    }

    #[test]
    fn a_file_is_loaded_once_it_stays_the_same() {
        let (_dir, one, two) = stats();
        let (mut tracker, start) = (FileTracker::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        tracker.update(&found(&[("a", one)]), start);
        assert_eq!(tracker.due_actions(after(50), 9, 9), []);
        tracker.update(&found(&[("a", two)]), after(60));
        assert_eq!(tracker.due_actions(after(100), 9, 9), [], "it has changed meanwhile");
        assert_eq!(tracker.next(), Some(after(160)));
        assert_eq!(tracker.due_actions(after(160), 9, 9), [TrackerAction::Load("a".into(), two)]);
        assert_eq!(tracker.due_actions(after(500), 9, 9), [], "it is being loaded");
        tracker.mark_loaded(Path::new("a"), two);
        tracker.update(&found(&[("a", two)]), after(600));
        assert_eq!((tracker.due_actions(after(900), 9, 9), tracker.next()), (vec![], None));
    }

    #[test]
    fn what_changes_while_it_is_loaded_is_loaded_again() {
        let (_dir, one, two) = stats();
        let (mut tracker, start) = (FileTracker::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        tracker.update(&found(&[("a", one)]), start);
        assert_eq!(tracker.due_actions(after(100), 9, 9).len(), 1);
        tracker.update(&found(&[("a", two)]), after(150));
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
        tracker.update(&found(&[("a", one)]), start);
        tracker.due_actions(after(100), 9, 9);
        tracker.mark_loaded(Path::new("a"), one);
        tracker.update(&found(&[]), after(200));
        assert_eq!(tracker.due_actions(after(250), 9, 9), [], "someone may be replacing it");
        tracker.update(&found(&[("a", two)]), after(260));
        assert_eq!(tracker.due_actions(after(360), 9, 9), [TrackerAction::Load("a".into(), two)]);
        tracker.mark_loaded(Path::new("a"), two);
        tracker.update(&found(&[]), after(400));
        assert_eq!(tracker.due_actions(after(500), 9, 9), [TrackerAction::Remove("a".into())]);
        assert_eq!((tracker.due_actions(after(900), 9, 9), tracker.next()), (vec![], None));
    }

    #[test]
    fn only_so_many_are_loaded_at_a_time() {
        let (_dir, one, _) = stats();
        let (mut tracker, start) = (FileTracker::default(), Instant::now());
        tracker.update(&found(&[("a", one), ("b", one), ("c", one)]), start);
        let later = start + SETTLE;
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
        tracker.update(&found(&[("a", one)]), start);
        assert_eq!(tracker.due_actions(after(100), 9, 9).len(), 1);
        tracker.mark_retry(Path::new("a"), one, after(5_000));
        assert!(tracker.is_settled() && tracker.due_actions(after(4_000), 9, 9).is_empty());
        assert_eq!((tracker.next(), tracker.due_actions(after(5_000), 9, 9).len()), (Some(after(5_000)), 1));
        tracker.mark_retry(Path::new("a"), one, after(60_000));
        tracker.update(&found(&[("a", two)]), after(6_000));
        assert_eq!(
            tracker.due_actions(after(6_100), 9, 9),
            [TrackerAction::Load("a".into(), two)],
            "it is another one now"
        );
    }

    #[test]
    fn one_too_many_is_left_alone_until_there_is_a_place() {
        let (_dir, one, two) = stats();
        let (mut tracker, start) = (FileTracker::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        tracker.update(&found(&[("a", one), ("b", one)]), start);
        assert_eq!(
            tracker.due_actions(after(100), 9, 1),
            [TrackerAction::Load("a".into(), one), TrackerAction::Reject("b".into())]
        );
        tracker.mark_loaded(Path::new("a"), one);
        tracker.update(&found(&[("a", two), ("b", one)]), after(200));
        assert_eq!(
            tracker.due_actions(after(300), 9, 1),
            [TrackerAction::Load("a".into(), two)],
            "it counts already"
        );
        tracker.mark_loaded(Path::new("a"), two);
        tracker.update(&found(&[("b", one)]), after(400));
        assert_eq!(tracker.due_actions(after(500), 9, 1), [TrackerAction::Remove("a".into())]);
        assert_eq!(tracker.due_actions(after(500), 9, 1), [TrackerAction::Load("b".into(), one)]);
    }

    #[test]
    fn what_is_decided_about_anew_is_loaded_again() {
        let (_dir, one, _) = stats();
        let (mut tracker, start) = (FileTracker::default(), Instant::now());
        tracker.update(&found(&[("a", one), ("b", one)]), start);
        let later = start + SETTLE;
        tracker.due_actions(later, 9, 9);
        tracker.mark_loaded(Path::new("a"), one);
        assert!(!tracker.is_settled(), "b is being loaded");
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
        assert!(tracker.is_settled() && tracker.next().is_none());
    }
}
