//! Attacks of a guest while it is called, or while it starts.
//!
//! Fuel and times are lowered where one attack would take seconds, so that a hundred of them take a few; the defaults
//! have tests of their own. Attacks that move megabytes or make thousands of calls are repeated less often.

use super::Evidence::{Contained, Test, Untestable};
use super::{Attack, Entry, Source};

const LITTLE_FUEL: &str = "limits = { fuel = 5_000_000 }";
const LITTLE_TIME: &str = "limits = { fuel = 1_000_000_000_000, cpu_ms = 10 }";
const SHORT_WALL: &str = "limits = { wall_ms = 20 }";
const SHORT_START: &str = "limits = { fuel = 5_000_000, startup_ms = 100 }";

const OUT_OF_FUEL: &str = "it used up its 5000000 units of fuel (limit `fuel`)";
const OUT_OF_TIME: &str = "it computed for longer than 10 ms (limit `cpu_ms`)";
const OVERSLEPT: &str = "it took longer than 20 ms (limit `wall_ms`)";
const TOO_MUCH_MEMORY: &str = "it asked for more than 64 MiB of memory (limit `memory_mib`)";
const TOO_MUCH_AT_ONCE: &str = "takes more than 8 MiB in the server (limit `transfer_mib`)";
const TOO_MANY_HANDLES: &str = "it holds more than 1024 handles";
const OUTSIDE: &str = "its result is not valid text or points outside its memory";
const BEYOND: &str = "declares more memories, tables or instances than any plugin may have here";

