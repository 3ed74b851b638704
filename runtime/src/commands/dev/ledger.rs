//! Whether the sources have changed so that a build is due.
//!
//! A build writes too, and often right beside the sources. Whoever took that for a change would build for ever; whoever
//! ignored all that happens during a build would lose what a person saves meanwhile. So all that differs when a build
//! ends from what it began with is built once more: a generator writes the same again and comes to rest, and what a
//! person has saved is in the next build. Only what is different after every build is taken for what they make, which
//! is told. When no build runs, every change counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::sources::Files;

/// After how many builds in a row a file has to be different to be taken for what they make: one of which nothing is
/// known, and one that a person has changed before.
const PATIENCE: (u8, u8) = (3, 7);

/// In how many builds in a row a person's file ends the one that runs; then it waits for its end.
const HASTE: u8 = 5;

/// How many builds in a row are begun since the one before has written, whatever it was.
const ROUNDS: u8 = 4;

/// What the sources were, and what builds have made among them.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    files: Files,
    /// What the build that runs, or the last one, began with.
    began: Files,
    /// What builds are known to write.
    known: BTreeSet<PathBuf>,
    /// What they have turned out to write anew each time.
    made: BTreeSet<PathBuf>,
    /// What has changed while no build ran, and so by a person.
    persons: BTreeSet<PathBuf>,
    /// What has changed during builds.
    suspects: BTreeSet<PathBuf>,
    /// After how many builds in a row each was different.
    streaks: BTreeMap<PathBuf, u8>,
    rounds: u8,
}

/// What follows from the end of a build.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// What another build is due for.
    pub(super) again: Vec<PathBuf>,
    /// What is taken for what builds make from now on.
    pub(super) taken: Vec<PathBuf>,
}

impl Ledger {
    /// For builds that are known to write these.
    pub(super) fn new(known: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { known: known.into_iter().collect(), ..Self::default() }
    }

    /// Notes how the sources look while no build runs: what has changed.
    pub(super) fn idle(&mut self, files: Files) -> Vec<PathBuf> {
        let changed = differences(&self.files, &files);
        let before = std::mem::replace(&mut self.files, files);
        if !changed.is_empty() && !before.is_empty() {
            for path in &changed {
                if self.made.remove(path) {
                    // The next build shows whose it is.
                    self.streaks.insert(path.clone(), PATIENCE.1 - 1);
                }
                self.persons.insert(path.clone());
            }
            self.rounds = 0;
        }
        changed
    }

    /// A build begins with what was seen last.
    pub(super) fn begin(&mut self) {
        self.began = self.files.clone();
    }

    /// Notes how the sources look while a build runs: what has changed so that it is out of date and need not end by
    /// itself. It ends so for a file of which nothing is known at most once.
    pub(super) fn during(&mut self, files: Files) -> Vec<PathBuf> {
        self.files = files;
        let mut changed = self.changed();
        changed.retain(|path| {
            let is_new = self.suspects.insert(path.clone());
            let hurries = self.persons.contains(path) && self.streak(path) < HASTE;
            self.began.contains_key(path) && (is_new || hurries)
        });
        changed
    }

    /// Notes how the sources look after a build that was ended: what is taken for what builds make.
    pub(super) fn stopped(&mut self, files: Files) -> Vec<PathBuf> {
        self.files = files;
        self.judge().taken
    }

    /// Notes how the sources look after a build.
    pub(super) fn ended(&mut self, files: Files) -> Verdict {
        self.files = files;
        let changed: BTreeSet<PathBuf> = self.changed().into_iter().collect();
        self.streaks.retain(|path, _| changed.contains(path));
        let mut verdict = self.judge();
        self.rounds = if verdict.again.is_empty() { 0 } else { self.rounds.saturating_add(1) };
        if self.rounds >= ROUNDS {
            // Each writes other files than the one before.
            let new = |path: &PathBuf| !self.began.contains_key(path);
            let (new, old) = std::mem::take(&mut verdict.again).into_iter().partition(new);
            verdict.again = old;
            self.made.extend(Vec::clone(&new));
            verdict.taken.extend(new);
        }
        let is_there = |path: &PathBuf| self.files.contains_key(path) || self.began.contains_key(path);
        for set in [&mut self.made, &mut self.suspects, &mut self.persons] {
            set.retain(is_there);
        }
        verdict
    }

