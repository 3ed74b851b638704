//! Zones by the names that a model sends. Only IANA names and plain offsets are taken: a POSIX rule such as `UTC+9`
//! means nine hours *behind* UTC, the opposite of what everyone who writes it expects. A wrong name is answered with
//! the nearest right one, so that the next attempt succeeds.

use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{self, TimeZone};

/// Below this the names have little in common.
const ALIKE: f64 = 0.88;

#[derive(Debug, thiserror::Error)]
#[error("unknown time zone `{0}`; use an IANA name such as `{1}`, or an offset such as `+09:00`")]
pub(crate) struct UnknownZone(String, String);

pub(crate) fn find(name: &str) -> Result<TimeZone, UnknownZone> {
    let name = name.trim();
    let found = match name.as_bytes() {
        b"Z" => Some(TimeZone::UTC),
        [b'+' | b'-', ..] => DateTimeParser::new().parse_time_zone(name).ok(),
        _ => tz::db().get(name).ok(),
    };
    found.ok_or_else(|| {
        UnknownZone(name.to_owned(), nearest(name).unwrap_or_else(|| "Europe/Paris".to_owned()))
    })
}

/// The zone whose city is most like what was given, for models leave out the continent.
fn nearest(given: &str) -> Option<String> {
    let city = |name: &str| name.rsplit('/').next().unwrap_or_default().to_lowercase().replace(' ', "_");
    let wanted = city(given);
    tz::db()
        .available()
        .map(|name| (strsim::jaro_winkler(&wanted, &city(name.as_str())), name.as_str().to_owned()))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
