//! What keeps a thread busy without being an instruction of the guest's: adapters between its instances, instructions that
//! move megabytes, and what the engine calls back before and after a call.
//!
//! The letter F: found by attacking a version from outside. What it needs is memory and nothing that anybody has to grant.

use super::Shown::{Contained, Soak, Test};
use super::{Attack, ENDED, Entry, Source};
use crate::generator::Encoding::{Compact, Utf8, Utf16};
use crate::generator::{Passing, What};

const LITTLE_TIME: &str = "limits = { fuel = 1_000_000_000_000, cpu_ms = 50 }";
const LITTLE_FUEL: &str = "limits = { fuel = 5_000_000 }";
const SHORT_START: &str = "limits = { fuel = 20_000_000, cpu_ms = 100, startup_ms = 200 }";

/// Each call takes all of its time, so what one of them leaves behind has to show after a few.
const FEW: u32 = 4;

/// Which one comes first depends on the machine.
const LIMIT: &str = "(limit `";

const MIB: u32 = 1 << 20;

const UTF16_TO_UTF8: Passing = Passing::text("utf16_to_utf8", Utf16, Utf8, MIB);
const UTF8_TO_UTF16: Passing = Passing::text("utf8_to_utf16", Utf8, Utf16, MIB).wide();
const COMPACT_TO_UTF16: Passing = Passing::text("compact_to_utf16", Compact, Utf16, MIB).wide();
const UTF16_TO_COMPACT: Passing = Passing::text("utf16_to_compact", Utf16, Compact, MIB);
const UTF8_TO_UTF8: Passing = Passing::text("utf8_to_utf8", Utf8, Utf8, 8 * MIB);
const VERY_LONG: Passing = Passing::text("very_long_text", Utf16, Utf8, 18 * MIB);
const RETURNED: Passing = Passing::text("returned_text", Utf16, Utf8, MIB).returned();
const FEW_AND_DONE: Passing = Passing::text("a_hundred_texts", Utf16, Utf8, MIB).times(100);
const TEXTS: Passing = Passing::text("many_texts", Utf16, Utf8, MIB).of(What::Texts(500_000));
const RECORDS: Passing = Passing::text("many_records", Utf8, Utf16, 64 << 10).of(What::Records(500_000));
const OPTIONS: Passing = Passing::text("empty_texts", Compact, Utf8, 0).of(What::Options(1_000_000));
const BYTES: Passing = Passing::text("many_bytes", Utf8, Utf8, 8 * MIB).of(What::Bytes);
const NUMBERS: Passing = Passing::text("many_numbers", Utf8, Utf8, 8 * MIB).of(What::Numbers);
const DEEP: Passing = Passing::text("deep_instances", Utf8, Utf16, 1024).below(20);
const AT_START: Passing = Passing::text("texts_at_start", Utf16, Utf8, MIB).at_start();

const fn passing(passing: &'static Passing) -> super::Shown {
    Contained(Attack::passing(passing, "limit", LIMIT).under(LITTLE_TIME).times(FEW))
}

const fn bulk(which: &'static str) -> super::Shown {
    Contained(Attack::wat("bulk", "limit", LIMIT).with(which).under(LITTLE_TIME).times(FEW))
}

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "F1",
        name: "passing",
        what: "has two of its instances pass each other texts and lists without end",
        shown: &[
            passing(&UTF16_TO_UTF8),
            passing(&UTF8_TO_UTF16),
            passing(&COMPACT_TO_UTF16),
            passing(&UTF16_TO_COMPACT),
            passing(&UTF8_TO_UTF8),
            passing(&VERY_LONG),
            passing(&RETURNED),
            passing(&FEW_AND_DONE),
            passing(&TEXTS),
            passing(&RECORDS),
            passing(&OPTIONS),
            passing(&BYTES),
            passing(&NUMBERS),
            passing(&DEEP),
            Contained(
                Attack::refused(Source::Passing(&AT_START), "could not be started")
                    .under(SHORT_START)
                    .times(5),
            ),
            Soak("soak_three_attackers_of_every_kind_leave_room_for_others"),
        ],
    },
    Entry {
        id: "F2",
        name: "bulk_memory",
        what: "moves megabytes with single instructions without end",
        shown: &[
            bulk(r#"{"v":0}"#),
            bulk(r#"{"v":1}"#),
            bulk(r#"{"v":2}"#),
            bulk(r#"{"v":3}"#),
            bulk(r#"{"v":4}"#),
            bulk(r#"{"v":5}"#),
        ],
    },
    Entry {
        id: "F3",
        name: "endless_callbacks",
        what: "never comes back from what is called around a call: `realloc`, post-return, destructors",
        shown: &[
            Contained(Attack::wat("endless_realloc", "limit", LIMIT).under(LITTLE_FUEL)),
            Contained(Attack::wat("endless_realloc", "limit", LIMIT).under(LITTLE_TIME).times(FEW)),
            Contained(Attack::wat("endless_post_return", "limit", LIMIT).under(LITTLE_FUEL)),
            Contained(
                Attack::refused(Source::Wat("endless_post_list"), "could not be started")
                    .under(SHORT_START)
                    .times(5),
            ),
            Contained(Attack::wat("destructor", "limit", LIMIT).with(r#"{"v":0}"#).under(LITTLE_FUEL)),
            Contained(Attack::wat("destructor", "trapped", "endless recursion").with(r#"{"v":1}"#)),
            Contained(
                Attack::wat("destructor", "limit", LIMIT).with(r#"{"v":2}"#).under(LITTLE_TIME).times(FEW),
            ),
        ],
    },
    Entry {
        id: "F17",
        name: "data_in_start",
        what: "has half a gigabyte of data copied before anything of it runs",
        shown: &[Contained(Attack::wat("data_in_start", ENDED, "").times(FEW))],
    },
    Entry {
        id: "F4",
        name: "random",
        what: "components and calls that a seed decides",
        shown: &[
            Test("a_short_campaign_finds_nothing"),
            Soak("soak_a_campaign_of_half_an_hour_finds_nothing"),
        ],
    },
];
