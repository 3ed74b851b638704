//! `when`: which values the arguments of an item may have for a role to allow a call.
//!
//! `when = { "files-read" = { "/path" = ["/data/**"] } }`: an item, pointers into its arguments, and the values that
//! each may have. A text is a [`PathGlob`]. `true`, `false` and whole numbers are those values of JSON, so that the
//! text `"false"` is not taken for `false`. The empty text stands for an argument that is absent, null or empty.

use toml::de::DeValue;

use super::argument_pointer::ArgumentPointer;
use super::item_pattern::ItemPattern;
use super::path_glob::{PathGlob, PathValue};
use super::rule::{Rule, read_rule};
use crate::toml_reader::{TomlEntry, TomlReader};

/// Most items of one role with conditions.
const MAX_ITEMS: usize = 64;

/// Most arguments of one item with conditions: a call compares each name in its arguments with each of them.
const MAX_ARGUMENTS: usize = 16;

/// Most values of one argument.
const MAX_VALUES: usize = 64;

/// Longest pattern, bytes.
const MAX_PATTERN: usize = 256;

/// The conditions on the arguments of some items.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ItemConditions {
    /// Which items.
    pub item: Rule<ItemPattern>,
    /// All of them have to hold.
    pub arguments: Vec<ArgumentCondition>,
}

/// The values that one argument may have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ArgumentCondition {
    /// Which argument.
    pub pointer: ArgumentPointer,
    /// One of them has to match.
    pub values: Vec<AllowedValue>,
    /// Whether the argument may be absent, null or empty.
    pub may_be_absent: bool,
    /// The line in the configuration.
    pub line: usize,
}

/// A value that an argument may have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AllowedValue {
    /// A text that the pattern matches.
    Text(PathGlob),
    /// `true` or `false`.
    Boolean(bool),
    /// A number that is written without fraction and exponent.
    Number(i64),
}

impl ArgumentCondition {
    /// Whether the argument may be this text.
    #[must_use]
    pub fn allows_text(&self, text: &str) -> bool {
        if text.is_empty() {
            return self.may_be_absent;
        }
        let Some(value) = PathValue::new(text) else { return false };
        self.values.iter().any(|allowed| matches!(allowed, AllowedValue::Text(glob) if glob.matches(&value)))
    }

    /// Whether the argument may be this value, which is no text.
    #[must_use]
    pub fn allows(&self, value: &AllowedValue) -> bool {
        self.values.contains(value)
    }
}

impl ItemConditions {
    pub(super) fn read_all(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Vec<Self> {
        let (path, span) = (entry.key.clone(), entry.span.clone());
        let Some(mut table) = entry.table(reader) else { return Vec::new() };
        let entries = table.take_all();
        if entries.len() > MAX_ITEMS {
            let why =
                format!("has conditions on more than {MAX_ITEMS} items; use patterns, or split the role");
            reader.report(span, &path, why);
            return Vec::new();
        }
        let mut all = Vec::with_capacity(entries.len());
        for (name, entry) in entries {
            let item = read_rule(&name, &entry, MAX_PATTERN, ItemPattern::parse, reader);
            if item.as_ref().is_some_and(|item| !item.value.may_have_arguments()) {
                let why = "has no arguments; name tools or prompts here, and resources in `allow` and `deny`";
                reader.report(entry.span.clone(), &entry.key, why);
            }
            let arguments = ArgumentCondition::read_all(entry, reader);
            all.extend(item.map(|item| Self { item, arguments }));
        }
        all
    }
}

impl ArgumentCondition {
    fn read_all(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Vec<Self> {
        let (path, span) = (entry.key.clone(), entry.span.clone());
        let Some(mut table) = entry.table(reader) else { return Vec::new() };
        let entries = table.take_all();
        if !(1..=MAX_ARGUMENTS).contains(&entries.len()) {
            let why =
                format!("needs 1 to {MAX_ARGUMENTS} arguments, such as {{ \"/path\" = [\"/data/**\"] }}");
            reader.report(span, &path, why);
        }
        entries.into_iter().filter_map(|(name, entry)| Self::read(&name, entry, reader)).collect()
    }

    fn read(name: &str, entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        let line = reader.line(&entry.span);
        let pointer = match ArgumentPointer::parse(name) {
            Ok(pointer) => Some(pointer),
            Err(error) => {
                let why = format!("`{}` {error}", name.escape_debug());
                reader.report(entry.span.clone(), &entry.key, why);
                None
            }
        };
        let (path, span) = (entry.key.clone(), entry.span.clone());
        let items = entry.array(reader);
        if !(1..=MAX_VALUES).contains(&items.len()) && !reader.has_diagnostics(&path) {
            let why = format!("needs 1 to {MAX_VALUES} values; to allow every value, leave the argument out");
            reader.report(span, &path, why);
        }
        let may_be_absent =
            items.iter().any(|item| matches!(&item.value, DeValue::String(text) if text.is_empty()));
        let values = items.iter().filter_map(|item| AllowedValue::read(item, reader)).collect();
        Some(Self { pointer: pointer?, values, may_be_absent, line })
    }
}

impl AllowedValue {
    /// Reads a value. `None`: it is the empty text, or wrong, which is reported.
    fn read(item: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        let why = match &item.value {
            DeValue::Boolean(value) => return Some(Self::Boolean(*value)),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => return Some(Self::Number(number)),
                Err(_) => "must be a number within 64 bits".to_owned(),
            },
            DeValue::String(text) if text.is_empty() => return None,
            DeValue::String(text) if text.len() > MAX_PATTERN => {
                format!("must have at most {MAX_PATTERN} bytes")
            }
            DeValue::String(text) => match PathGlob::parse(text) {
                Ok(glob) => return Some(Self::Text(glob)),
                Err(error) => format!("`{}` {error}", text.escape_debug()),
            },
            _ => "must be a text such as \"/data/**\", true or false, or a whole number".to_owned(),
        };
        reader.report(item.span.clone(), &item.key, why);
        None
    }
}
