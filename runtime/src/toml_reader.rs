//! Reads a TOML document by hand instead of through derived deserialisation.
//!
//! A derived reader stops at the first mistake and forgets where it was. An operator who edits a file wants every
//! mistake at once, each with its line and key. So a [`TomlTable`] hands out values by key, reports mistakes and goes
//! on. Entries that are left at the end are unknown keys.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// One mistake in a configuration file.
#[derive(Debug)]
pub struct Diagnostic {
    /// Counted from 1.
    pub line: usize,
    /// Dotted path of the key; empty when the text is not TOML.
    pub key: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

/// The text being read and the diagnostics so far.
pub(crate) struct TomlReader<'i> {
    text: &'i str,
    /// Where the lines end, bytes.
    line_ends: Vec<usize>,
    diagnostics: Vec<Diagnostic>,
}

impl<'i> TomlReader<'i> {
    pub(crate) fn new(text: &'i str) -> Self {
        let line_ends = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { text, line_ends, diagnostics: Vec::new() }
    }

    /// The document's root, as far as it could be parsed.
    pub(crate) fn root(&mut self) -> TomlTable<'i> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            self.report(error.span().unwrap_or_default(), "", error.message());
        }
        TomlTable::new(String::new(), table.into_inner())
    }

    pub(crate) fn report(&mut self, span: Range<usize>, key: &str, message: impl Into<String>) {
        let line = self.line(&span);
        self.diagnostics.push(Diagnostic { line, key: key.to_owned(), message: message.into() });
    }

    /// The line in which a span begins, counted from 1.
    pub(crate) fn line(&self, span: &Range<usize>) -> usize {
        self.line_ends.partition_point(|end| *end < span.start) + 1
    }

    /// Whether something is wrong at or below this key.
    pub(crate) fn has_diagnostics(&self, path: &str) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.key.starts_with(path))
    }

    /// Ends the reading: `value` if there are no mistakes, or else all mistakes, by line.
    pub(crate) fn finish<T>(mut self, value: T) -> Result<T, Vec<Diagnostic>> {
        if self.diagnostics.is_empty() {
            return Ok(value);
        }
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.line);
        Err(self.diagnostics)
    }
}

/// A value with the key it stands under.
pub(crate) struct TomlEntry<'i> {
    pub(crate) key: String,
    pub(crate) span: Range<usize>,
    pub(crate) value: DeValue<'i>,
}

impl<'i> TomlEntry<'i> {
    fn expected(&self, what: &str) -> String {
        format!("expected {what}, found {}", kind(&self.value))
    }

    /// A number within bounds; anything else is reported.
    pub(crate) fn number(&self, min: u64, max: u64, reader: &mut TomlReader<'_>) -> Option<u64> {
        let number = match &self.value {
            DeValue::Integer(number) => {
                u64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
            }
            _ => None,
        };
        let within = number.filter(|number| (min..=max).contains(number));
        if within.is_none() {
            let found = self.describe();
            let message = format!("must be a whole number from {min} to {max}, found {found}");
            reader.report(self.span.clone(), &self.key, message);
        }
        within
    }

    /// The value as errors show it: a number as it is written, anything else by its kind.
    fn describe(&self) -> String {
        match &self.value {
            DeValue::Integer(number) => {
                let prefix = match number.radix() {
                    2 => "0b",
                    8 => "0o",
                    16 => "0x",
                    _ => "",
                };
                format!("{prefix}{}", number.as_str())
            }
            DeValue::Float(number) => number.as_str().to_owned(),
            other => kind(other).to_owned(),
        }
    }

    pub(crate) fn is_boolean(&self) -> bool {
        matches!(self.value, DeValue::Boolean(_))
    }

    pub(crate) fn boolean(&self, reader: &mut TomlReader<'_>) -> Option<bool> {
        if let DeValue::Boolean(value) = self.value {
            return Some(value);
        }
        reader.report(self.span.clone(), &self.key, self.expected("true or false"));
        None
    }

    pub(crate) fn string(&self, reader: &mut TomlReader<'_>) -> Option<String> {
        if let DeValue::String(text) = &self.value {
            return Some(text.to_string());
        }
        reader.report(self.span.clone(), &self.key, self.expected("a string"));
        None
    }

    /// The elements of an array, each as an entry under the array's own key.
    pub(crate) fn array(self, reader: &mut TomlReader<'_>) -> Vec<Self> {
        match self.value {
            DeValue::Array(items) => items
                .into_iter()
                .map(|item| Self { key: self.key.clone(), span: item.span(), value: item.into_inner() })
                .collect(),
            _ => {
                reader.report(self.span.clone(), &self.key, self.expected("an array"));
                Vec::new()
            }
        }
    }

