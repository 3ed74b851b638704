//! Advisories on Wasmtime: each must stay fixed in every version.

use super::Evidence::{Contained, Test};
use super::{Attack, AttackGrant, Entry, Source};

const READ: AttackGrant = AttackGrant::Directory { write: false };
const WRITE: AttackGrant = AttackGrant::Directory { write: true };

const MISHANDLED: &str = "it used a handle that it does not have, or not as it may";

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "A1",
        name: "trailing_slash",
        what: "GHSA-vqjp-4c8c-hfgg: leaves a directory by paths and links that end in a slash",
        evidence: &[
            Contained(
                Attack::call("hostile_trailing_slash", "open", "ok", "not-permitted")
                    .arguments(r#"{"directory": "/d", "links": {links}}"#)
                    .granted(READ),
            ),
            Contained(
                Attack::call("hostile_trailing_slash", "open", "ok", "not-permitted")
                    .arguments(r#"{"directory": "/d", "links": {links}}"#)
                    .granted(WRITE),
            ),
            Test("hostile_trailing_slash"),
        ],
    },
    Entry {
        id: "A2",
        name: "symlink_rename",
        what: "GHSA-m9f7-9w4p-gv38: leaves a directory by renaming links with trailing slashes",
        evidence: &[
            Contained(
                Attack::call("hostile_symlink_rename", "rename", "ok", "not-permitted")
                    .arguments(r#"{"directory": "/d", "links": {links}}"#)
                    .granted(READ),
            ),
            Contained(
                Attack::call("hostile_symlink_rename", "rename", "ok", "not-permitted")
                    .arguments(r#"{"directory": "/d", "links": {links}}"#)
                    .granted(WRITE),
            ),
            Test("hostile_symlink_rename"),
        ],
    },
    Entry {
        id: "A3",
        name: "hard_link",
        what: "GHSA-4ch3-9j33-3pmj: writes what it may only read through hard links and renames",
        evidence: &[
            Contained(
                Attack::call("hostile_hard_link", "cross", "ok", "not-permitted")
                    .arguments(r#"{"from": "/r", "to": "/d", "name": "canary.txt"}"#)
                    .granted(AttackGrant::Directories),
            ),
            Test("hostile_hard_link"),
        ],
    },
    Entry {
        id: "A4",
        name: "absolute_form",
        what: "GHSA-5qpp-g3j2-8frx: asks another host by a request in absolute form",
        evidence: &[
            Contained(
                Attack::call("hostile_absolute_form", "tricks", "ok", "path refused")
                    .arguments(r#"{"authority": "{authority}", "other": "127.0.0.1:{port}"}"#)
                    .granted(AttackGrant::BadWebServer)
                    .configured("limits = { http_requests = 100 }")
                    .times(25),
            ),
            Test("hostile_absolute_form"),
        ],
    },
    Entry {
        id: "A5",
        name: "handle_growth",
        what: "GHSA-q554-3cjc-rx7p: makes handles of its own resources without end",
        evidence: &[Contained(Attack::wat("handle_growth", "limit", "it holds more than 1024 handles"))],
    },
    Entry {
        id: "A6",
        name: "many_fields",
        what: "CVE-2026-27204: sends and receives header fields without end",
        evidence: &[
            Contained(
                Attack::call(
                    "hostile_header_fields",
                    "append",
                    "limit",
                    "HTTP header fields of more than 16 KiB",
                )
                .arguments(r#"{}"#)
                .granted(AttackGrant::BadWebServer)
                .times(5),
            ),
            Contained(
                Attack::call(
                    "hostile_header_fields",
                    "list",
                    "limit",
                    "HTTP header fields of more than 16 KiB",
                )
                .arguments(r#"{}"#)
                .granted(AttackGrant::BadWebServer)
                .times(5),
            ),
            Contained(
                Attack::call("hostile_header_fields", "many", "limit", "was stopped: ")
                    .arguments(r#"{}"#)
                    .granted(AttackGrant::BadWebServer)
                    .times(5),
            ),
            Contained(
                Attack::call("hostile_header_fields", "wrong", "ok", "20000 refused")
                    .arguments(r#"{}"#)
                    .granted(AttackGrant::BadWebServer)
                    .configured("limits = { cpu_ms = 20_000 }")
                    .times(3),
            ),
            Test("hostile_header_fields"),
        ],
    },
    Entry {
        id: "A7",
        name: "empty_writes",
        what: "GHSA-5m8g-xhq4-4h93, GHSA-f8mm-ggr3-89wh: writes nothing to a body, for ever",
        evidence: &[
            Contained(
                Attack::call("hostile_empty_writes", "flood", "ok", "HttpRequestBodySize")
                    .arguments(r#"{"authority": "{authority}", "bytes": 3145728}"#)
                    .granted(AttackGrant::BadWebServer)
                    .configured("limits = { http_ms = 2_000 }")
                    .times(5),
            ),
            Contained(
                Attack::call("hostile_empty_writes", "nothing", "limit", "was stopped: ")
                    .arguments(r#"{"authority": "{authority}", "waits": false}"#)
                    .granted(AttackGrant::BadWebServer)
                    .configured("limits = { http_ms = 5_000, fuel = 5_000_000 }")
                    .times(5),
            ),
            Test("hostile_empty_writes"),
        ],
    },
    Entry {
        id: "A8",
        name: "yield_in_start",
        what: "GHSA-5hhx-4wrr-3j9g: yields, or waits, while it starts",
        evidence: &[
            Contained(Attack::rejected(Source::Wat("yield_in_start"), "`thread.yield` requires")),
            Contained(Attack::wat("wait_in_start", "ok", "ok")),
        ],
    },
    Entry {
        id: "A9",
        name: "borrowed_transfer",
        what: "GHSA-6fr9-xmw9-5352: passes handles between components as it should not",
        evidence: &[
            Contained(Attack::wat("borrowed_transfer", "invalid_result", MISHANDLED).arguments(r#"{"v":0}"#)),
            Contained(Attack::wat("borrowed_transfer", "invalid_result", MISHANDLED).arguments(r#"{"v":1}"#)),
            Contained(Attack::wat("borrowed_transfer", "invalid_result", MISHANDLED).arguments(r#"{"v":2}"#)),
            Contained(Attack::wat("borrowed_transfer", "invalid_result", MISHANDLED).arguments(r#"{"v":3}"#)),
            Contained(Attack::wat("borrowed_transfer", "invalid_result", MISHANDLED).arguments(r#"{"v":4}"#)),
            Contained(Attack::wat("borrowed_transfer", "invalid_result", MISHANDLED).arguments(r#"{"v":5}"#)),
            Contained(Attack::wat("borrowed_transfer", "invalid_result", MISHANDLED).arguments(r#"{"v":6}"#)),
            Contained(Attack::wat("borrowed_transfer", "ok", "ok").arguments(r#"{"v":7}"#)),
            Contained(Attack::rejected(Source::Wat("lent_and_kept"), MISHANDLED)),
        ],
    },
];
