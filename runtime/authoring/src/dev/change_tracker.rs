//! Whether the sources have changed so that a build is due.
//!
//! A build writes too, and often right beside the sources. Whoever took that for a change would build for ever; whoever
//! ignored all that happens during a build would lose what a person saves meanwhile. So all that differs when a build
//! ends from what it began with is built once more: a generator writes the same again and comes to rest, and what a
//! person has saved is in the next build. Only what is different after every build is taken for what they make, which
//! is told. When no build runs, every change counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::sources::SourceFiles;

/// After how many builds in a row a file has to be different to be taken for what they make: one of which nothing is
/// known, and one that a person has changed before.
const PATIENCE: (u8, u8) = (3, 7);

/// In how many builds in a row a person's file ends the one that runs; then it waits for its end.
const HASTE: u8 = 5;

/// How many builds in a row are begun since the one before has written, whatever it was.
const ROUNDS: u8 = 4;

/// What the sources were, and what builds have made among them.
#[derive(Debug, Default)]
pub(super) struct ChangeTracker {
    files: SourceFiles,
    /// What the build that runs, or the last one, began with.
    began: SourceFiles,
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
pub(super) struct RebuildDecision {
    /// What another build is due for.
    pub(super) again: Vec<PathBuf>,
    /// What is taken for what builds make from now on.
    pub(super) generated: Vec<PathBuf>,
}

impl ChangeTracker {
    /// For builds that are known to write these.
    pub(super) fn new(known: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { known: known.into_iter().collect(), ..Self::default() }
    }

