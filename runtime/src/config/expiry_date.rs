//! `until`: when a key or a token expires.

use std::time::{Duration, SystemTime};

use toml::de::DeValue;
use toml::value::{Date, Datetime, Offset};

use super::toml_reader::{TomlEntry, TomlReader};

/// Reads a date, which begins at midnight UTC, or a time with its offset.
pub(super) fn read_until(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<SystemTime> {
    let until = match &entry.value {
        DeValue::Datetime(datetime) => to_system_time(datetime),
        _ => None,
    };
    if until.is_none() {
        let why = "must be a date such as 2027-01-01, which begins at midnight UTC, or a time with its offset, such as \
                   2027-01-01T12:00:00Z";
        reader.report(entry.span.clone(), &entry.key, why);
    }
    until
}

/// A date and time, to the second. `None` for a time without a day or without an offset, and for years before 1970.
fn to_system_time(datetime: &Datetime) -> Option<SystemTime> {
    let Date { year, month, day } = datetime.date?;
    let (hour, minute, second) = match (datetime.time, datetime.offset) {
        (None, _) => (0, 0, 0),
        (Some(time), Some(_)) => (time.hour, time.minute, time.second.unwrap_or_default()),
        (Some(_), None) => return None,
    };
    let local = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
    let local = humantime::parse_rfc3339(&local).ok()?;
    let minutes_east = match datetime.offset {
        Some(Offset::Custom { minutes }) => minutes,
        _ => 0,
    };
    let offset = Duration::from_secs(u64::from(minutes_east.unsigned_abs()) * 60);
    if minutes_east > 0 { local.checked_sub(offset) } else { local.checked_add(offset) }
}
