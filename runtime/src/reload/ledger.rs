//! What is known of each file in the folder, and which of them it is time to look into.
//!
//! A file is looked into when it has not changed for a moment: copying takes a while, and half a plugin is none. The same
//! holds for one that is gone, since many programs replace a file by deleting it first. Pure, so that every order of
//! events can be tried.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use super::stamp::Stamp;

/// For how long a file must stay the same.
pub(super) const SETTLE: Duration = Duration::from_millis(100);

/// The files, by path.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    files: BTreeMap<PathBuf, File>,
}

#[derive(Debug)]
struct File {
    /// As it was last seen; `None` when it is gone.
    stamp: Option<Stamp>,
    since: Instant,
    /// As it was when it was last looked into, whatever came of that.
    handled: Option<Stamp>,
    busy: bool,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Look into a file that is new or has changed.
    Load(PathBuf, Stamp),
    /// Forget one that is gone.
    Remove(PathBuf),
}

impl Ledger {
    /// A ledger of files that were looked into already.
    pub(super) fn knowing(known: BTreeMap<PathBuf, Stamp>, now: Instant) -> Self {
        let file = |stamp| File { stamp: Some(stamp), since: now, handled: Some(stamp), busy: false };
        Self { files: known.into_iter().map(|(path, stamp)| (path, file(stamp))).collect() }
    }

    /// Notes what lies in the folder now.
    pub(super) fn look(&mut self, found: &BTreeMap<PathBuf, Stamp>, now: Instant) {
        for (path, stamp) in found {
            let new = || File { stamp: Some(*stamp), since: now, handled: None, busy: false };
            let file = self.files.entry(path.clone()).or_insert_with(new);
            if file.stamp != Some(*stamp) {
                (file.stamp, file.since) = (Some(*stamp), now);
            }
        }
        for (path, file) in &mut self.files {
            if file.stamp.is_some() && !found.contains_key(path) {
                (file.stamp, file.since) = (None, now);
            }
        }
    }

    /// What it is time to do, at most `room` files to look into; they count as begun.
    pub(super) fn due(&mut self, now: Instant, room: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut room = room;
        for (path, file) in &mut self.files {
            if file.busy || file.stamp == file.handled || file.since + SETTLE > now {
                continue;
            }
            match file.stamp {
                None => steps.push(Step::Remove(path.clone())),
                Some(stamp) if room > 0 => {
                    room -= 1;
                    file.busy = true;
                    steps.push(Step::Load(path.clone(), stamp));
                }
                Some(_) => {}
            }
        }
        self.files.retain(|_, file| file.busy || file.stamp.is_some() || file.since + SETTLE > now);
        steps
    }

    /// A file was looked into as it was at `stamp`.
    pub(super) fn handled(&mut self, path: &Path, stamp: Stamp) {
        if let Some(file) = self.files.get_mut(path) {
            (file.handled, file.busy) = (Some(stamp), false);
        }
    }

    /// A file was different from what it should have been when it was read, so it is looked into again.
    pub(super) fn changed(&mut self, path: &Path, now: Instant) {
        if let Some(file) = self.files.get_mut(path) {
            (file.since, file.busy) = (now, false);
        }
    }

    /// When to look again although nobody says that anything happened; `None` when all is settled.
    pub(super) fn next(&self) -> Option<Instant> {
        let open = self.files.values().filter(|file| !file.busy && file.stamp != file.handled);
        open.map(|file| file.since + SETTLE).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stamps of files that differ.
    fn stamps() -> (tempfile::TempDir, Stamp, Stamp) {
        let dir = tempfile::tempdir().unwrap();
        let stamp = |name: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, name).unwrap();
            Stamp::of(&path).unwrap()
        };
        let (one, two) = (stamp("one"), stamp("another"));
        (dir, one, two)
    }

    fn found(files: &[(&str, Stamp)]) -> BTreeMap<PathBuf, Stamp> {
        files.iter().map(|(path, stamp)| (PathBuf::from(path), *stamp)).collect()
    }

    #[test]
    fn a_file_is_loaded_once_it_stays_the_same() {
        let (_dir, one, two) = stamps();
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        ledger.look(&found(&[("a", one)]), start);
        assert_eq!(ledger.due(after(50), 9), []);
        ledger.look(&found(&[("a", two)]), after(60));
        assert_eq!(ledger.due(after(100), 9), [], "it has changed meanwhile");
        assert_eq!(ledger.next(), Some(after(160)));
        assert_eq!(ledger.due(after(160), 9), [Step::Load("a".into(), two)]);
        assert_eq!(ledger.due(after(500), 9), [], "it is being loaded");
        ledger.handled(Path::new("a"), two);
        ledger.look(&found(&[("a", two)]), after(600));
        assert_eq!((ledger.due(after(900), 9), ledger.next()), (vec![], None));
    }

    #[test]
    fn what_changes_while_it_is_loaded_is_loaded_again() {
        let (_dir, one, two) = stamps();
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        ledger.look(&found(&[("a", one)]), start);
        assert_eq!(ledger.due(after(100), 9).len(), 1);
        ledger.look(&found(&[("a", two)]), after(150));
        ledger.handled(Path::new("a"), one);
        assert_eq!(ledger.due(after(200), 9), []);
        assert_eq!(ledger.due(after(250), 9), [Step::Load("a".into(), two)]);
        ledger.changed(Path::new("a"), after(300));
        assert_eq!(ledger.due(after(400), 9), [Step::Load("a".into(), two)]);
    }

    #[test]
    fn a_file_that_is_gone_is_forgotten_after_a_moment_and_may_come_back() {
        let (_dir, one, two) = stamps();
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        ledger.look(&found(&[("a", one)]), start);
        ledger.due(after(100), 9);
        ledger.handled(Path::new("a"), one);
        ledger.look(&found(&[]), after(200));
        assert_eq!(ledger.due(after(250), 9), [], "someone may be replacing it");
        ledger.look(&found(&[("a", two)]), after(260));
        assert_eq!(ledger.due(after(360), 9), [Step::Load("a".into(), two)]);
        ledger.handled(Path::new("a"), two);
        ledger.look(&found(&[]), after(400));
        assert_eq!(ledger.due(after(500), 9), [Step::Remove("a".into())]);
        assert_eq!((ledger.due(after(900), 9), ledger.next()), (vec![], None));
    }

    #[test]
    fn only_so_many_are_loaded_at_a_time() {
        let (_dir, one, _) = stamps();
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        ledger.look(&found(&[("a", one), ("b", one), ("c", one)]), start);
        let later = start + SETTLE;
        assert_eq!(ledger.due(later, 2), [Step::Load("a".into(), one), Step::Load("b".into(), one)]);
        assert_eq!(ledger.due(later, 0), []);
        ledger.handled(Path::new("a"), one);
        assert_eq!(ledger.due(later, 1), [Step::Load("c".into(), one)]);
    }
}