    /// Counts what is different, and tells what becomes of it.
    fn judge(&mut self) -> Verdict {
        let mut verdict = Verdict::default();
        for path in self.changed() {
            let patience = if self.persons.contains(&path) { PATIENCE.1 } else { PATIENCE.0 };
            let streak = self.streaks.entry(path.clone()).or_default();
            *streak = streak.saturating_add(1);
            self.suspects.insert(path.clone());
            if *streak < patience {
                verdict.again.push(path);
            } else {
                self.streaks.remove(&path);
                self.made.insert(path.clone());
                verdict.taken.push(path);
            }
        }
        verdict
    }

    /// What differs from what the build began with, and is not known to be its own.
    fn changed(&self) -> Vec<PathBuf> {
        let mut changed = differences(&self.began, &self.files);
        changed.retain(|path| !self.known.contains(path) && !self.made.contains(path));
        changed
    }

    fn streak(&self, path: &Path) -> u8 {
        self.streaks.get(path).copied().unwrap_or_default()
    }
}

/// What is new, gone or another.
fn differences(before: &Files, now: &Files) -> Vec<PathBuf> {
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    let here = now.iter().filter(|(path, content)| before.get(*path) != Some(*content));
    here.map(|(path, _)| path).chain(gone).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::sources::Content;
    use super::*;

    /// Files with this in them.
    fn look(files: &[(&str, u8)]) -> Files {
        files.iter().map(|(name, what)| (PathBuf::from(name), Content::Digest([*what; 32]))).collect()
    }

    /// A ledger with a build that runs.
    fn building(files: &[(&str, u8)]) -> Ledger {
        let mut ledger = Ledger::new([PathBuf::from("Cargo.lock")]);
        assert_eq!(ledger.idle(look(files)).len(), files.len());
        ledger.begin();
        ledger
    }

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_generator_that_writes_the_same_again_comes_to_rest() {
        let mut ledger = building(&[("a.rs", 1), ("gen.rs", 1)]);
        let now = look(&[("a.rs", 1), ("gen.rs", 2), ("new.rs", 1), ("Cargo.lock", 1)]);
        assert_eq!(ledger.during(now.clone()), paths(&["gen.rs"]), "it may be a person's");
        assert!(ledger.stopped(now.clone()).is_empty());
        ledger.begin();
        assert!(ledger.during(now.clone()).is_empty());
        assert_eq!(ledger.ended(now.clone()), Verdict::default());
        // What it writes after the next save ends no build, and is in the one after.
        let saved = look(&[("a.rs", 2), ("gen.rs", 2), ("new.rs", 1), ("Cargo.lock", 1)]);
        assert_eq!(ledger.idle(saved), paths(&["a.rs"]));
        ledger.begin();
        let now = look(&[("a.rs", 2), ("gen.rs", 3), ("new.rs", 2), ("Cargo.lock", 2)]);
        assert!(ledger.during(now.clone()).is_empty());
        assert_eq!(ledger.ended(now.clone()).again, paths(&["gen.rs", "new.rs"]));
        ledger.begin();
        assert_eq!(ledger.ended(now), Verdict::default());
    }

    #[test]
    fn what_is_another_after_every_build_is_taken_for_what_they_make_and_told() {
        let mut ledger = building(&[("a.rs", 1)]);
        let mut what = 0;
        let mut end = |ledger: &mut Ledger| {
            what += 1;
            let verdict = ledger.ended(look(&[("a.rs", 1), ("time", what)]));
            ledger.begin();
            verdict
        };
        for _ in 1..PATIENCE.0 {
            assert_eq!(end(&mut ledger), Verdict { again: paths(&["time"]), taken: Vec::new() });
        }
        assert_eq!(end(&mut ledger), Verdict { again: Vec::new(), taken: paths(&["time"]) });
        assert_eq!(end(&mut ledger), Verdict::default(), "told once");
        // Saved while no build runs: the next one tells whether it is a person's after all.
        let saved = look(&[("a.rs", 1), ("time", 98)]);
        assert_eq!(ledger.idle(saved.clone()), paths(&["time"]));
        ledger.begin();
        let again = look(&[("a.rs", 1), ("time", 99)]);
        assert!(ledger.during(again.clone()).is_empty());
        assert_eq!(ledger.ended(again), Verdict { again: Vec::new(), taken: paths(&["time"]) });
        assert_eq!(ledger.idle(saved.clone()), paths(&["time"]));
        ledger.begin();
        assert_eq!(ledger.ended(saved), Verdict::default());
        ledger.begin();
        assert_eq!(ledger.during(look(&[("a.rs", 1), ("time", 97)])), paths(&["time"]), "it is");
    }

    #[test]
    fn builds_that_write_other_files_each_time_come_to_rest() {
        let mut ledger = building(&[("a.rs", 1)]);
        let mut files = vec![("a.rs", 1)];
        for name in ["1", "2", "3"] {
            files.push((name, 1));
            assert_eq!(ledger.ended(look(&files)).again, paths(&[name]));
            ledger.begin();
        }
        files.push(("4", 1));
        assert_eq!(ledger.ended(look(&files)), Verdict { again: Vec::new(), taken: paths(&["4"]) });
    }

    #[test]
    fn what_a_person_saves_while_builds_run_is_not_lost() {
        let mut ledger = building(&[("a.rs", 1), ("b.rs", 1)]);
        // First saved during builds, and no build has it yet.
        assert_eq!(ledger.during(look(&[("a.rs", 2), ("b.rs", 1)])), paths(&["a.rs"]));
        assert!(ledger.stopped(look(&[("a.rs", 2), ("b.rs", 1)])).is_empty());
        ledger.begin();
        assert!(ledger.during(look(&[("a.rs", 3), ("b.rs", 1)])).is_empty());
        assert_eq!(ledger.ended(look(&[("a.rs", 3), ("b.rs", 1)])).again, paths(&["a.rs"]));
        ledger.begin();
        assert_eq!(ledger.ended(look(&[("a.rs", 3), ("b.rs", 1)])), Verdict::default());
        // One that was saved before while nothing ran ends builds again and again.
        assert_eq!(ledger.idle(look(&[("a.rs", 3), ("b.rs", 2)])), paths(&["b.rs"]));
        for what in 3..3 + HASTE {
            ledger.begin();
            let now = look(&[("a.rs", 3), ("b.rs", what)]);
            assert_eq!(ledger.during(now.clone()), paths(&["b.rs"]));
            assert!(ledger.stopped(now).is_empty());
        }
        ledger.begin();
        assert!(ledger.during(look(&[("a.rs", 3), ("b.rs", 50)])).is_empty());
        assert_eq!(ledger.ended(look(&[("a.rs", 3), ("b.rs", 50)])).again, paths(&["b.rs"]));
        ledger.begin();
        assert_eq!(
            ledger.ended(look(&[("a.rs", 3), ("b.rs", 51)])).taken,
            paths(&["b.rs"]),
            "there is an end"
        );
    }

    #[test]
    fn what_is_deleted_counts_and_what_cargo_writes_is_known() {
        let mut ledger = building(&[("a.rs", 1), ("b.rs", 1)]);
        assert_eq!(ledger.during(look(&[("a.rs", 1)])), paths(&["b.rs"]));
        ledger.begin();
        assert_eq!(ledger.ended(look(&[("a.rs", 1), ("Cargo.lock", 1)])), Verdict::default());
        assert_eq!(ledger.idle(look(&[("a.rs", 1), ("Cargo.lock", 2)])), paths(&["Cargo.lock"]));
    }
}
