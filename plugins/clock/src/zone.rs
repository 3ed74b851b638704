//! Zones by the names that a model sends. Only IANA names and plain offsets are taken: a POSIX rule such as `UTC+9`
//! means nine hours *behind* UTC, the opposite of what everyone who writes it expects. A wrong name is answered with
//! the right ones near it, so that the next attempt succeeds.

use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{self, TimeZone};

/// Below this the names have little in common.
const ALIKE: f64 = 0.88;
const SUGGESTIONS: usize = 3;

#[derive(Debug, thiserror::Error)]
#[error("unknown time zone `{given}`; use an IANA name such as {}", advice(.near))]
pub(crate) struct UnknownZone {
    given: String,
    near: Vec<String>,
}

pub(crate) fn find(name: &str) -> Result<TimeZone, UnknownZone> {
    let name = name.trim();
    let found = match name.as_bytes() {
        b"Z" => Some(TimeZone::UTC),
        [b'+' | b'-', ..] => DateTimeParser::new().parse_time_zone(name).ok(),
        _ => tz::db().get(name).ok(),
    };
    found.ok_or_else(|| UnknownZone { given: name.to_owned(), near: near(name) })
}

fn near(given: &str) -> Vec<String> {
    // Whoever writes a digit means an offset.
    if given.contains(|letter: char| letter.is_ascii_digit()) {
        return Vec::new();
    }
    let wanted = given.to_lowercase().replace(' ', "_");
    let mut ranked: Vec<(f64, String)> = tz::db()
        .available()
        .map(|name| (likeness(&wanted, &name.as_str().to_lowercase()), name.as_str().to_owned()))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    ranked.into_iter().map(|(_, name)| name).take(SUGGESTIONS).collect()
}

/// A city's own name counts most: models leave out the continent.
fn likeness(wanted: &str, name: &str) -> f64 {
    let city = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    if city(name) == city(wanted) {
        return 2.0;
    }
    strsim::jaro_winkler(&city(wanted), &city(name))
}

fn advice(near: &[String]) -> String {
    if near.is_empty() {
        return "`Europe/Paris`, or an offset such as `+09:00`".to_owned();
    }
    near.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
}
