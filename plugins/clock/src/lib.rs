//! The time, and reckoning with it. A sandbox has no zone files, so the IANA database is compiled in; and since a model
//! easily gets calendars wrong, each answer tells an instant in every form that may be wanted next.

mod moment;
mod zone;

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Unit, ZonedDifference};
use plugport_sdk::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use moment::{Moment, TimeError, read};

/// Tell the current time in a time zone.
#[tool(read_only)]
fn now(
    /// IANA name such as `Europe/Paris`, or an offset such as `+09:00`.
    #[arg(default = "UTC")]
    zone: String,
) -> Result<Moment, TimeError> {
    let zone = zone::find(&zone)?;
    let milliseconds = Timestamp::now().as_millisecond();
    let now = Timestamp::from_millisecond(milliseconds).map_err(|_| TimeError::OutOfRange)?;
    Ok(now.to_zoned(zone).into())
}

/// The same instant, told in two zones.
#[derive(Debug, Serialize, JsonSchema)]
struct Conversion {
    from: Moment,
    to: Moment,
}

/// Convert a time from one time zone to another.
#[tool(read_only, idempotent)]
fn convert(
    /// `2026-11-21T14:30:00+09:00`, `2026-11-21T14:30` with `from`, or Unix seconds as `@1795239000`.
    time: String,
    /// Zone of `time`, needed when it has no offset: an IANA name such as `Asia/Tokyo`, or an offset.
    from: Option<String>,
    /// Zone to convert to: an IANA name such as `Europe/London`, or an offset.
    to: String,
) -> Result<Conversion, TimeError> {
    let target = zone::find(&to)?;
    let source = read(&time, from.as_deref(), None)?;
    let to = source.time.with_time_zone(target).into();
    Ok(Conversion { from: source.into(), to })
}

/// A time before and after a duration was added.
#[derive(Debug, Serialize, JsonSchema)]
struct Sum {
    start: Moment,
    /// ISO 8601.
    duration: String,
    result: Moment,
}

/// Add a duration to a time, or take it away. Days, months and years follow the calendar of the zone, across changes of
/// the clocks too.
#[tool(read_only, idempotent)]
fn add(
    /// `2026-11-21T14:30:00+09:00`, `2026-11-21T14:30`, or Unix seconds as `@1795239000`.
    time: String,
    /// ISO 8601 such as `P3DT2H` and `-PT90M`, or words such as `3 days 2h` and `1 month ago`.
    duration: String,
    /// Zone to reckon in: an IANA name or an offset. Without it that of `time`, else UTC.
    zone: Option<String>,
) -> Result<Sum, TimeError> {
    let span: Span = duration.trim().parse().map_err(|_| TimeError::Duration(duration))?;
    let start = read(&time, zone.as_deref(), Some(TimeZone::UTC))?;
    let result = start.time.checked_add(span).map_err(|_| TimeError::OutOfRange)?;
    Ok(Sum { start: start.into(), duration: span.to_string(), result: result.into() })
}

/// The largest unit of a difference.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Largest {
    Years,
    Months,
    Weeks,
    Days,
    Hours,
}

impl From<Largest> for Unit {
    fn from(largest: Largest) -> Self {
        match largest {
            Largest::Years => Self::Year,
            Largest::Months => Self::Month,
            Largest::Weeks => Self::Week,
            Largest::Days => Self::Day,
            Largest::Hours => Self::Hour,
        }
    }
}

/// How far two times are apart.
#[derive(Debug, Serialize, JsonSchema)]
struct Difference {
    from: Moment,
    to: Moment,
    /// ISO 8601; negative when `to` is before `from`.
    duration: String,
    /// The time that passes between them, in seconds.
    seconds: i64,
}

/// Tell how much time lies between two times.
#[tool(read_only, idempotent)]
fn difference(
    /// The earlier time, as in `add`. Calendar units are counted in its zone.
    from: String,
    /// The later time; an earlier one than `from` gives a negative answer.
    to: String,
    /// The largest unit to count in.
    #[arg(default = Largest::Days)]
    largest: Largest,
) -> Result<Difference, TimeError> {
    let from = read(&from, None, Some(TimeZone::UTC))?;
    let to = read(&to, None, Some(TimeZone::UTC))?;
    // Calendar units need both ends in one zone.
    let end = to.time.with_time_zone(from.time.time_zone().clone());
    let between = ZonedDifference::new(&end).largest(largest.into());
    let span = from.time.until(between).map_err(|_| TimeError::OutOfRange)?;
    let seconds = to.time.timestamp().as_second() - from.time.timestamp().as_second();
    Ok(Difference { from: from.into(), to: to.into(), duration: span.to_string(), seconds })
}

plugport_sdk::export! { tools: [now, convert, add, difference] }

#[cfg(test)]
mod tests;
