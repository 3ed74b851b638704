//! Checks every name and string of JSON as a client will decode it, whatever escapes it was written with.
//!
//! The text is read and not a parsed value, since a parsed object has only the last of two fields with one name. Some
//! clients would see the first, so such an object is rejected.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{InvalidItem, readable};

/// Checks the strings of a JSON text.
pub(super) fn all_readable(field: &'static str, json: &str) -> Result<(), InvalidItem> {
    let mut fault = None;
    let walk = StringCheck { field, fault: &mut fault };
    let walked = walk.deserialize(&mut serde_json::Deserializer::from_str(json));
    fault.map_or_else(|| walked.map_err(InvalidItem::Extra), Err)
}

/// Reads one value, and stops at the first fault.
struct StringCheck<'f> {
    field: &'static str,
    fault: &'f mut Option<InvalidItem>,
}

impl StringCheck<'_> {
    fn stop<E: serde::de::Error>(&mut self, fault: InvalidItem) -> E {
        *self.fault = Some(fault);
        E::custom("rejected")
    }
}

impl<'de> DeserializeSeed<'de> for StringCheck<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StringCheck<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E: serde::de::Error>(mut self, text: &str) -> Result<(), E> {
        readable(self.field, text).map_err(|fault| self.stop(fault))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(StringCheck { field: self.field, fault: self.fault })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            readable(self.field, &name).map_err(|fault| self.stop::<A::Error>(fault))?;
            if !seen.insert(name) {
                return Err(self.stop(InvalidItem::Doubled(self.field)));
            }
            fields.next_value_seed(StringCheck { field: self.field, fault: self.fault })?;
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(json: &str) -> Option<String> {
        all_readable("schema", json).err().map(|error| error.to_string())
    }

    #[test]
    fn strings_are_found_wherever_they_stand() {
        assert_eq!(fault(r#"{"a":[1,-1,1.5,true,null,"x\n"],"b":{"a":"x"}}"#), None);
        for hidden in [r#"["\u200b"]"#, r#"{"a":{"\u200b":1}}"#, r#"{"a":"\udb40\udc41"}"#, r#""\u202e""#] {
            assert!(fault(hidden).is_some_and(|told| told.contains("hide words")), "{hidden}");
        }
    }

    #[test]
    fn a_name_stands_once_in_an_object() {
        assert!(fault(r#"{"a":{"b":1,"\u0062":2}}"#).is_some_and(|told| told.contains("twice")));
        assert!(fault(r#"{"a":"\u200b","a":"x"}"#).is_some_and(|told| told.contains("hide words")));
        assert_eq!(fault(r#"[{"a":1},{"a":1}]"#), None);
    }

    #[test]
    fn what_is_not_json_is_told_as_such() {
        assert!(fault("{").is_some_and(|told| told.contains("not a JSON object")));
    }
}
