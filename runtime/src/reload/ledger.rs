//! What is known of each plugin's file in the folder, and which of them it is time to look into.
//!
//! Pure, so that every order of events can be tried.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tokio::time::Instant;

#[cfg(test)]
use super::settling::SETTLE;
use super::settling::Settling;
use super::stamp::Sight;

/// The files, by path.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    files: BTreeMap<PathBuf, File>,
    /// Files have come or gone since that was last asked.
    moved: bool,
}

#[derive(Debug)]
struct File {
    sight: Settling<Sight>,
    busy: bool,
    /// To be looked into although nothing about it has changed.
    stale: bool,
    /// Not to be tried again before.
    not_before: Option<Instant>,
    /// It has one of the places that there are for plugins.
    placed: bool,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Look into a file that is new or has changed.
    Load(PathBuf, Sight),
    /// Leave one alone that is one too many.
    Refuse(PathBuf),
    /// Forget one that is gone.
    Remove(PathBuf),
}

impl File {
    fn new(sight: Sight, now: Instant) -> Self {
        Self {
            sight: Settling::new(Some(sight), now),
            busy: false,
            stale: false,
            not_before: None,
            placed: false,
        }
    }

    fn done(&mut self, sight: Sight) {
        self.sight.handled(Some(sight));
        self.busy = false;
    }

    /// When it may be acted on.
    fn ripe(&self) -> Instant {
        let retried = self.not_before.filter(|_| self.sight.is_handled());
        retried.map_or(self.sight.settles(), |time| time.max(self.sight.settles()))
    }

    fn is_open(&self) -> bool {
        !self.sight.is_handled() || (self.stale && self.sight.seen().is_some())
    }
}

impl Ledger {
    /// Notes what lies in the folder now. A file of which nothing can be told for now stays as it was.
    pub(super) fn look(&mut self, found: &BTreeMap<PathBuf, Option<Sight>>, now: Instant) {
        for (path, sight) in found.iter().filter_map(|(path, sight)| Some((path, sight.as_ref()?))) {
            let file = self.files.entry(path.clone()).or_insert_with(|| {
                self.moved = true;
                File::new(*sight, now)
            });
            file.sight.see(Some(*sight), now);
        }
        for (path, file) in &mut self.files {
            if !found.contains_key(path) {
                file.sight.see(None, now);
            }
        }
    }

    /// What it is time to do: at most `room` files to look into, which count as begun, and at most `most` in all that are
    /// not left alone.
    pub(super) fn due(&mut self, now: Instant, room: usize, most: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut room = room;
        let mut places = most.saturating_sub(self.files.values().filter(|file| file.placed).count());
        for (path, file) in &mut self.files {
            if file.busy || !file.is_open() || file.ripe() > now {
                continue;
            }
            match file.sight.seen() {
                None => steps.push(Step::Remove(path.clone())),
                Some(sight) if !file.placed && places == 0 => {
                    file.done(sight);
                    file.stale = false;
                    steps.push(Step::Refuse(path.clone()));
                }
                Some(sight) if room > 0 => {
                    room -= 1;
                    places -= usize::from(!file.placed);
                    (file.busy, file.stale, file.placed) = (true, false, true);
                    file.not_before = None;
                    steps.push(Step::Load(path.clone(), sight));
                }
                Some(_) => {}
            }
        }
        self.forget(now);
        steps
    }

