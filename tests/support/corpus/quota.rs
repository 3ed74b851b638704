//! Quotas of directories, attacked by several calls at once.

use super::Evidence::{Contained, Soak, Test};
use super::{Attack, AttackGrant, Entry};

const WRITE: AttackGrant = AttackGrant::Directory { write: true };

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "Q1",
        name: "quota_race",
        what: "renames, links, empties, deletes and writes at random while the quota is measured",
        evidence: &[
            Contained(
                Attack::call("hostile_quota_race", "race", "ok", "done")
                    .arguments(r#"{"directory": "/d", "seed": 7, "ms": 100}"#)
                    .granted(WRITE)
                    .times(10),
            ),
            Test("hostile_quota_race"),
            Soak("soak_hostile_quota_race"),
        ],
    },
    Entry {
        id: "Q2",
        name: "long_paths",
        what: "hands paths of 8 MB to every function that takes one",
        evidence: &[
            Contained(
                Attack::call("hostile_quota_race", "long_paths", "ok", "name-too-long")
                    .arguments(r#"{"directory": "/d", "times": 1}"#)
                    .granted(WRITE)
                    .times(3),
            ),
            Test("impossible_paths_are_rejected_before_they_are_opened"),
        ],
    },
];
