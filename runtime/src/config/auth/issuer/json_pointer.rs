//! JSON pointers to claims.

use serde_json::Value;

use crate::toml_reader::{TomlEntry, TomlReader};

/// Longest pointer, bytes.
const MAX_POINTER: usize = 1_024;

/// A path into a JSON value (RFC 6901) that leads below its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPointer(String);

impl JsonPointer {
    /// Parses a pointer such as `/realm_access/roles`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_escaped = |rest: &str| rest.starts_with(['0', '1']);
        let is_pointer =
            text.starts_with('/') && text.len() <= MAX_POINTER && text.split('~').skip(1).all(is_escaped);
        is_pointer.then(|| Self(text.to_owned()))
    }

    pub(super) fn read(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        let parsed = Self::parse(&entry.string(reader)?);
        if parsed.is_none() {
            let why = "must be a JSON pointer to a claim, such as `/groups` or `/realm_access/roles`; \
                       within a name, ~1 stands for / and ~0 for ~";
            reader.report(entry.span.clone(), &entry.key, why);
        }
        parsed
    }

    /// The value that it leads to.
    #[must_use]
    pub fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.pointer(&self.0)
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pointer_leads_below_the_root() {
        let claims = json!({ "a/b": { "c~d": ["x"] } });
        assert_eq!(JsonPointer::parse("/a~1b/c~0d/0").unwrap().get(&claims), Some(&json!("x")));
        assert_eq!(JsonPointer::parse("/a").unwrap().get(&claims), None);
        for text in ["", "a", "#/a", "/~", "/~2", "/a~"] {
            assert_eq!(JsonPointer::parse(text), None, "{text}");
        }
    }
}
