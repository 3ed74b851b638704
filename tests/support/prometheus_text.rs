//! A strict reader of the text format of Prometheus, version 0.0.4.

use std::collections::{BTreeMap, BTreeSet};

/// The labels of a series.
pub type Labels = BTreeMap<String, String>;

/// All series of one scrape.
#[derive(Debug)]
pub struct Scrape {
    pub text: String,
    samples: Vec<(String, Labels, f64)>,
}

impl Scrape {
    /// Reads a scrape and checks it: each metric once with its help and type, all its series behind them, no series
    /// twice, and histograms that add up.
    pub fn parse(text: String) -> Self {
        assert!(text.ends_with('\n'), "the last line is not whole");
        let (mut families, mut samples) = (BTreeSet::new(), Vec::new());
        let (mut helped, mut family) = (None, None::<(String, String)>);
        for line in text.split('\n').filter(|line| !line.is_empty()) {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').expect("a metric has a help text");
                assert!(!help.is_empty() && is_name(name), "{line}");
                helped = Some(name.to_owned());
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a metric has a type");
                assert_eq!(helped.take().as_deref(), Some(name), "the help comes right before the type");
                assert!(families.insert(name.to_owned()), "{name} is there twice");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                family = Some((name.to_owned(), kind.to_owned()));
            } else {
                let (name, labels, value) = sample(line);
                let (of, kind) = family.as_ref().expect("a type before the series");
                let own = match kind.as_str() {
                    "histogram" => {
                        ["_bucket", "_sum", "_count"].iter().any(|part| name == format!("{of}{part}"))
                    }
                    _ => name == *of,
                };
                assert!(own, "{line} is below {of}");
                assert!(kind != "counter" || value >= 0.0, "{line}");
                samples.push((name, labels, value));
            }
        }
        let distinct: BTreeSet<_> = samples.iter().map(|(name, labels, _)| (name, labels)).collect();
        assert_eq!(distinct.len(), samples.len(), "a series is there twice");
        let scrape = Self { samples, text };
        scrape.check_histograms();
        scrape
    }

    /// The value of the one series with this name and exactly these labels.
    pub fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let wanted: Labels = labels.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let found = self.samples.iter().find(|(other, labels, _)| other == name && *labels == wanted);
        found.map(|(_, _, value)| *value)
    }

    /// The sum of all series with this name.
    pub fn sum(&self, name: &str) -> f64 {
        self.samples.iter().filter(|(other, ..)| other == name).map(|(_, _, value)| value).sum()
    }

    /// Number of all series.
    pub fn series(&self) -> usize {
        self.samples.len()
    }

    /// All values of one label.
    pub fn label_values(&self, label: &str) -> BTreeSet<&str> {
        self.samples.iter().filter_map(|(_, labels, _)| labels.get(label)).map(String::as_str).collect()
    }

    fn check_histograms(&self) {
        let mut buckets = BTreeMap::<(String, Labels), Vec<(f64, f64)>>::new();
        for (name, labels, value) in &self.samples {
            let Some(family) = name.strip_suffix("_bucket") else { continue };
            let mut labels = labels.clone();
            let bound = match labels.remove("le").expect("a bucket has a bound").as_str() {
                "+Inf" => f64::INFINITY,
                bound => bound.parse().unwrap(),
            };
            buckets.entry((family.to_owned(), labels)).or_default().push((bound, *value));
        }
        for ((family, labels), buckets) in &buckets {
            assert!(
                buckets.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1),
                "{family} {labels:?}: {buckets:?}"
            );
            let labels: Vec<_> = labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let (last, count) = (buckets.last().unwrap(), self.get(&format!("{family}_count"), &labels));
            assert_eq!((last.0, Some(last.1)), (f64::INFINITY, count), "{family} {labels:?}");
            assert!(self.get(&format!("{family}_sum"), &labels).is_some_and(|sum| sum >= 0.0));
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    name.chars().all(is_part) && name.starts_with(|c: char| !c.is_ascii_digit())
}

/// One line with a value.
fn sample(line: &str) -> (String, Labels, f64) {
    let end = line.find(['{', ' ']).expect("a name and a value");
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = Labels::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"").expect("a label and its value");
            assert!(is_name(label), "{line}");
            let (value, after) = quoted(after);
            assert!(labels.insert(label.to_owned(), value).is_none(), "{line} has a label twice");
            if let Some(after) = after.strip_prefix('}') {
                rest = after;
                break;
            }
            rest = after.strip_prefix(',').expect("a comma between labels");
        }
    }
    let value = rest.strip_prefix(' ').expect("a blank before the value");
    (name.to_owned(), labels, value.parse().unwrap_or_else(|_| panic!("{line} has no value")))
}

/// A text until its closing quote, unescaped, and the rest of the line.
fn quoted(text: &str) -> (String, &str) {
    let (mut value, mut characters) = (String::new(), text.char_indices());
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.push(match characters.next().expect("an escaped character").1 {
                'n' => '\n',
                escaped @ ('\\' | '"') => escaped,
                other => panic!("\\{other} is no escape"),
            }),
            other => value.push(other),
        }
    }
    panic!("a quote is open: {text}")
}