    pub(crate) fn strings(self, reader: &mut TomlReader<'_>) -> Vec<String> {
        self.array(reader).iter().filter_map(|item| item.string(reader)).collect()
    }

    pub(crate) fn table(self, reader: &mut TomlReader<'_>) -> Option<TomlTable<'i>> {
        let expected = self.expected("a table");
        match self.value {
            DeValue::Table(table) => Some(TomlTable::new(self.key, table)),
            _ => {
                reader.report(self.span, &self.key, expected);
                None
            }
        }
    }
}

/// A TOML table whose entries are taken one by one.
pub(crate) struct TomlTable<'i> {
    path: String,
    entries: Vec<TomlEntry<'i>>,
}

impl<'i> TomlTable<'i> {
    fn new(path: String, table: DeTable<'i>) -> Self {
        let entries = table
            .into_iter()
            .map(|(key, value)| {
                let name = key.get_ref();
                let key_path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
                TomlEntry { key: key_path, span: key.span(), value: value.into_inner() }
            })
            .collect();
        Self { path, entries }
    }

    /// Takes the entry under `name`, which is a key of this table and not a path.
    pub(crate) fn take(&mut self, name: &str) -> Option<TomlEntry<'i>> {
        let key = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.swap_remove(at))
    }

    /// Takes a number within bounds.
    pub(crate) fn take_number(
        &mut self,
        name: &str,
        min: u64,
        max: u64,
        reader: &mut TomlReader<'_>,
    ) -> Option<u64> {
        self.take(name)?.number(min, max, reader)
    }

    /// Takes every entry that is left, with the last part of its key.
    pub(crate) fn take_all(&mut self) -> Vec<(String, TomlEntry<'i>)> {
        let prefix = if self.path.is_empty() { 0 } else { self.path.len() + 1 };
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_by_key(|entry| entry.span.start);
        entries
            .into_iter()
            .map(|entry| (entry.key.get(prefix..).unwrap_or_default().to_owned(), entry))
            .collect()
    }

    /// Reports all entries that are left as unknown keys.
    pub(crate) fn finish(mut self, reader: &mut TomlReader<'_>, known: &[&str]) {
        for (name, entry) in self.take_all() {
            let hint =
                nearest(&name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let known = known.join(", ");
            reader.report(entry.span, &entry.key, format!("unknown key{hint} (known here: {known})"));
        }
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// The known name that `name` most likely means: at most two edits away, and at most half of its letters. Upper case
/// and lower case are the same.
pub(crate) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let name = name.to_ascii_lowercase();
    let distance = |candidate: &str| strsim::levenshtein(&name, &candidate.to_ascii_lowercase());
    let scored = known.iter().map(|candidate| (distance(candidate), *candidate));
    let is_near = |distance: usize| distance <= 2 && 2 * distance <= name.len();
    scored.min().filter(|(distance, _)| is_near(*distance)).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_that_was_meant_is_found() {
        assert_eq!(nearest("wal_ms", &["wall_ms", "cpu_ms"]), Some("wall_ms"));
        assert_eq!(nearest("colour", &["wall_ms", "cpu_ms"]), None);
        assert_eq!(nearest("Wall_MS", &["wall_ms", "cpu_ms"]), Some("wall_ms"));
        assert_eq!((nearest("ab", &["cd"]), nearest("", &[""])), (None, Some("")));
    }

    #[test]
    fn a_number_out_of_bounds_is_reported_with_its_bounds() {
        for (written, found) in [
            ("-1", "-1"),
            ("0", "0"),
            ("1_0", "10"),
            ("0x7f", "0x7f"),
            ("99999999999999999999", "99999999999999999999"),
            ("0.5", "0.5"),
            ("true", "true or false"),
            ("\"5\"", "a string"),
        ] {
            let text = format!("size = {written}");
            let mut reader = TomlReader::new(&text);
            assert_eq!(reader.root().take_number("size", 1, 9, &mut reader), None);
            let messages: Vec<_> =
                reader.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
            assert_eq!(messages, [format!("must be a whole number from 1 to 9, found {found}")], "{written}");
        }
        let mut reader = TomlReader::new("size = 0b11");
        assert_eq!(reader.root().take_number("size", 1, 9, &mut reader), Some(3));
    }
}
