//! An object whose values are all strings: the arguments of prompts and completions.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// Names and strings in the order of the JSON. If a name occurs several times, the last string counts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StringMap(pub(super) Vec<(String, String)>);

impl<'de> Deserialize<'de> for StringMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringMapVisitor;

        impl<'de> Visitor<'de> for StringMapVisitor {
            type Value = StringMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with string values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StringMap, A::Error> {
                let mut texts: Vec<(String, String)> = Vec::new();
                let mut indexes = std::collections::HashMap::new();
                while let Some((name, value)) = map.next_entry::<String, String>()? {
                    let index = *indexes.entry(name.clone()).or_insert(texts.len());
                    match texts.get_mut(index) {
                        Some(text) => text.1 = value,
                        None => texts.push((name, value)),
                    }
                }
                Ok(StringMap(texts))
            }
        }

        deserializer.deserialize_map(StringMapVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_are_taken_and_the_last_of_a_name_counts() {
        let read = |text: &str| serde_json::from_str::<StringMap>(text);
        let texts = read(r#"{"b":"1","a":"2","b":"3"}"#).unwrap();
        assert_eq!(texts.0, [("b".to_owned(), "3".to_owned()), ("a".to_owned(), "2".to_owned())]);
        for bad in [r#"{"a":1}"#, r#"{"a":null}"#, "[]", r#""a""#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