const MISSHAPEN: &str = "its result has a form that its interface does not have";

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "H1",
        name: "loop_in_call",
        what: "spins in a call",
        evidence: &[
            Contained(
                Attack::call("hostile_loop_in_call", "spin", "limit", OUT_OF_FUEL).configured(LITTLE_FUEL),
            ),
            Contained(
                Attack::call("hostile_loop_in_call", "spin", "limit", OUT_OF_TIME).configured(LITTLE_TIME),
            ),
            Test("a_loop_ends_with_the_default_limits"),
        ],
    },
    Entry {
        id: "H2",
        name: "loop_in_start",
        what: "spins in a core start function, before anything can be called",
        evidence: &[Contained(
            Attack::rejected(Source::Wat("loop_in_start"), "could not be started").configured(SHORT_START),
        )],
    },
    Entry {
        id: "H3",
        name: "loop_in_list_tools",
        what: "spins while it is asked for its tools",
        evidence: &[Contained(
            Attack::rejected(Source::Guest("hostile_loop_in_list_tools"), "could not be started")
                .configured(SHORT_START),
        )],
    },
    Entry {
        id: "H4",
        name: "busy_host_calls",
        what: "calls cheap functions of the host without end",
        evidence: &[
            Contained(
                Attack::call("hostile_busy_host_calls", "busy", "limit", OUT_OF_FUEL).configured(LITTLE_FUEL),
            ),
            Contained(
                Attack::call("hostile_busy_host_calls", "busy", "limit", OUT_OF_TIME).configured(LITTLE_TIME),
            ),
            Contained(
                Attack::call("hostile_busy_host_calls", "churn", "limit", OUT_OF_FUEL)
                    .configured(LITTLE_FUEL),
            ),
        ],
    },
    Entry {
        id: "H5",
        name: "memory_bomb",
        what: "takes memory until it is refused, and goes on trying",
        evidence: &[
            Contained(Attack::call("hostile_memory_bomb", "allocate", "limit", TOO_MUCH_MEMORY).times(25)),
            Contained(
                Attack::call("hostile_memory_bomb", "insist", "limit", OUT_OF_FUEL).configured(LITTLE_FUEL),
            ),
        ],
    },
    Entry {
        id: "H6",
        name: "memory_64",
        what: "declares a memory with 64-bit addresses, or one that begins with 4 GiB",
        evidence: &[
            Contained(Attack::rejected(Source::Wat("memory_64"), "is damaged or truncated")),
            Contained(Attack::rejected(Source::Wat("memory_4_gib"), BEYOND)),
        ],
    },
    Entry {
        id: "H7",
        name: "table_bomb",
        what: "declares or grows a table of 2^32 entries",
        evidence: &[
            Contained(Attack::wat("table_bomb", "limit", "a table of more than 20000 entries")),
            Contained(Attack::wat("table_bomb", "limit", "(limit `fuel`)").arguments(r#"{"v":1}"#)),
            Contained(Attack::rejected(Source::Wat("table_huge"), BEYOND)),
        ],
    },
    Entry {
        id: "H8",
        name: "stack_overflow",
        what: "recurses without end",
        evidence: &[Contained(Attack::call(
            "hostile_stack_overflow",
            "recurse",
            "trapped",
            "endless recursion",
        ))],
    },
    Entry {
        id: "H9",
        name: "handle_bomb",
        what: "takes handles of the host without end",
        evidence: &[Contained(Attack::call("hostile_handle_bomb", "take", "limit", TOO_MANY_HANDLES))],
    },
    Entry {
        id: "H10",
        name: "host_recursion",
        what: "leads the host back into itself: says while it is listed that its list has changed",
        evidence: &[Contained(Attack::call("hostile_host_recursion", "again", "ok", "told"))],
    },
    Entry {
        id: "H11",
        name: "many_instances",
        what: "consists of 10 000 core instances",
        evidence: &[Contained(Attack::rejected(Source::Wat("many_instances"), BEYOND))],
    },
    Entry {
        id: "H12",
        name: "huge_return_list",
        what: "answers with a great many items",
        evidence: &[
            Contained(
                Attack::call("hostile_huge_return_list", "items", "limit", "more than 1000 content items")
                    .arguments(r#"{"count": 2000}"#)
                    .times(25),
            ),
            Contained(
                Attack::call("hostile_huge_return_list", "items", "limit", "the tool")
                    .arguments(r#"{"count": 300000}"#)
                    .times(10),
            ),
        ],
    },
    Entry {
        id: "H13",
        name: "huge_string",
        what: "answers with a text that is too long, or says that it is nearly 4 GiB long",
        evidence: &[
            Contained(
                Attack::call(
                    "hostile_huge_string",
                    "text",
                    "limit",
                    "larger than 4096 KiB (limit `result_kib`)",
                )
                .arguments(r#"{"bytes": 5000000}"#)
                .times(10),
            ),
            Contained(
                Attack::call("hostile_huge_string", "text", "limit", TOO_MUCH_AT_ONCE)
                    .arguments(r#"{"bytes": 20000000}"#)
                    .times(10),
            ),
            Contained(
                Attack::call("hostile_huge_string", "text", "limit", TOO_MUCH_MEMORY)
                    .arguments(r#"{"bytes": 268435456}"#),
            ),
            Contained(
                Attack::call("hostile_huge_string", "error", "error", "xxx")
                    .arguments(r#"{"bytes": 5000000}"#)
                    .times(10),
            ),
            Contained(Attack::wat("bad_result", "invalid_result", OUTSIDE).arguments(r#"{"v":3}"#)),
            Contained(Attack::wat("bad_result", "invalid_result", OUTSIDE).arguments(r#"{"v":4}"#)),
            Contained(Attack::wat("bad_result", "invalid_result", OUTSIDE).arguments(r#"{"v":5}"#)),
        ],
    },
    Entry {
        id: "H14",
        name: "bad_utf8",
        what: "answers with what is no text, or lies outside its memory",
        evidence: &[
            Contained(Attack::wat("bad_result", "invalid_result", OUTSIDE).arguments(r#"{"v":0}"#)),
            Contained(Attack::wat("bad_result", "invalid_result", OUTSIDE).arguments(r#"{"v":1}"#)),
            Contained(Attack::wat("bad_result", "invalid_result", OUTSIDE).arguments(r#"{"v":2}"#)),
            Contained(Attack::wat("bad_result", "invalid_result", OUTSIDE).arguments(r#"{"v":6}"#)),
            Contained(Attack::wat("bad_result", "invalid_result", MISSHAPEN).arguments(r#"{"v":7}"#)),
            Contained(Attack::wat("bad_result", "invalid_result", MISSHAPEN).arguments(r#"{"v":8}"#)),
            Contained(Attack::wat("bad_result", "invalid_result", OUTSIDE).arguments(r#"{"v":9}"#)),
        ],
    },
    Entry {
        id: "H14b",
        name: "bad_json",
        what: "answers with structured content that is not JSON, or hurts whoever reads it",
        evidence: &[
            Contained(Attack::call("hostile_bad_json", "forged", "invalid_result", "is not JSON")),
            Contained(Attack::call("hostile_bad_json", "deep", "invalid_result", "is not JSON")),
            Contained(Attack::call("hostile_bad_json", "nan", "invalid_result", "is not JSON")),
            Contained(Attack::call("hostile_bad_json", "huge_number", "invalid_result", "is not JSON")),
            Contained(Attack::call("hostile_bad_json", "twice", "ok", "see the structured content")),
            Contained(Attack::call("hostile_bad_json", "bare", "ok", "see the structured content")),
            Contained(Attack::call("hostile_bad_json", "extra", "ok", "see the structured content")),
        ],
    },
    Entry {
        id: "H15",
        name: "log_flood",
        what: "prints and logs without end, with terminal sequences and forged messages",
        evidence: &[
            Contained(
                Attack::call("hostile_log_flood", "flood", "ok", "flooded")
                    .arguments(r#"{"bytes": 300000}"#)
                    .times(10),
            ),
            Contained(
                Attack::call("hostile_log_flood", "flood", "limit", "(limit `fuel`)")
                    .arguments(r#"{"bytes": 1000000000}"#)
                    .configured(LITTLE_FUEL),
            ),
            Contained(Attack::call("hostile_log_flood", "forge", "ok", "printed")),
            Contained(
                Attack::call("hostile_log_flood", "log", "ok", "logged")
                    .arguments(r#"{"lines": 3, "width": 5000000}"#)
                    .times(5),
            ),
            Test("a_flood_is_cut_and_counted"),
        ],
    },
    Entry {
        id: "H16",
        name: "progress_flood",
        what: "tells of progress without end, backwards, and of what is no number",
        evidence: &[
            Contained(
                Attack::call("hostile_progress_flood", "flood", "ok", "told")
                    .arguments(r#"{"steps": 5000}"#)
                    .times(10),
            ),
            Contained(
                Attack::call("hostile_progress_flood", "back", "ok", "told")
                    .arguments(r#"{"steps": 5000}"#)
                    .times(5),
            ),
            Contained(
                Attack::call("hostile_progress_flood", "nothing", "ok", "told")
                    .arguments(r#"{"steps": 5000}"#)
                    .times(5),
            ),
            Test("progress_only_grows_and_only_so_often"),
            Test("progress_that_goes_back_or_is_no_number_is_not_sent"),
        ],
    },
    Entry {
        id: "H17",
        name: "sampling_flood",
        what: "asks the client's model and its user without end, at length, and for a password",
        evidence: &[
            Contained(
                Attack::call("hostile_sampling_flood", "model", "ok", "denied")
                    .arguments(r#"{"times": 1000}"#)
                    .times(10),
            ),
            Contained(
                Attack::call("hostile_sampling_flood", "person", "ok", "denied")
                    .arguments(r#"{"times": 1000}"#)
                    .times(10),
            ),
            Contained(
                Attack::call("hostile_sampling_flood", "model", "ok", "missing")
                    .arguments(r#"{"times": 1000}"#)
                    .configured("grants = { sampling = true, elicitation = true }")
                    .times(10),
            ),
            Contained(
                Attack::call("hostile_sampling_flood", "long", "limit", TOO_MUCH_AT_ONCE)
                    .arguments(r#"{"bytes": 10485760}"#)
                    .configured("grants = { sampling = true }")
                    .times(10),
            ),
            Contained(Attack::call("hostile_sampling_flood", "password", "ok", "denied 1")),
            Test("a_client_gets_a_few_requests_however_often_a_guest_asks"),
            Test("a_form_that_asks_for_a_password_is_for_the_client_to_judge"),
            Untestable(
                "that such a form is found: what a field is for cannot be checked, so asking people needs a grant",
            ),
        ],
    },
    Entry {
        id: "H25",
        name: "env_probe",
        what: "reads the environment, the arguments, files, and reaches for ports and threads",
        evidence: &[
            Contained(
                Attack::call("hostile_host_probe", "reach", "ok", "reached: ")
                    .arguments(r#"{"file": "{file}", "port": {port}, "variable": "{variable}"}"#),
            ),
            Test("nothing_of_the_host_is_within_reach"),
            Test("hostile_env_probe"),
        ],
    },
    Entry {
        id: "H26",
        name: "clock_abuse",
        what: "reads, sleeps and waits by the host's clocks without end; wants 2^60 random bytes",
        evidence: &[
            Contained(
                Attack::call("hostile_clock_abuse", "read", "limit", OUT_OF_FUEL).configured(LITTLE_FUEL),
            ),
            Contained(
                Attack::call("hostile_clock_abuse", "sleep", "limit", OVERSLEPT).configured(SHORT_WALL),
            ),
            Contained(
                Attack::call("hostile_clock_abuse", "past", "limit", OUT_OF_FUEL).configured(LITTLE_FUEL),
            ),
            Contained(
                Attack::call("hostile_clock_abuse", "crowd", "limit", "was stopped: ")
                    .arguments(r#"{"count": 1000000}"#)
                    .configured("limits = { wall_ms = 200, cpu_ms = 100 }")
                    .times(5),
            ),
            Contained(Attack::call(
                "hostile_clock_abuse",
                "nothing",
                "trapped",
                "it waited for nothing at all",
            )),
            Contained(
                Attack::call(
                    "hostile_random_exhaustion",
                    "once",
                    "limit",
                    "more than 4 KiB of randomness at once",
                )
                .arguments(r#"{"kib": 1125899906842624}"#),
            ),
            Contained(Attack::call(
                "hostile_random_exhaustion",
                "cheap",
                "limit",
                "more than 4 KiB of randomness at once",
            )),
            Contained(
                Attack::call("hostile_random_exhaustion", "always", "limit", OUT_OF_TIME)
                    .configured(LITTLE_TIME),
            ),
        ],
    },
    Entry {
        id: "H26c",
        name: "sleep_forever",
        what: "sleeps, exits, aborts, panics at length, traps after it has answered",
        evidence: &[
            Contained(
                Attack::call("hostile_sleep_forever", "once", "limit", OVERSLEPT).configured(SHORT_WALL),
            ),
            Contained(
                Attack::call("hostile_sleep_forever", "dozing", "limit", OVERSLEPT).configured(SHORT_WALL),
            ),
            Contained(
                Attack::call("hostile_exit", "exit", "exited", "ended itself with exit code 0")
                    .arguments(r#"{"code": 0}"#),
            ),
            Contained(
                Attack::call("hostile_exit", "exit", "exited", "ended itself with exit code 1")
                    .arguments(r#"{"code": 1}"#),
            ),
            Contained(Attack::call("hostile_panic", "abort", "trapped", "it panicked or aborted")),
            Contained(
                Attack::call("hostile_panic", "boom", "trapped", "it panicked or aborted")
                    .arguments(r#"{"message": "kaboom"}"#),
            ),
            Contained(
                Attack::call("hostile_panic", "long", "trapped", "it panicked or aborted")
                    .arguments(r#"{"bytes": 10485760}"#)
                    .times(5),
            ),
            Contained(Attack::wat("trap_in_post_return", "trapped", "it panicked or aborted")),
            Test("a_panic_is_in_the_log_with_its_backtrace"),
        ],
    },
];
