//! The text format of Prometheus, version 0.0.4.

use std::fmt::{self, Write as _};

use super::histogram::HistogramSnapshot;
use super::metric_family::{Labels, MetricFamily, MetricKind, MetricValue, Sample};

/// Writes metrics for a scraper.
#[must_use]
pub fn prometheus_text(families: &[MetricFamily]) -> String {
    let mut text = String::new();
    for family in families {
        // Writing to a `String` cannot fail.
        let _ = write_family(&mut text, family);
    }
    text
}

fn write_family(text: &mut String, family: &MetricFamily) -> fmt::Result {
    let MetricFamily { name, help, kind, samples } = family;
    let kind = match kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
    };
    writeln!(text, "# HELP {name} {}", EscapedHelp(help))?;
    writeln!(text, "# TYPE {name} {kind}")?;
    for Sample { labels, value } in samples {
        match value {
            MetricValue::Count(count) => writeln!(text, "{name}{} {count}", LabelSet(labels, None))?,
            MetricValue::Number(number) => writeln!(text, "{name}{} {number}", LabelSet(labels, None))?,
            MetricValue::Histogram(histogram) => write_histogram(text, name, labels, histogram)?,
        }
    }
    Ok(())
}

fn write_histogram(
    text: &mut String,
    name: &str,
    labels: &Labels,
    HistogramSnapshot { buckets, count, sum }: &HistogramSnapshot,
) -> fmt::Result {
    for (bound, up_to) in buckets {
        writeln!(text, "{name}_bucket{} {up_to}", LabelSet(labels, Some(*bound)))?;
    }
    writeln!(text, "{name}_bucket{} {count}", LabelSet(labels, Some(f64::INFINITY)))?;
    writeln!(text, "{name}_sum{} {sum}", LabelSet(labels, None))?;
    writeln!(text, "{name}_count{} {count}", LabelSet(labels, None))
}

/// Writes labels in braces, with the bound of a histogram's bucket; writes nothing if there are neither labels nor a
/// bound.
struct LabelSet<'a>(&'a Labels, Option<f64>);

impl fmt::Display for LabelSet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(labels, bound) = self;
        if labels.is_empty() && bound.is_none() {
            return Ok(());
        }
        f.write_str("{")?;
        for (at, (name, value)) in labels.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{name}=\"{}\"", EscapedLabel(value))?;
        }
        let comma = if labels.is_empty() { "" } else { "," };
        match bound {
            None => {}
            Some(bound) if bound.is_infinite() => write!(f, "{comma}le=\"+Inf\"")?,
            Some(bound) => write!(f, "{comma}le=\"{bound}\"")?,
        }
        f.write_str("}")
    }
}

/// A label's value, in which quotes, backslashes and line ends are escaped.
struct EscapedLabel<'a>(&'a str);

impl fmt::Display for EscapedLabel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '\\' => f.write_str("\\\\"),
            '"' => f.write_str("\\\""),
            '\n' => f.write_str("\\n"),
            other => f.write_char(other),
        })
    }
}

/// A help text on one line: its line ends and backslashes are escaped.
struct EscapedHelp<'a>(&'a str);

impl fmt::Display for EscapedHelp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '\\' => f.write_str("\\\\"),
            '\n' => f.write_str("\\n"),
            other => f.write_char(other),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::histogram::Histogram;
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_counter_and_a_gauge_have_a_line_for_each_series() {
        let mut calls = MetricFamily::new(MetricKind::Counter, "calls_total", "Calls.\nBack\\slash.");
        calls.add([("plugin", "a"), ("outcome", "ok")], 7_u64);
        let load = MetricFamily::single(MetricKind::Gauge, "load", "Load.", 0.5);
        let expected = "# HELP calls_total Calls.\\nBack\\\\slash.\n# TYPE calls_total counter\n\
                        calls_total{plugin=\"a\",outcome=\"ok\"} 7\n\
                        # HELP load Load.\n# TYPE load gauge\nload 0.5\n";
        assert_eq!(prometheus_text(&[calls, load]), expected);
    }

    #[test]
    fn no_value_of_a_label_ends_its_line_or_its_quotes() {
        let mut family = MetricFamily::new(MetricKind::Gauge, "x", "X.");
        family.add([("name", "a\"} 1\ny{b=\"\\\r\u{202e}é")], 1_u64);
        let text = prometheus_text(&[family]);
        let line = text.lines().nth(2).unwrap();
        assert_eq!(line, "x{name=\"a\\\"} 1\\ny{b=\\\"\\\\\r\u{202e}é\"} 1");
        assert_eq!(text.matches('\n').count(), 3);
    }

    #[test]
    fn a_histogram_ends_with_all_that_it_counted() {
        let histogram = Histogram::default();
        histogram.record(Duration::from_millis(15));
        let mut family = MetricFamily::new(MetricKind::Histogram, "d_seconds", "D.");
        family.add([("m", "a")], MetricValue::Histogram(histogram.read()));
        let text = prometheus_text(&[family]);
        for line in [
            "d_seconds_bucket{m=\"a\",le=\"0.01\"} 0",
            "d_seconds_bucket{m=\"a\",le=\"0.02\"} 1",
            "d_seconds_bucket{m=\"a\",le=\"300\"} 1",
            "d_seconds_bucket{m=\"a\",le=\"+Inf\"} 1",
            "d_seconds_sum{m=\"a\"} 0.015",
            "d_seconds_count{m=\"a\"} 1",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is not in:\n{text}");
        }
    }
}
