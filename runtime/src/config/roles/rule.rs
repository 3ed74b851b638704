//! One entry of a role's lists, with its line, so that `plugport access` can say which entry decided.

use std::fmt::Display;

use crate::toml_reader::{TomlEntry, TomlReader};

/// Most entries of one list.
const MAX_RULES: usize = 256;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rule<T> {
    /// Parsed.
    pub value: T,
    /// As it is written.
    pub text: Box<str>,
    /// Its line in the configuration, counted from 1.
    pub line: usize,
}

/// Reads an array of texts of at most `max_bytes` each. Every mistake is reported.
pub(super) fn read_rules<T, E: Display>(
    entry: TomlEntry<'_>,
    max_bytes: usize,
    parse: fn(&str) -> Result<T, E>,
    reader: &mut TomlReader<'_>,
) -> Vec<Rule<T>> {
    let (path, span) = (entry.key.clone(), entry.span.clone());
    let items = entry.array(reader);
    if items.len() > MAX_RULES {
        let why = format!("has more than {MAX_RULES} entries; use patterns, or split the role");
        reader.report(span, &path, why);
        return Vec::new();
    }
    let mut rules = Vec::with_capacity(items.len());
    for item in &items {
        let text = item.string(reader);
        rules.extend(text.and_then(|text| read_rule(&text, item, max_bytes, parse, reader)));
    }
    rules
}

/// Parses a text that stands in `entry`, as its value or as its key. `None`: it is wrong, which is reported.
pub(super) fn read_rule<T, E: Display>(
    text: &str,
    entry: &TomlEntry<'_>,
    max_bytes: usize,
    parse: fn(&str) -> Result<T, E>,
    reader: &mut TomlReader<'_>,
) -> Option<Rule<T>> {
    let parsed = match parse(text) {
        _ if text.len() > max_bytes => Err(format!("must have at most {max_bytes} bytes")),
        Ok(value) => Ok(value),
        Err(error) => Err(format!("`{}` {error}", text.escape_debug())),
    };
    match parsed {
        Ok(value) => Some(Rule { value, text: text.into(), line: reader.line(&entry.span) }),
        Err(why) => {
            reader.report(entry.span.clone(), &entry.key, why);
            None
        }
    }
}
