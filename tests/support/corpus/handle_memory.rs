//! Host memory behind a guest's handles.

use super::Entry;
use super::Evidence::{Contained, Test};
use crate::containment::{Attack, AttackGrant};

/// The bytes behind all handles together.
const TOO_MUCH: &str = "or has the server keep, takes more than 8 MiB in the server (limit `transfer_mib`)";

pub(super) const ENTRIES: &[Entry] = &[Entry {
    id: "H60",
    name: "held",
    what: "has the host keep long keys, fields, paths and bodies behind a thousand handles",
    evidence: &[
        Contained(
            Attack::call("hostile_handle_memory", "keys", "ok", "0 kept")
                .configured("grants = { kv = true }")
                .times(5),
        ),
        Contained(fields(r#"{"copies": false}"#)),
        Contained(fields(r#"{"copies": true}"#)),
        Contained(web("requests", "limit", TOO_MUCH)),
        Contained(web("bodies", "limit", TOO_MUCH)),
        Contained(web("values", "limit", "HTTP header fields of more than 16 KiB")),
        Contained(
            Attack::call("hostile_handle_memory", "crowd", "limit", "holds more than 1024 handles").times(5),
        ),
        Contained(unhurried(web("modest", "ok", "3000 in turn"))),
        Test("memory_behind_handles_does_not_grow_the_server"),
    ],
}];

const fn fields(arguments: &'static str) -> Attack {
    unhurried(web("fields", "limit", TOO_MUCH).arguments(arguments))
}

/// Without optimisation so many calls of the host take a second.
const fn unhurried(attack: Attack) -> Attack {
    if cfg!(debug_assertions) { attack.configured("limits = { cpu_ms = 20_000 }") } else { attack }
}

const fn web(tool: &'static str, outcome: &'static str, says: &'static str) -> Attack {
    Attack::call("hostile_handle_memory", tool, outcome, says).granted(AttackGrant::BadWebServer).times(5)
}
