//! The text that Prometheus reads: version 0.0.4 of its exposition format.
//!
//! Our own lines and not `prometheus-client`: its histograms take a lock for each value, and it writes OpenMetrics,
//! whose counters lack their name in `# TYPE` for a reader of this format (`docs/decisions/0006-crates.md`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::families::Family;

/// The value of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(u64),
    /// A time, in seconds.
    Time(Duration),
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Number(u64::try_from(number).unwrap_or(u64::MAX))
    }
}

impl From<bool> for Value {
    fn from(is_true: bool) -> Self {
        Self::Number(u64::from(is_true))
    }
}

impl From<Duration> for Value {
    fn from(time: Duration) -> Self {
        Self::Time(time)
    }
}

/// Labels as text, with their values escaped.
pub(super) fn render(labels: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (at, (key, value)) in labels.iter().enumerate() {
        text.push_str(if at == 0 { "" } else { "," });
        text.push_str(key);
        text.push_str("=\"");
        for character in value.chars() {
            match character {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                other => text.push(other),
            }
        }
        text.push('"');
    }
    text
}

/// Writes the samples of one family. The first one brings the lines about the family along, so a family without samples
/// is not mentioned.
#[derive(Debug)]
pub(super) struct FamilyWriter<'t> {
    text: &'t mut String,
    family: &'static Family,
    has_begun: bool,
}

impl<'t> FamilyWriter<'t> {
    pub(super) fn new(text: &'t mut String, family: &'static Family) -> Self {
        Self { text, family, has_begun: false }
    }

    /// Writes a sample. The parts of the labels are joined as they are.
    pub(super) fn sample(&mut self, labels: &[&str], value: Value) {
        self.suffixed_sample("", labels, value);
    }

    /// The same for a part of a histogram, whose name has this suffix.
    pub(super) fn suffixed_sample(&mut self, suffix: &str, labels: &[&str], value: Value) {
        if !std::mem::replace(&mut self.has_begun, true) {
            let Family { name, kind, help } = self.family;
            // Writing to a `String` cannot fail, here and below.
            let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {}", kind.as_str());
        }
        self.text.push_str(self.family.name);
        self.text.push_str(suffix);
        if labels.iter().any(|part| !part.is_empty()) {
            self.text.push('{');
            labels.iter().for_each(|part| self.text.push_str(part));
            self.text.push('}');
        }
        let _ = match value {
            Value::Number(number) => writeln!(self.text, " {number}"),
            Value::Time(time) => writeln!(self.text, " {}.{:09}", time.as_secs(), time.subsec_nanos()),
        };
    }
}

/// What owners know at the moment of a scrape. Each combination of labels is there once, whoever adds it.
#[derive(Debug, Default)]
pub struct Samples {
    families: BTreeMap<&'static str, (&'static Family, BTreeMap<String, Value>)>,
}

impl Samples {
    /// Adds a sample. One with the same labels is replaced.
    pub fn add(&mut self, family: &'static Family, labels: &[(&str, &str)], value: impl Into<Value>) {
        let (_, samples) = self.families.entry(family.name).or_insert_with(|| (family, BTreeMap::new()));
        samples.insert(render(labels), value.into());
    }

    pub(super) fn write(&self, text: &mut String) {
        for (family, samples) in self.families.values() {
            let mut writer = FamilyWriter::new(text, family);
            samples.iter().for_each(|(labels, value)| writer.sample(&[labels], *value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::families;
    use super::*;

    #[test]
    fn a_family_begins_with_what_it_is_and_has_each_sample_once() {
        let mut samples = Samples::default();
        samples.add(&families::PLUGINS, &[("state", "serving")], 1_u64);
        samples.add(&families::BUILD_INFO, &[("version", "a\"b\\c\nd")], true);
        samples.add(&families::PLUGINS, &[("state", "failed")], 0_usize);
        samples.add(&families::PLUGINS, &[("state", "serving")], 2_u64);
        samples.add(&families::PROCESS_CPU, &[], Duration::from_micros(1_500_020));
        let mut text = String::new();
        samples.write(&mut text);
        assert_eq!(
            text,
            "# HELP plugport_build_info Always 1; the label is the version of the server.\n\
             # TYPE plugport_build_info gauge\n\
             plugport_build_info{version=\"a\\\"b\\\\c\\nd\"} 1\n\
             # HELP plugport_plugins Plugins, draining versions and rejected files, by state.\n\
             # TYPE plugport_plugins gauge\n\
             plugport_plugins{state=\"failed\"} 0\n\
             plugport_plugins{state=\"serving\"} 2\n\
             # HELP process_cpu_seconds_total Processor time of the server.\n\
             # TYPE process_cpu_seconds_total counter\n\
             process_cpu_seconds_total 1.500020000\n"
        );
    }
}
