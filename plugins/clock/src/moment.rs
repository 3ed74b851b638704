//! What comes in as a time and what goes out as one. A time without an offset is the usual source of wrong answers, so
//! nothing is guessed in silence: what had to be assumed stands in the answer's `note`.

use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use schemars::JsonSchema;
use serde::Serialize;

use crate::zone::{self, UnknownZone};

/// An instant as it is told in one zone.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Moment {
    /// RFC 3339, with the zone's offset.
    instant: String,
    /// RFC 9557: the instant with the zone's name.
    zoned: String,
    /// The zone's IANA name, or its offset.
    zone: String,
    offset: String,
    daylight_saving: bool,
    weekday: String,
    unix_seconds: i64,
    /// For people.
    text: String,
    /// What had to be assumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A time that was understood, and what had to be assumed for that.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) time: Zoned,
    note: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum TimeError {
    #[error(
        "cannot read the time `{0}`; write it with an offset, as `2026-11-21T14:30:00+09:00`, without one, as \
         `2026-11-21T14:30`, and name its zone, or in Unix seconds, as `@1795239000`"
    )]
    Unreadable(String),
    #[error("`{0}` has no offset; add one, as in `2026-11-21T14:30+09:00`, or name its zone in `from`")]
    Nowhere(String),
    #[error("cannot read the duration `{0}`; write ISO 8601 as `P3DT2H`, or words as `3 days 2 hours`")]
    Duration(String),
    #[error(transparent)]
    Zone(#[from] UnknownZone),
    #[error("the result is outside the years -9999 to 9999; use smaller numbers")]
    OutOfRange,
}

/// Reads `time`, told in its own zone unless `zone` is given. `otherwise` is where a time is that does not say so.
pub(crate) fn read(
    time: &str,
    zone: Option<&str>,
    otherwise: Option<TimeZone>,
) -> Result<Reading, TimeError> {
    let time = time.trim();
    let zone = zone.map(zone::find).transpose()?;
    if let Some(own) = instant(time) {
        let time = zone.map_or_else(|| own.clone(), |zone| own.with_time_zone(zone));
        return Ok(Reading { time, note: None });
    }
    let local = local(time).ok_or_else(|| TimeError::Unreadable(time.to_owned()))?;
    let assumed = zone.is_none();
    let zone = zone.or(otherwise).ok_or_else(|| TimeError::Nowhere(time.to_owned()))?;
    let candidates = zone.to_ambiguous_zoned(local);
    let ambiguous = candidates.is_ambiguous();
    let time = candidates.compatible().map_err(|_| TimeError::OutOfRange)?;
    let note = match time.datetime() == local {
        true if ambiguous => Some(format!("{local} comes twice as the clocks go back; the first was taken")),
        true => assumed.then(|| "no offset was given; taken as UTC".to_owned()),
        false => Some(format!("{local} does not exist, as the clocks go forward; moved on")),
    };
    Ok(Reading { time, note })
}

/// A time that says itself where it is.
fn instant(time: &str) -> Option<Zoned> {
    if let Some(seconds) = time.strip_prefix('@') {
        return Some(Timestamp::from_second(seconds.parse().ok()?).ok()?.to_zoned(TimeZone::UTC));
    }
    let pieces = Pieces::parse(time).ok()?;
    if pieces.time_zone_annotation().is_some() {
        return time.parse().ok();
    }
    let offset = pieces.to_numeric_offset()?;
    let zone = if offset.is_zero() { TimeZone::UTC } else { TimeZone::fixed(offset) };
    Some(time.parse::<Timestamp>().ok()?.to_zoned(zone))
}

fn local(time: &str) -> Option<DateTime> {
    let pieces = Pieces::parse(time).ok()?;
    let plain = pieces.offset().is_none() && pieces.time_zone_annotation().is_none();
    plain.then(|| pieces.date().to_datetime(pieces.time().unwrap_or_default()))
}

impl From<Zoned> for Moment {
    fn from(time: Zoned) -> Self {
        Reading { time, note: None }.into()
    }
}

impl From<Reading> for Moment {
    fn from(Reading { time, note }: Reading) -> Self {
        let offset = time.strftime("%:z").to_string();
        Self {
            instant: time.timestamp().display_with_offset(time.offset()).to_string(),
            zoned: time.to_string(),
            zone: time.time_zone().iana_name().unwrap_or(&offset).to_owned(),
            offset,
            daylight_saving: time.time_zone().to_offset_info(time.timestamp()).dst().is_dst(),
            weekday: time.strftime("%A").to_string(),
            unix_seconds: time.timestamp().as_second(),
            text: time.strftime("%A, %-d %B %Y, %H:%M:%S (UTC%:z)").to_string(),
            note,
        }
    }
}
