use plugport_sdk::testing::{Outcome, invoke};
use serde_json::{Value, json};

use super::*;

fn value(outcome: Outcome) -> Value {
    assert!(!outcome.is_error(), "{}", outcome.text());
    outcome.structured().unwrap()
}

fn error_text(outcome: Outcome) -> String {
    assert!(outcome.is_error(), "{}", outcome.text());
    outcome.text()
}

#[test]
fn now_is_told_in_utc_unless_a_zone_is_named() {
    let utc = value(invoke::<now>(json!({})));
    assert_eq!(utc["zone"], "UTC");
    assert!(utc["unix_seconds"].as_i64().unwrap() > 1_700_000_000);
    let tokyo = value(invoke::<now>(json!({"zone": "Asia/Tokyo"})));
    assert_eq!(tokyo["offset"], "+09:00");
}

#[test]
fn a_city_without_its_continent_is_answered_with_the_full_name() {
    for (given, meant) in [
        ("Tokyo", "Asia/Tokyo"),
        ("New York", "America/New_York"),
        ("Europe/Lodon", "Europe/London"),
        ("asia/calcuta", "Asia/Calcutta"),
        ("nonsense", "Europe/Paris"),
    ] {
        let text = error_text(invoke::<now>(json!({ "zone": given })));
        assert!(
            text.starts_with(&format!("unknown time zone `{given}`; use an IANA name such as `{meant}`")),
            "{text}"
        );
    }
    let text = error_text(invoke::<now>(json!({"zone": "UTC+9"})));
    assert!(text.ends_with("or an offset such as `+09:00`"), "{text}");
}

#[test]
fn a_conversion_tells_both_ends_in_every_form() {
    let converted = value(invoke::<convert>(json!({
        "time": "2026-11-21T14:30", "from": "Asia/Tokyo", "to": "America/New_York",
    })));
    assert_eq!(converted["from"]["instant"], "2026-11-21T14:30:00+09:00");
    assert_eq!(
        converted["to"],
        json!({
            "instant": "2026-11-21T00:30:00-05:00",
            "zoned": "2026-11-21T00:30:00-05:00[America/New_York]",
            "zone": "America/New_York",
            "offset": "-05:00",
            "daylight_saving": false,
            "weekday": "Saturday",
            "unix_seconds": 1_795_239_000,
            "text": "Saturday, 21 November 2026, 00:30:00 (UTC-05:00)",
        })
    );
}

#[test]
fn times_are_read_in_many_forms() {
    for (time, unix) in [
        ("2026-11-21T14:30:00+09:00", 1_795_239_000),
        ("2026-11-21T05:30Z", 1_795_239_000),
        ("2026-11-21 05:30:00Z", 1_795_239_000),
        ("2026-11-21T14:30[Asia/Tokyo]", 1_795_239_000),
        (" @1795239000 ", 1_795_239_000),
    ] {
        let converted = value(invoke::<convert>(json!({"time": time, "to": "+02:00"})));
        assert_eq!(converted["to"]["unix_seconds"], unix, "{time}");
        assert_eq!(converted["to"]["zone"], "+02:00", "{time}");
    }
    let midnight = value(invoke::<convert>(json!({"time": "2026-11-21", "from": "UTC", "to": "UTC"})));
    assert_eq!(midnight["to"]["instant"], "2026-11-21T00:00:00+00:00");
}

#[test]
fn a_time_that_says_too_little_is_rejected_with_what_to_send() {
    let nowhere = error_text(invoke::<convert>(json!({"time": "2026-11-21T14:30", "to": "UTC"})));
    assert!(nowhere.contains("name its zone in `from`"), "{nowhere}");
    for time in ["tomorrow", "14:30", "2026-13-01T00:00Z", "2026-11-21T14:30[Asia/Atlantis]", "@x", ""] {
        let text = error_text(invoke::<convert>(json!({"time": time, "to": "UTC"})));
        assert!(text.contains("2026-11-21T14:30:00+09:00"), "{time}: {text}");
    }
}

#[test]
fn a_local_time_that_the_clocks_skip_or_repeat_is_pointed_out() {
    let at =
        |time: &str| value(invoke::<convert>(json!({"time": time, "from": "Europe/London", "to": "UTC"})));
    let skipped = at("2026-03-29T01:30");
    assert_eq!(skipped["from"]["instant"], "2026-03-29T02:30:00+01:00");
    assert!(skipped["from"]["note"].as_str().unwrap().contains("does not exist"));
    let repeated = at("2026-10-25T01:30");
    assert_eq!(repeated["from"]["offset"], "+01:00");
    assert!(repeated["from"]["note"].as_str().unwrap().contains("comes twice"));
}

#[test]
fn a_day_is_added_by_the_calendar_and_hours_by_the_clock() {
    let sum = |duration: &str| {
        let arguments = json!({"time": "2026-03-28T12:00", "duration": duration, "zone": "Europe/London"});
        value(invoke::<add>(arguments))["result"]["instant"].clone()
    };
    assert_eq!(sum("P1D"), "2026-03-29T12:00:00+01:00");
    assert_eq!(sum("24 hours"), "2026-03-29T13:00:00+01:00");
    assert_eq!(sum("3 days 2h"), "2026-03-31T14:00:00+01:00");
    assert_eq!(sum("1 month ago"), "2026-02-28T12:00:00+00:00");
    assert_eq!(sum("-PT90M"), "2026-03-28T10:30:00+00:00");
}

#[test]
fn adding_without_a_zone_stays_where_the_time_is_or_says_that_it_took_utc() {
    let own = value(invoke::<add>(json!({"time": "2026-11-21T10:00+09:00", "duration": "P1M"})));
    assert_eq!(own["result"]["instant"], "2026-12-21T10:00:00+09:00");
    let assumed = value(invoke::<add>(json!({"time": "2026-11-21T10:00", "duration": "P1M"})));
    assert_eq!(assumed["start"]["note"], "no offset was given; taken as UTC");
}

#[test]
fn what_cannot_be_added_is_rejected() {
    let text = error_text(invoke::<add>(json!({"time": "2026-11-21", "duration": "a while"})));
    assert!(text.starts_with("cannot read the duration `a while`; write ISO 8601"), "{text}");
    let text = error_text(invoke::<add>(json!({"time": "2026-11-21", "duration": "P9000Y"})));
    assert!(text.contains("outside the years"), "{text}");
}

#[test]
fn a_difference_is_counted_in_the_unit_that_was_asked_for() {
    let apart = |largest: &str| {
        let arguments = json!({"from": "2025-09-19", "to": "2026-11-21T12:00Z", "largest": largest});
        let difference = value(invoke::<difference>(arguments));
        assert_eq!(difference["seconds"], 37_022_400);
        difference["duration"].as_str().unwrap().to_owned()
    };
    assert_eq!(apart("years"), "P1Y2M2DT12H");
    assert_eq!(apart("days"), "P428DT12H");
    assert_eq!(apart("hours"), "PT10284H");
}

#[test]
fn a_difference_backwards_is_negative_and_days_are_the_default() {
    let back = value(invoke::<difference>(json!({"from": "2026-11-21", "to": "2026-11-18"})));
    assert_eq!(back["duration"], "-P3D");
    assert_eq!(back["seconds"], -259_200);
    let none = value(invoke::<difference>(json!({"from": "2026-11-21", "to": "2026-11-21"})));
    assert_eq!(none["duration"], "PT0S");
    error_text(invoke::<difference>(json!({"from": "2026-11-21", "to": "soon"})));
}
