//! The files in a component: their sections, their names, skills and apps.

use super::Evidence::{Contained, Test};
use super::{Attack, Entry, Evidence, Source};

/// A file that is rejected when the server starts.
const fn file(name: &'static str, says: &'static str) -> Evidence {
    Contained(Attack::rejected(Source::Made(name), says))
}

/// A plugin whose tool is published without the file.
const fn without(name: &'static str, says: &'static [&'static str]) -> Evidence {
    Contained(Attack::published(Source::Made(name), &["version"], says))
}

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "H43",
        name: "files_that_claim",
        what: "sections of files that claim gigabytes, are too many, or of a later format",
        evidence: &[
            file("files_path_of_4_gib", "has a damaged section `plugport:files`"),
            file("files_section_of_4_gib", "is damaged or truncated"),
            file("files_later_format", "has files in format 2"),
            file("files_many", "has more than 512 files"),
        ],
    },
    Entry {
        id: "H44",
        name: "files_that_climb",
        what: "files whose names climb, are absolute, or are one on some systems",
        evidence: &[
            file("files_climbing", "has the part `..`"),
            file("files_absolute", "has the part ``"),
            file("files_twice", "has two files `skills/a/b`"),
        ],
    },
    Entry {
        id: "H45",
        name: "skill_bombs",
        what: "frontmatter with anchors, tags, ten thousand keys, deep maps and hidden words",
        evidence: &[
            without("skill_laughs", &["line 4: anchors, aliases and tags are not read"]),
            without("skill_tag", &["line 4: anchors, aliases and tags are not read"]),
            without("skill_keys", &["the frontmatter has more than 16 KiB"]),
            without("skill_deep", &["maps are nested more than 3 deep"]),
            without("skill_hidden", &["can hide words from a reader"]),
        ],
    },
    Entry {
        id: "H46",
        name: "app_that_phones_home",
        what: "HTML that sends what it shows to a host that nobody granted",
        evidence: &[
            without("app_phones_home", &["connects to https://a.test and is not granted that"]),
            Test("an_app_reaches_what_is_granted_and_approved"),
        ],
    },
    Entry {
        id: "H47",
        name: "app_of_a_guest",
        what: "HTML that a guest makes itself, and that asks for hosts in a list, a read and a result",
        evidence: &[
            Contained(Attack::call(
                "hostile_app",
                "embed",
                "invalid_result",
                "connects to https://evil.test and uses camera and is not granted that",
            )),
            Test("an_app_that_a_guest_makes_asks_for_no_more_than_is_granted"),
        ],
    },
];
