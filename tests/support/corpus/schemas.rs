//! Work of the server for a guest: validation of its results against its own schemas.

use super::Evidence::{Contained, Test};
use super::{Attack, ENDED, Entry};

const LITTLE_TIME: &str = "limits = { cpu_ms = 100 }";

/// Each call uses all of its time, so only a few are made; a leak must show after these.
const FEW: u32 = 3;

const TOO_DEAR: &str = "checking takes too long";
const OUT_OF_TIME: &str = "it computed for longer than 100 ms (limit `cpu_ms`)";

const CHECKS: &str = "hostile_schema_checks";

/// A validation that may succeed on a quick machine, and hit a limit on a slow one.
const fn costly(kind: &'static str, bytes: &'static str) -> super::Evidence {
    let attack = Attack::call("hostile_costly_schemas", kind, ENDED, "").arguments(bytes);
    Contained(attack.configured(LITTLE_TIME).times(FEW))
}

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "S1",
        name: "dear_promises",
        what: "promises results by schemas that are dear to check: choices, alternatives, unique items, patterns, huge numbers",
        evidence: &[
            Contained(
                Attack::call(CHECKS, "compare", "invalid_result", TOO_DEAR)
                    .arguments(r#"{"items":4000}"#)
                    .times(FEW),
            ),
            Contained(
                Attack::call(CHECKS, "compare", "limit", OUT_OF_TIME)
                    .arguments(r#"{"items":500000}"#)
                    .configured(LITTLE_TIME)
                    .times(FEW),
            ),
            Contained(
                Attack::call(CHECKS, "alternatives", "limit", OUT_OF_TIME)
                    .arguments(r#"{"items":500000}"#)
                    .configured(LITTLE_TIME)
                    .times(FEW),
            ),
            Contained(
                Attack::call(CHECKS, "search", "invalid_result", TOO_DEAR)
                    .arguments(r#"{"items":200000}"#)
                    .times(FEW),
            ),
            Contained(
                Attack::call(CHECKS, "faults", "invalid_result", "1 is not of type \"string\"")
                    .arguments(r#"{"items":20000}"#)
                    .times(FEW),
            ),
            costly("unique_lists", r#"{"bytes":1000000}"#),
            costly("unique_objects", r#"{"bytes":300000}"#),
            costly("each", r#"{"bytes":1000000}"#),
            costly("digits", r#"{"bytes":1000000}"#),
            costly("unevaluated", r#"{"bytes":300000}"#),
            Test("a_neighbour_answers_while_results_are_validated"),
        ],
    },
    Entry {
        id: "S2",
        name: "abandoned_checks",
        what: "has results checked whose clients have gone",
        evidence: &[Test("validation_ends_with_its_call")],
    },
];
