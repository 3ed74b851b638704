//! What the host does for a guest: functions with arguments that are much too large, checks that a guest's own schemas make
//! dear, and what is kept behind a handle.

use super::Shown::{Contained, Test};
use super::{Attack, ENDED, Entry, Ground};

const LITTLE_TIME: &str = "limits = { fuel = 1_000_000_000_000, cpu_ms = 50 }";
const SOME_TIME: &str = "limits = { cpu_ms = 100 }";
const KEEPING: &str = "grants = { kv = true }\nlimits = { fuel = 1_000_000_000_000, cpu_ms = 50 }";
const ASKING: &str = "grants = { sampling = true, elicitation = true, roots = true }\nlimits = { fuel = 1_000_000_000_000, cpu_ms = 50 }";

const GUEST: &str = "hostile_library_calls";

/// Which one comes first depends on the machine.
const LIMIT: &str = "(limit `";

const fn endless(arguments: &'static str, config: &'static str) -> super::Shown {
    Contained(Attack::call(GUEST, "repeat", "limit", LIMIT).with(arguments).under(config).times(10))
}

const fn once(arguments: &'static str, config: &'static str) -> super::Shown {
    Contained(Attack::call(GUEST, "repeat", ENDED, "").with(arguments).under(config).times(5))
}

const fn check(kind: &'static str, bytes: &'static str) -> super::Shown {
    Contained(Attack::call("hostile_dear_checks", kind, ENDED, "").with(bytes).under(SOME_TIME).times(5))
}

/// As much as one call of the host may hand over.
macro_rules! long {
    ($function:literal) => {
        concat!(r#"{"function":""#, $function, r#"","bytes":7500000,"times":0}"#)
    };
}

/// So often that a handle is kept for each.
macro_rules! kept {
    ($function:literal) => {
        concat!(r#"{"function":""#, $function, r#"","bytes":7500000,"times":120}"#)
    };
}

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "F5",
        name: "large_calls",
        what: "calls functions of the host with megabytes, again and again",
        shown: &[
            endless(long!("resolve"), LITTLE_TIME),
            endless(long!("fields-has"), LITTLE_TIME),
            endless(long!("fields-append"), LITTLE_TIME),
            endless(long!("fields-append-value"), LITTLE_TIME),
            endless(long!("set-method"), LITTLE_TIME),
            endless(long!("set-authority"), LITTLE_TIME),
            endless(long!("set-path-with-query"), LITTLE_TIME),
            endless(long!("log"), LITTLE_TIME),
            endless(long!("log-json"), LITTLE_TIME),
            endless(long!("progress"), LITTLE_TIME),
            endless(long!("config-get"), LITTLE_TIME),
            endless(long!("resource-updated"), LITTLE_TIME),
            endless(long!("sampling"), ASKING),
            endless(long!("elicitation-choices"), ASKING),
            endless(long!("gather"), ASKING),
            endless(long!("kv-get"), KEEPING),
            endless(long!("kv-set-many"), KEEPING),
            Contained(
                Attack::call(GUEST, "repeat", "limit", LIMIT)
                    .with(long!("open-at"))
                    .under(LITTLE_TIME)
                    .on(Ground::Directory { write: true })
                    .times(10),
            ),
            Contained(
                Attack::call(GUEST, "repeat", "limit", LIMIT)
                    .with(long!("symlink-at"))
                    .under(LITTLE_TIME)
                    .on(Ground::Directory { write: true })
                    .times(10),
            ),
            Test("what_a_client_says_of_itself_is_not_read_anew_for_nothing"),
        ],
    },
    Entry {
        id: "F6",
        name: "kept_behind_handles",
        what: "has the host keep megabytes behind each of many handles",
        shown: &[
            once(kept!("kv-cas"), "grants = { kv = true }"),
            once(kept!("set-method"), ""),
            once(kept!("set-authority"), ""),
            once(kept!("set-path-with-query"), ""),
        ],
    },
    Entry {
        id: "F7",
        name: "dear_checks",
        what: "has results checked against schemas that are dear to check: choices, unique items, patterns, huge numbers",
        shown: &[
            check("mixed_enum", r#"{"bytes":1000000}"#),
            check("long_enum", r#"{"bytes":1000000}"#),
            check("unique_lists", r#"{"bytes":1000000}"#),
            check("unique_objects", r#"{"bytes":300000}"#),
            check("one_of", r#"{"bytes":1000000}"#),
            check("each", r#"{"bytes":1000000}"#),
            check("pattern", r#"{"bytes":1000000}"#),
            check("digits", r#"{"bytes":1000000}"#),
            check("unevaluated", r#"{"bytes":300000}"#),
        ],
    },
    Entry {
        id: "F8",
        name: "quota_race",
        what: "fills a granted directory from many calls at once",
        shown: &[Test("eight_calls_at_once_stay_within_one_quota")],
    },
];
