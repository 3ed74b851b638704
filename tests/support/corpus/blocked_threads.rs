//! Attacks that occupy a thread without executing instructions of the guest: adapters between its instances,
//! instructions that move megabytes, and functions that the engine calls before and after a call.
//!
//! The letter F stands for attacks on an earlier version from outside. They need memory and no grant.

use super::Evidence::{Contained, Soak, Test};
use super::{Attack, ENDED, Entry, Source};
use crate::generator::Encoding::{Compact, Utf8, Utf16};
use crate::generator::{AdapterComponent, PassedValue};

const LITTLE_TIME: &str = "limits = { fuel = 1_000_000_000_000, cpu_ms = 50 }";
const LITTLE_FUEL: &str = "limits = { fuel = 5_000_000 }";
const SHORT_START: &str = "limits = { fuel = 20_000_000, cpu_ms = 100, startup_ms = 200 }";
/// On a busy machine half a gigabyte takes longer than the default, and then there is no tool to call.
const LONG_START: &str = "limits = { cpu_ms = 20_000, startup_ms = 20_000 }";

/// Each call uses all of its time, so only a few are made; a leak must show after these.
const FEW: u32 = 4;

/// Which limit comes first depends on the machine.
const LIMIT: &str = "(limit `";

const MIB: u32 = 1 << 20;

const UTF16_TO_UTF8: AdapterComponent = AdapterComponent::text("utf16_to_utf8", Utf16, Utf8, MIB);
const UTF8_TO_UTF16: AdapterComponent = AdapterComponent::text("utf8_to_utf16", Utf8, Utf16, MIB).wide();
const COMPACT_TO_UTF16: AdapterComponent =
    AdapterComponent::text("compact_to_utf16", Compact, Utf16, MIB).wide();
const UTF16_TO_COMPACT: AdapterComponent = AdapterComponent::text("utf16_to_compact", Utf16, Compact, MIB);
const UTF8_TO_UTF8: AdapterComponent = AdapterComponent::text("utf8_to_utf8", Utf8, Utf8, 8 * MIB);
const VERY_LONG: AdapterComponent = AdapterComponent::text("very_long_text", Utf16, Utf8, 18 * MIB);
const RETURNED: AdapterComponent = AdapterComponent::text("returned_text", Utf16, Utf8, MIB).returned();
const FEW_AND_DONE: AdapterComponent = AdapterComponent::text("a_hundred_texts", Utf16, Utf8, MIB).times(100);
const TEXTS: AdapterComponent =
    AdapterComponent::text("many_texts", Utf16, Utf8, MIB).of(PassedValue::Texts(500_000));
const RECORDS: AdapterComponent =
    AdapterComponent::text("many_records", Utf8, Utf16, 64 << 10).of(PassedValue::Records(500_000));
const OPTIONS: AdapterComponent =
    AdapterComponent::text("empty_texts", Compact, Utf8, 0).of(PassedValue::Options(1_000_000));
const BYTES: AdapterComponent =
    AdapterComponent::text("many_bytes", Utf8, Utf8, 8 * MIB).of(PassedValue::Bytes);
const NUMBERS: AdapterComponent =
    AdapterComponent::text("many_numbers", Utf8, Utf8, 8 * MIB).of(PassedValue::Numbers);
const DEEP: AdapterComponent = AdapterComponent::text("deep_instances", Utf8, Utf16, 1024).below(20);
const AT_START: AdapterComponent = AdapterComponent::text("texts_at_start", Utf16, Utf8, MIB).at_start();

const fn passing(passing: &'static AdapterComponent) -> super::Evidence {
    Contained(Attack::passing(passing, "limit", LIMIT).configured(LITTLE_TIME).times(FEW))
}

const fn bulk(which: &'static str) -> super::Evidence {
    Contained(Attack::wat("bulk", "limit", LIMIT).arguments(which).configured(LITTLE_TIME).times(FEW))
}

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "F1",
        name: "passing",
        what: "has two of its instances pass each other texts and lists without end",
        evidence: &[
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
                Attack::rejected(Source::Adapter(&AT_START), "could not be started")
                    .configured(SHORT_START)
                    .times(5),
            ),
            Soak("soak_three_attackers_of_every_kind_leave_room_for_others"),
        ],
    },
    Entry {
        id: "F2",
        name: "bulk_memory",
        what: "moves megabytes with single instructions without end",
        evidence: &[
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
        evidence: &[
            Contained(Attack::wat("endless_realloc", "limit", LIMIT).configured(LITTLE_FUEL)),
            Contained(Attack::wat("endless_realloc", "limit", LIMIT).configured(LITTLE_TIME).times(FEW)),
            Contained(Attack::wat("endless_post_return", "limit", LIMIT).configured(LITTLE_FUEL)),
            Contained(
                Attack::rejected(Source::Wat("endless_post_list"), "could not be started")
                    .configured(SHORT_START)
                    .times(5),
            ),
            Contained(
                Attack::wat("destructor", "limit", LIMIT).arguments(r#"{"v":0}"#).configured(LITTLE_FUEL),
            ),
            Contained(Attack::wat("destructor", "trapped", "endless recursion").arguments(r#"{"v":1}"#)),
            Contained(
                Attack::wat("destructor", "limit", LIMIT)
                    .arguments(r#"{"v":2}"#)
                    .configured(LITTLE_TIME)
                    .times(FEW),
            ),
        ],
    },
    Entry {
        id: "F17",
        name: "data_in_start",
        what: "has half a gigabyte of data copied before anything of it runs",
        evidence: &[Contained(Attack::wat("data_in_start", ENDED, "").configured(LONG_START).times(FEW))],
    },
    Entry {
        id: "F4",
        name: "random",
        what: "components and calls that a seed decides",
        evidence: &[
            Test("a_short_campaign_finds_nothing"),
            Soak("soak_a_campaign_of_half_an_hour_finds_nothing"),
        ],
    },
];
