//! Host functions that are called with much too large arguments.

use super::Evidence::{Contained, Test};
use super::{Attack, AttackGrant, Entry};

const LITTLE_TIME: &str = "limits = { fuel = 1_000_000_000_000, cpu_ms = 50 }";
const KEEPING: &str = "grants = { kv = true }\nlimits = { fuel = 1_000_000_000_000, cpu_ms = 50 }";
const ASKING: &str = "grants = { sampling = true, elicitation = true, roots = true }\nlimits = { fuel = 1_000_000_000_000, cpu_ms = 50 }";

const GUEST: &str = "hostile_host_functions";

/// Each call uses all of its time, so only a few are made; a leak must show after these.
const FEW: u32 = 4;

/// Which limit comes first depends on the machine.
const LIMIT: &str = "the tool was stopped: ";

const fn endless(arguments: &'static str, config: &'static str) -> super::Evidence {
    Contained(
        Attack::call(GUEST, "repeat", "limit", LIMIT).arguments(arguments).configured(config).times(FEW),
    )
}

/// The maximum size of the arguments of one host function.
macro_rules! long {
    ($function:literal) => {
        concat!(r#"{"function":""#, $function, r#"","bytes":7500000,"times":0}"#)
    };
}

pub(super) const ENTRIES: &[Entry] = &[Entry {
    id: "F5",
    name: "large_calls",
    what: "calls functions of the host with megabytes, again and again",
    evidence: &[
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
                .arguments(long!("open-at"))
                .configured(LITTLE_TIME)
                .granted(AttackGrant::Directory { write: true })
                .times(FEW),
        ),
        Contained(
            Attack::call(GUEST, "repeat", "limit", LIMIT)
                .arguments(long!("symlink-at"))
                .configured(LITTLE_TIME)
                .granted(AttackGrant::Directory { write: true })
                .times(FEW),
        ),
        Test("reading_large_client_metadata_again_and_again_is_charged"),
    ],
}];