    /// Notes how the sources look while no build runs: what has changed.
    pub(super) fn update_idle(&mut self, files: SourceFiles) -> Vec<PathBuf> {
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
    pub(super) fn build_started(&mut self) {
        self.began = self.files.clone();
    }

    /// Notes how the sources look while a build runs: what has changed so that it is out of date and need not end by
    /// itself. It ends so for a file of which nothing is known at most once.
    pub(super) fn update_building(&mut self, files: SourceFiles) -> Vec<PathBuf> {
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
    pub(super) fn build_stopped(&mut self, files: SourceFiles) -> Vec<PathBuf> {
        self.files = files;
        self.judge().generated
    }

    /// Notes how the sources look after a build.
    pub(super) fn build_ended(&mut self, files: SourceFiles) -> RebuildDecision {
        self.files = files;
        let changed: BTreeSet<PathBuf> = self.changed().into_iter().collect();
        self.streaks.retain(|path, _| changed.contains(path));
        let mut decision = self.judge();
        self.rounds = if decision.again.is_empty() { 0 } else { self.rounds.saturating_add(1) };
        if self.rounds >= ROUNDS {
            // Each writes other files than the one before.
            let new = |path: &PathBuf| !self.began.contains_key(path);
            let (new, old) = std::mem::take(&mut decision.again).into_iter().partition(new);
            decision.again = old;
            self.made.extend(Vec::clone(&new));
            decision.generated.extend(new);
        }
        let is_there = |path: &PathBuf| self.files.contains_key(path) || self.began.contains_key(path);
        for set in [&mut self.made, &mut self.suspects, &mut self.persons] {
            set.retain(is_there);
        }
        decision
    }

    /// Counts what is different, and tells what becomes of it.
    fn judge(&mut self) -> RebuildDecision {
        let mut decision = RebuildDecision::default();
        for path in self.changed() {
            let patience = if self.persons.contains(&path) { PATIENCE.1 } else { PATIENCE.0 };
            let streak = self.streaks.entry(path.clone()).or_default();
            *streak = streak.saturating_add(1);
            self.suspects.insert(path.clone());
            if *streak < patience {
                decision.again.push(path);
            } else {
                self.streaks.remove(&path);
                self.made.insert(path.clone());
                decision.generated.push(path);
            }
        }
        decision
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
fn differences(before: &SourceFiles, now: &SourceFiles) -> Vec<PathBuf> {
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    let here = now.iter().filter(|(path, content)| before.get(*path) != Some(*content));
    here.map(|(path, _)| path).chain(gone).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dev::sources::SourceContent;

    /// Files with this in them.
    fn files_of(files: &[(&str, u8)]) -> SourceFiles {
        files.iter().map(|(name, what)| (PathBuf::from(name), SourceContent::Digest([*what; 32]))).collect()
    }

    /// A tracker with a build that runs.
    fn building(files: &[(&str, u8)]) -> ChangeTracker {
        let mut tracker = ChangeTracker::new([PathBuf::from("Cargo.lock")]);
        assert_eq!(tracker.update_idle(files_of(files)).len(), files.len());
        tracker.build_started();
        tracker
    }

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_generator_that_writes_the_same_again_comes_to_rest() {
        let mut tracker = building(&[("a.rs", 1), ("gen.rs", 1)]);
        let now = files_of(&[("a.rs", 1), ("gen.rs", 2), ("new.rs", 1), ("Cargo.lock", 1)]);
        assert_eq!(tracker.update_building(now.clone()), paths(&["gen.rs"]), "it may be a person's");
        assert!(tracker.build_stopped(now.clone()).is_empty());
        tracker.build_started();
        assert!(tracker.update_building(now.clone()).is_empty());
        assert_eq!(tracker.build_ended(now.clone()), RebuildDecision::default());
        // What it writes after the next save ends no build, and is in the one after.
        let saved = files_of(&[("a.rs", 2), ("gen.rs", 2), ("new.rs", 1), ("Cargo.lock", 1)]);
        assert_eq!(tracker.update_idle(saved), paths(&["a.rs"]));
        tracker.build_started();
        let now = files_of(&[("a.rs", 2), ("gen.rs", 3), ("new.rs", 2), ("Cargo.lock", 2)]);
        assert!(tracker.update_building(now.clone()).is_empty());
        assert_eq!(tracker.build_ended(now.clone()).again, paths(&["gen.rs", "new.rs"]));
        tracker.build_started();
        assert_eq!(tracker.build_ended(now), RebuildDecision::default());
    }

    #[test]
    fn what_is_another_after_every_build_is_taken_for_what_they_make_and_told() {
        let mut tracker = building(&[("a.rs", 1)]);
        let mut what = 0;
        let mut end = |tracker: &mut ChangeTracker| {
            what += 1;
            let decision = tracker.build_ended(files_of(&[("a.rs", 1), ("time", what)]));
            tracker.build_started();
            decision
        };
        for _ in 1..PATIENCE.0 {
            assert_eq!(end(&mut tracker), RebuildDecision { again: paths(&["time"]), generated: Vec::new() });
        }
        assert_eq!(end(&mut tracker), RebuildDecision { again: Vec::new(), generated: paths(&["time"]) });
        assert_eq!(end(&mut tracker), RebuildDecision::default(), "told once");
        // Saved while no build runs: the next one tells whether it is a person's after all.
        let saved = files_of(&[("a.rs", 1), ("time", 98)]);
        assert_eq!(tracker.update_idle(saved.clone()), paths(&["time"]));
        tracker.build_started();
        let again = files_of(&[("a.rs", 1), ("time", 99)]);
        assert!(tracker.update_building(again.clone()).is_empty());
        assert_eq!(
            tracker.build_ended(again),
            RebuildDecision { again: Vec::new(), generated: paths(&["time"]) }
        );
        assert_eq!(tracker.update_idle(saved.clone()), paths(&["time"]));
        tracker.build_started();
        assert_eq!(tracker.build_ended(saved), RebuildDecision::default());
        tracker.build_started();
        assert_eq!(
            tracker.update_building(files_of(&[("a.rs", 1), ("time", 97)])),
            paths(&["time"]),
            "it is"
        );
    }

    #[test]
    fn builds_that_write_other_files_each_time_come_to_rest() {
        let mut tracker = building(&[("a.rs", 1)]);
        let mut files = vec![("a.rs", 1)];
        for name in ["1", "2", "3"] {
            files.push((name, 1));
            assert_eq!(tracker.build_ended(files_of(&files)).again, paths(&[name]));
            tracker.build_started();
        }
        files.push(("4", 1));
        assert_eq!(
            tracker.build_ended(files_of(&files)),
            RebuildDecision { again: Vec::new(), generated: paths(&["4"]) }
        );
    }

    #[test]
    fn what_a_person_saves_while_builds_run_is_not_lost() {
        let mut tracker = building(&[("a.rs", 1), ("b.rs", 1)]);
        // First saved during builds, and no build has it yet.
        assert_eq!(tracker.update_building(files_of(&[("a.rs", 2), ("b.rs", 1)])), paths(&["a.rs"]));
        assert!(tracker.build_stopped(files_of(&[("a.rs", 2), ("b.rs", 1)])).is_empty());
        tracker.build_started();
        assert!(tracker.update_building(files_of(&[("a.rs", 3), ("b.rs", 1)])).is_empty());
        assert_eq!(tracker.build_ended(files_of(&[("a.rs", 3), ("b.rs", 1)])).again, paths(&["a.rs"]));
        tracker.build_started();
        assert_eq!(tracker.build_ended(files_of(&[("a.rs", 3), ("b.rs", 1)])), RebuildDecision::default());
        // One that was saved before while nothing ran ends builds again and again.
        assert_eq!(tracker.update_idle(files_of(&[("a.rs", 3), ("b.rs", 2)])), paths(&["b.rs"]));
        for what in 3..3 + HASTE {
            tracker.build_started();
            let now = files_of(&[("a.rs", 3), ("b.rs", what)]);
            assert_eq!(tracker.update_building(now.clone()), paths(&["b.rs"]));
            assert!(tracker.build_stopped(now).is_empty());
        }
        tracker.build_started();
        assert!(tracker.update_building(files_of(&[("a.rs", 3), ("b.rs", 50)])).is_empty());
        assert_eq!(tracker.build_ended(files_of(&[("a.rs", 3), ("b.rs", 50)])).again, paths(&["b.rs"]));
        tracker.build_started();
        assert_eq!(
            tracker.build_ended(files_of(&[("a.rs", 3), ("b.rs", 51)])).generated,
            paths(&["b.rs"]),
            "there is an end"
        );
    }

    #[test]
    fn what_is_deleted_counts_and_what_cargo_writes_is_known() {
        let mut tracker = building(&[("a.rs", 1), ("b.rs", 1)]);
        assert_eq!(tracker.update_building(files_of(&[("a.rs", 1)])), paths(&["b.rs"]));
        tracker.build_started();
        assert_eq!(
            tracker.build_ended(files_of(&[("a.rs", 1), ("Cargo.lock", 1)])),
            RebuildDecision::default()
        );
        assert_eq!(tracker.update_idle(files_of(&[("a.rs", 1), ("Cargo.lock", 2)])), paths(&["Cargo.lock"]));
    }
}
