//! What a guest and a client make the server itself compute.

use super::Shown::{Contained, Test};
use super::{Attack, Entry};

const LITTLE_TIME: &str = "limits = { cpu_ms = 100 }";

const TOO_DEAR: &str = "checking takes too long";
const OUT_OF_TIME: &str = "it computed for longer than 100 ms (limit `cpu_ms`)";

const CHECKS: &str = "hostile_schema_checks";

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "S1",
        name: "dear_promises",
        what: "promises results by schemas that compare each item with thousands of others",
        shown: &[
            Contained(
                Attack::call(CHECKS, "compare", "contract", TOO_DEAR).with(r#"{"items":4000}"#).times(5),
            ),
            Contained(
                Attack::call(CHECKS, "compare", "limit", OUT_OF_TIME)
                    .with(r#"{"items":500000}"#)
                    .under(LITTLE_TIME)
                    .times(5),
            ),
            Contained(
                Attack::call(CHECKS, "alternatives", "limit", OUT_OF_TIME)
                    .with(r#"{"items":500000}"#)
                    .under(LITTLE_TIME)
                    .times(5),
            ),
            Contained(
                Attack::call(CHECKS, "search", "contract", TOO_DEAR).with(r#"{"items":200000}"#).times(5),
            ),
            Contained(
                Attack::call(CHECKS, "faults", "contract", "1 is not of type \"string\"")
                    .with(r#"{"items":20000}"#)
                    .times(5),
            ),
            Test("a_neighbour_answers_while_results_are_checked"),
        ],
    },
    Entry {
        id: "S2",
        name: "abandoned_checks",
        what: "has results checked whose clients have gone",
        shown: &[Test("a_check_ends_with_its_call")],
    },
    Entry {
        id: "S3",
        name: "large_bodies",
        what: "sends arguments of megabytes, several at once",
        shown: &[Test("a_neighbour_answers_while_large_arguments_are_read")],
    },
];
