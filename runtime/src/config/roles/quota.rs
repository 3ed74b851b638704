//! `quota` of a role: how much each caller may use by it.
//!
//! The keys that count something over a period are [`QuotaKind`]s, which differ in their names and periods only, so
//! that counting knows one shape. `concurrent` counts what runs at the moment and has no period.

use std::time::Duration;

use toml::de::DeValue;

use crate::toml_reader::{TomlEntry, TomlReader};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The key of calls that run at the same time.
const CONCURRENT: &str = "concurrent";

/// Most calls that `concurrent` may allow.
const MAX_CONCURRENT: u64 = 10_000;

/// A quota that counts something over a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuotaKind {
    /// `calls_per_minute`.
    CallsPerMinute,
    /// `calls_per_day`.
    CallsPerDay,
    /// `fuel_per_hour`.
    FuelPerHour,
    /// `cpu_s_per_hour`.
    CpuPerHour,
    /// `sampling_tokens_per_day`.
    SamplingTokensPerDay,
}

impl QuotaKind {
    /// All of them, in the order in which a caller is told that one is used up.
    pub const ALL: [Self; 5] = [
        Self::CallsPerMinute,
        Self::CallsPerDay,
        Self::FuelPerHour,
        Self::CpuPerHour,
        Self::SamplingTokensPerDay,
    ];

    /// Its key.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::CallsPerMinute => "calls_per_minute",
            Self::CallsPerDay => "calls_per_day",
            Self::FuelPerHour => "fuel_per_hour",
            Self::CpuPerHour => "cpu_s_per_hour",
            Self::SamplingTokensPerDay => "sampling_tokens_per_day",
        }
    }

    /// In how much time a used up quota is whole again.
    #[must_use]
    pub fn period(self) -> Duration {
        match self {
            Self::CallsPerMinute => MINUTE,
            Self::FuelPerHour | Self::CpuPerHour => HOUR,
            Self::CallsPerDay | Self::SamplingTokensPerDay => DAY,
        }
    }

    /// The hard maximum. All of them are whole numbers as `f64` too.
    fn max(self) -> u64 {
        match self {
            Self::CallsPerMinute => 1_000_000,
            Self::CallsPerDay => 1_000_000_000,
            Self::FuelPerHour => 1_000_000_000_000_000,
            Self::CpuPerHour => 3_600_000,
            Self::SamplingTokensPerDay => 10_000_000_000,
        }
    }
}

/// What a caller may use by one role. It has at least one limit, and each is within its range.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct QuotaConfig {
    /// By their kinds, each at most once.
    rates: Vec<(QuotaKind, u64)>,
    concurrent: Option<u32>,
}

impl QuotaConfig {
    pub(super) fn read(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        let (path, span) = (entry.key.clone(), entry.span.clone());
        let mut table = entry.table(reader)?;
        let mut quota = Self::default();
        for kind in QuotaKind::ALL {
            let Some(entry) = table.take(kind.key()) else { continue };
            quota.rates.extend(whole_number(&entry, kind.max(), reader).map(|value| (kind, value)));
        }
        if let Some(entry) = table.take(CONCURRENT) {
            let value = whole_number(&entry, MAX_CONCURRENT, reader);
            quota.concurrent = value.and_then(|value| u32::try_from(value).ok());
        }
        let known: Vec<&str> = QuotaKind::ALL.iter().map(|kind| kind.key()).chain([CONCURRENT]).collect();
        table.finish(reader, &known);
        let is_empty = quota.rates.is_empty() && quota.concurrent.is_none();
        if is_empty && !reader.has_diagnostics(&format!("{path}.")) {
            let why = "has no limit; write one, such as quota = { calls_per_minute = 120 }, or leave it out";
            reader.report(span, &path, why);
        }
        Some(quota)
    }

    /// The quotas that count over a period, each with its number.
    pub fn rates(&self) -> impl Iterator<Item = (QuotaKind, u64)> + '_ {
        self.rates.iter().copied()
    }

    /// The number of one kind.
    #[must_use]
    pub fn rate(&self, kind: QuotaKind) -> Option<u64> {
        self.rates().find(|(own, _)| *own == kind).map(|(_, value)| value)
    }

    /// How many calls may run at the same time.
    #[must_use]
    pub fn concurrent(&self) -> Option<u32> {
        self.concurrent
    }

    /// For tests of other layers, which read no TOML.
    #[cfg(test)]
    pub(crate) fn of(rates: &[(QuotaKind, u64)], concurrent: Option<u32>) -> Self {
        Self { rates: rates.to_vec(), concurrent }
    }
}

/// A whole number from 1 to `max`, which may be written as a float: `1e12` is easier to read than thirteen digits.
fn whole_number(entry: &TomlEntry<'_>, max: u64, reader: &mut TomlReader<'_>) -> Option<u64> {
    if let DeValue::Float(number) = &entry.value {
        let value = number.as_str().replace('_', "").parse::<f64>().ok();
        let is_whole = |value: &f64| value.fract() == 0.0 && (1.0..=max as f64).contains(value);
        if let Some(value) = value.filter(is_whole) {
            return Some(value as u64);
        }
    }
    entry.number(1, max, reader)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Config, ConfigError};

    fn read(quota: &str) -> Result<QuotaConfig, ConfigError> {
        let text = format!("[roles.a]\nwho = [\"anyone\"]\nallow = [\"*\"]\nquota = {quota}\n");
        let config = Config::parse(&text, Path::new("plugport.toml"), "no-such-plugins".into())?;
        Ok(config.roles.roles.into_iter().next().unwrap().quota.unwrap())
    }

    #[test]
    fn a_quota_is_read_whole() {
        let quota = read(
            "{ calls_per_minute = 120, calls_per_day = 20_000, concurrent = 8, fuel_per_hour = 1e12, \
             cpu_s_per_hour = 60, sampling_tokens_per_day = 1e6 }",
        );
        let quota = quota.unwrap();
        let values = QuotaKind::ALL.map(|kind| quota.rate(kind).unwrap());
        assert_eq!(values, [120, 20_000, 1_000_000_000_000, 60, 1_000_000]);
        assert_eq!(quota.concurrent(), Some(8));
        let one = read("{ cpu_s_per_hour = 1.0 }").unwrap();
        assert_eq!(
            (one.rates().count(), one.rate(QuotaKind::CpuPerHour), one.concurrent()),
            (1, Some(1), None)
        );
    }

    #[test]
    fn every_mistake_has_its_line_and_key() {
        for (quota, expected) in [
            ("{}", ":4: roles.a.quota: has no limit"),
            ("5", ":4: roles.a.quota: expected a table, found a number"),
            (
                "{ calls_per_minute = 0 }",
                ":4: roles.a.quota.calls_per_minute: must be a whole number from 1 to 1000000",
            ),
            (
                "{ fuel_per_hour = 0.5 }",
                "quota.fuel_per_hour: must be a whole number from 1 to 1000000000000000, found 0.5",
            ),
            ("{ fuel_per_hour = 1e16 }", "found 1e16"),
            ("{ fuel_per_hour = inf }", "found inf"),
            ("{ fuel_per_hour = nan }", "found nan"),
            ("{ concurrent = 10_001 }", "quota.concurrent: must be a whole number from 1 to 10000"),
            ("{ calls_per_hour = 5 }", "quota.calls_per_hour: unknown key"),
        ] {
            let message = read(quota).unwrap_err().to_string();
            assert!(message.contains(expected) && message.contains("1 mistake in"), "{quota}: {message}");
        }
    }
}
