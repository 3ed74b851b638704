//! What the host does for a guest: functions with arguments that are much too large.

use super::Shown::{Contained, Test};
use super::{Attack, Entry, Ground};

const LITTLE_TIME: &str = "limits = { fuel = 1_000_000_000_000, cpu_ms = 50 }";
const KEEPING: &str = "grants = { kv = true }\nlimits = { fuel = 1_000_000_000_000, cpu_ms = 50 }";
const ASKING: &str = "grants = { sampling = true, elicitation = true, roots = true }\nlimits = { fuel = 1_000_000_000_000, cpu_ms = 50 }";

const GUEST: &str = "hostile_library_calls";

/// Each call takes all of its time, so what one of them leaves behind has to show after a few.
const FEW: u32 = 4;

/// Which one comes first depends on the machine.
const LIMIT: &str = "(limit `";

const fn endless(arguments: &'static str, config: &'static str) -> super::Shown {
    Contained(Attack::call(GUEST, "repeat", "limit", LIMIT).with(arguments).under(config).times(FEW))
}

/// As much as one call of the host may hand over.
macro_rules! long {
    ($function:literal) => {
        concat!(r#"{"function":""#, $function, r#"","bytes":7500000,"times":0}"#)
    };
}

pub(super) const ENTRIES: &[Entry] = &[Entry {
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
        endless(long!("request-inputs"), ASKING),
        endless(long!("kv-get"), KEEPING),
        endless(long!("kv-set-many"), KEEPING),
        Contained(
            Attack::call(GUEST, "repeat", "limit", LIMIT)
                .with(long!("open-at"))
                .under(LITTLE_TIME)
                .on(Ground::Directory { write: true })
                .times(FEW),
        ),
        Contained(
            Attack::call(GUEST, "repeat", "limit", LIMIT)
                .with(long!("symlink-at"))
                .under(LITTLE_TIME)
                .on(Ground::Directory { write: true })
                .times(FEW),
        ),
        Test("what_a_client_says_of_itself_is_not_read_anew_for_nothing"),
    ],
}];
