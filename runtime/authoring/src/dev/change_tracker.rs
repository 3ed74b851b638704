//! Decides from changes of the sources whether a build is due.
//!
//! A build writes files too, often next to the sources. If every change caused a build, builds would never end; if
//! changes during a build were ignored, files that a person saves meanwhile would be lost. So everything that changed
//! while a build ran causes one more build. A generator then writes the same content again and the builds stop, and the
//! next build has what a person has saved. Only a file that differs after every build counts as generated, which is
//! reported. While no build runs, every change counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::sources::SourceFiles;

/// After how many builds in a row with changes a file counts as generated: a file of unknown origin, and a file that a
/// person has changed before.
const GENERATED_AFTER: (u8, u8) = (3, 7);

/// How many builds in a row a change of a person's file stops; after that the change waits for the end of the build.
const MAX_STOPPED_BUILDS: u8 = 5;

/// How many builds in a row may be caused by files that the build before has written.
const MAX_REPEATED_BUILDS: u8 = 4;

/// The state of the sources, and which of them builds have written.
#[derive(Debug, Default)]
pub(super) struct ChangeTracker {
    files: SourceFiles,
    /// The sources at the start of the current or last build.
    at_start: SourceFiles,
    /// Files that builds are known to write.
    known: BTreeSet<PathBuf>,
    /// Files that turned out to be generated.
    generated: BTreeSet<PathBuf>,
    /// Files that changed while no build ran, and so were changed by a person.
    edited: BTreeSet<PathBuf>,
    /// Files that changed during builds.
    suspects: BTreeSet<PathBuf>,
    /// After how many builds in a row each file was different.
    streaks: BTreeMap<PathBuf, u8>,
    repeated_builds: u8,
}

/// What to do after the end of a build.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RebuildDecision {
    /// Files that cause another build.
    pub(super) again: Vec<PathBuf>,
    /// Files that count as generated from now on.
    pub(super) generated: Vec<PathBuf>,
}

impl ChangeTracker {
    /// A tracker for builds that are known to write these files.
    pub(super) fn new(known: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { known: known.into_iter().collect(), ..Self::default() }
    }

    /// Updates the sources while no build runs, and returns what has changed.
    pub(super) fn update_idle(&mut self, files: SourceFiles) -> Vec<PathBuf> {
        let changed = differences(&self.files, &files);
        let before = std::mem::replace(&mut self.files, files);
        if !changed.is_empty() && !before.is_empty() {
            for path in &changed {
                if self.generated.remove(path) {
                    // The next build shows whether it is generated after all.
                    self.streaks.insert(path.clone(), GENERATED_AFTER.1 - 1);
                }
                self.edited.insert(path.clone());
            }
            self.repeated_builds = 0;
        }
        changed
    }

    /// Notes that a build starts with the current sources.
    pub(super) fn build_started(&mut self) {
        self.at_start = self.files.clone();
    }

    /// Updates the sources while a build runs, and returns the changes that make the build outdated, so that it can be
    /// stopped. A file of unknown origin stops a build at most once.
    pub(super) fn update_building(&mut self, files: SourceFiles) -> Vec<PathBuf> {
        self.files = files;
        let mut changed = self.changed();
        changed.retain(|path| {
            let is_new = self.suspects.insert(path.clone());
            let may_stop = self.edited.contains(path) && self.streak(path) < MAX_STOPPED_BUILDS;
            self.at_start.contains_key(path) && (is_new || may_stop)
        });
        changed
    }

    /// Updates the sources after a build was stopped, and returns the files that count as generated from now on.
    pub(super) fn build_stopped(&mut self, files: SourceFiles) -> Vec<PathBuf> {
        self.files = files;
        self.decide().generated
    }

    /// Updates the sources after a build, and decides what to do.
    pub(super) fn build_ended(&mut self, files: SourceFiles) -> RebuildDecision {
        self.files = files;
        let changed: BTreeSet<PathBuf> = self.changed().into_iter().collect();
        self.streaks.retain(|path, _| changed.contains(path));
        let mut decision = self.decide();
        self.repeated_builds =
            if decision.again.is_empty() { 0 } else { self.repeated_builds.saturating_add(1) };
        if self.repeated_builds >= MAX_REPEATED_BUILDS {
            // Every build writes new files.
            let new = |path: &PathBuf| !self.at_start.contains_key(path);
            let (new, old) = std::mem::take(&mut decision.again).into_iter().partition(new);
            decision.again = old;
            self.generated.extend(Vec::clone(&new));
            decision.generated.extend(new);
        }
        let is_there = |path: &PathBuf| self.files.contains_key(path) || self.at_start.contains_key(path);
        for set in [&mut self.generated, &mut self.suspects, &mut self.edited] {
            set.retain(is_there);
        }
        decision
    }

    /// Counts for each changed file how often it was different, and decides what that means.
    fn decide(&mut self) -> RebuildDecision {
        let mut decision = RebuildDecision::default();
        for path in self.changed() {
            let generated_after =
                if self.edited.contains(&path) { GENERATED_AFTER.1 } else { GENERATED_AFTER.0 };
            let streak = self.streaks.entry(path.clone()).or_default();
            *streak = streak.saturating_add(1);
            self.suspects.insert(path.clone());
            if *streak < generated_after {
                decision.again.push(path);
            } else {
                self.streaks.remove(&path);
                self.generated.insert(path.clone());
                decision.generated.push(path);
            }
        }
        decision
    }

    /// The files that differ from those at the start of the build, without known and generated files.
    fn changed(&self) -> Vec<PathBuf> {
        let mut changed = differences(&self.at_start, &self.files);
        changed.retain(|path| !self.known.contains(path) && !self.generated.contains(path));
        changed
    }

    fn streak(&self, path: &Path) -> u8 {
        self.streaks.get(path).copied().unwrap_or_default()
    }
}

/// The files that are new, gone or changed.
fn differences(before: &SourceFiles, now: &SourceFiles) -> Vec<PathBuf> {
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    let here = now.iter().filter(|(path, content)| before.get(*path) != Some(*content));
    here.map(|(path, _)| path).chain(gone).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dev::sources::SourceContent;

    /// Files with these contents.
    fn files_of(files: &[(&str, u8)]) -> SourceFiles {
        files.iter().map(|(name, what)| (PathBuf::from(name), SourceContent::Digest([*what; 32]))).collect()
    }

    /// A tracker during a build.
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
    fn a_generator_that_writes_the_same_again_causes_no_more_builds() {
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
        for _ in 1..GENERATED_AFTER.0 {
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
    fn builds_that_write_other_files_each_time_come_to_an_end() {
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
        for what in 3..3 + MAX_STOPPED_BUILDS {
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