    /// Forgets what is gone. Its place may be had by one that was left alone.
    fn forget(&mut self, now: Instant) {
        let before = self.files.values().filter(|file| file.placed).count();
        let all = self.files.len();
        self.files.retain(|_, file| file.busy || file.sight.seen().is_some() || file.sight.settles() > now);
        if self.files.values().filter(|file| file.placed).count() < before {
            self.files.values_mut().filter(|file| !file.placed).for_each(|file| file.stale = true);
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

    /// A file was looked into as it was at `sight`.
    pub(super) fn handled(&mut self, path: &Path, sight: Sight) {
        if let Some(file) = self.files.get_mut(path) {
            file.done(sight);
        }
    }

    /// A file could not be looked into for now; it is to be tried again at this time.
    pub(super) fn later(&mut self, path: &Path, sight: Sight, time: Instant) {
        self.handled(path, sight);
        if let Some(file) = self.files.get_mut(path) {
            (file.stale, file.not_before) = (true, Some(time));
        }
    }

    /// A file was different from what it should have been when it was read, so it is looked into again.
    pub(super) fn changed(&mut self, path: &Path, now: Instant) {
        if let Some(file) = self.files.get_mut(path) {
            file.sight.moved(now);
            (file.busy, file.stale) = (false, true);
        }
    }

    /// A file was looked into under other terms than hold now, so it is looked into again.
    pub(super) fn again(&mut self, path: &Path) {
        if let Some(file) = self.files.get_mut(path) {
            (file.busy, file.stale) = (false, true);
        }
    }

    /// What decides about files has changed: all of them are looked into again.
    pub(super) fn revisit(&mut self) {
        self.files.values_mut().for_each(|file| (file.stale, file.not_before) = (true, None));
    }

    /// Whether nothing is being done, or left to do before long.
    pub(super) fn is_settled(&self) -> bool {
        !self.files.values().any(|file| file.busy || (file.is_open() && file.not_before.is_none()))
    }

    /// When to look again although nobody says that anything happened; `None` when all is settled.
    pub(super) fn next(&self) -> Option<Instant> {
        let open = self.files.values().filter(|file| !file.busy && file.is_open());
        open.map(File::ripe).min()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Sights of files that differ.
    fn stamps() -> (tempfile::TempDir, Sight, Sight) {
        let dir = tempfile::tempdir().unwrap();
        let stamp = |name: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, name).unwrap();
            Sight::of(&path).unwrap().unwrap()
        };
        let (one, two) = (stamp("one"), stamp("another"));
        (dir, one, two)
    }

    fn found(files: &[(&str, Sight)]) -> BTreeMap<PathBuf, Option<Sight>> {
        files.iter().map(|(path, stamp)| (PathBuf::from(path), Some(*stamp))).collect()
    }

    #[test]
    fn a_file_is_loaded_once_it_stays_the_same() {
        let (_dir, one, two) = stamps();
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        ledger.look(&found(&[("a", one)]), start);
        assert_eq!(ledger.due(after(50), 9, 9), []);
        ledger.look(&found(&[("a", two)]), after(60));
        assert_eq!(ledger.due(after(100), 9, 9), [], "it has changed meanwhile");
        assert_eq!(ledger.next(), Some(after(160)));
        assert_eq!(ledger.due(after(160), 9, 9), [Step::Load("a".into(), two)]);
        assert_eq!(ledger.due(after(500), 9, 9), [], "it is being loaded");
        ledger.handled(Path::new("a"), two);
        ledger.look(&found(&[("a", two)]), after(600));
        assert_eq!((ledger.due(after(900), 9, 9), ledger.next()), (vec![], None));
    }

    #[test]
    fn what_changes_while_it_is_loaded_is_loaded_again() {
        let (_dir, one, two) = stamps();
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        ledger.look(&found(&[("a", one)]), start);
        assert_eq!(ledger.due(after(100), 9, 9).len(), 1);
        ledger.look(&found(&[("a", two)]), after(150));
        ledger.handled(Path::new("a"), one);
        assert_eq!(ledger.due(after(200), 9, 9), []);
        assert_eq!(ledger.due(after(250), 9, 9), [Step::Load("a".into(), two)]);
        ledger.changed(Path::new("a"), after(300));
        assert_eq!(ledger.due(after(400), 9, 9), [Step::Load("a".into(), two)]);
    }

    #[test]
    fn a_file_that_is_gone_is_forgotten_after_a_moment_and_may_come_back() {
        let (_dir, one, two) = stamps();
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        ledger.look(&found(&[("a", one)]), start);
        ledger.due(after(100), 9, 9);
        ledger.handled(Path::new("a"), one);
        ledger.look(&found(&[]), after(200));
        assert_eq!(ledger.due(after(250), 9, 9), [], "someone may be replacing it");
        ledger.look(&found(&[("a", two)]), after(260));
        assert_eq!(ledger.due(after(360), 9, 9), [Step::Load("a".into(), two)]);
        ledger.handled(Path::new("a"), two);
        ledger.look(&found(&[]), after(400));
        assert_eq!(ledger.due(after(500), 9, 9), [Step::Remove("a".into())]);
        assert_eq!((ledger.due(after(900), 9, 9), ledger.next()), (vec![], None));
    }

    #[test]
    fn only_so_many_are_loaded_at_a_time() {
        let (_dir, one, _) = stamps();
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        ledger.look(&found(&[("a", one), ("b", one), ("c", one)]), start);
        let later = start + SETTLE;
        assert_eq!(ledger.due(later, 2, 9), [Step::Load("a".into(), one), Step::Load("b".into(), one)]);
        assert_eq!(ledger.due(later, 0, 9), []);
        ledger.handled(Path::new("a"), one);
        assert_eq!(ledger.due(later, 1, 9), [Step::Load("c".into(), one)]);
    }

    #[test]
    fn what_failed_in_passing_is_tried_again_in_a_while() {
        let (_dir, one, two) = stamps();
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        ledger.look(&found(&[("a", one)]), start);
        assert_eq!(ledger.due(after(100), 9, 9).len(), 1);
        ledger.later(Path::new("a"), one, after(5_000));
        assert!(ledger.is_settled() && ledger.due(after(4_000), 9, 9).is_empty());
        assert_eq!((ledger.next(), ledger.due(after(5_000), 9, 9).len()), (Some(after(5_000)), 1));
        ledger.later(Path::new("a"), one, after(60_000));
        ledger.look(&found(&[("a", two)]), after(6_000));
        assert_eq!(ledger.due(after(6_100), 9, 9), [Step::Load("a".into(), two)], "it is another one now");
    }

    #[test]
    fn one_too_many_is_left_alone_until_there_is_a_place() {
        let (_dir, one, two) = stamps();
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        ledger.look(&found(&[("a", one), ("b", one)]), start);
        assert_eq!(ledger.due(after(100), 9, 1), [Step::Load("a".into(), one), Step::Refuse("b".into())]);
        ledger.handled(Path::new("a"), one);
        ledger.look(&found(&[("a", two), ("b", one)]), after(200));
        assert_eq!(ledger.due(after(300), 9, 1), [Step::Load("a".into(), two)], "it has its place");
        ledger.handled(Path::new("a"), two);
        ledger.look(&found(&[("b", one)]), after(400));
        assert_eq!(ledger.due(after(500), 9, 1), [Step::Remove("a".into())]);
        assert_eq!(ledger.due(after(500), 9, 1), [Step::Load("b".into(), one)]);
    }

    #[test]
    fn what_is_decided_about_anew_is_looked_into_again() {
        let (_dir, one, _) = stamps();
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        ledger.look(&found(&[("a", one), ("b", one)]), start);
        let later = start + SETTLE;
        ledger.due(later, 9, 9);
        ledger.handled(Path::new("a"), one);
        assert!(!ledger.is_settled(), "b is being looked into");
        ledger.revisit();
        assert_eq!(ledger.due(later, 9, 9), [Step::Load("a".into(), one)]);
        ledger.handled(Path::new("b"), one);
        assert_eq!(
            ledger.due(later, 9, 9),
            [Step::Load("b".into(), one)],
            "it was looked into with what held before"
        );
        ledger.handled(Path::new("a"), one);
        ledger.handled(Path::new("b"), one);
        assert!(ledger.is_settled() && ledger.next().is_none());
    }
}
