//! A JSON value that charges for every read.
//!
//! The validator works on any type that implements its trait for JSON, so it gets one that charges
//! [steps](super::budget) for each read. That is exact, while estimates per keyword would be too high for honest
//! schemas or too low for hostile ones: an `enum` reads the value once for each of its entries, and so do lists of
//! alternatives. Comparisons of values of any size, which the validator would do without a read, are done here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson, cmp};
use serde_json::{Map, Number, Value};

use super::budget::{charge, charge_bytes, charge_fault, charge_search, note_name};

/// Implements the validator's trait for JSON.
#[derive(Debug)]
pub(super) struct ChargedJson;

/// One value.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChargedValue<'a>(pub(super) &'a Value);

/// The fields of an object.
pub(super) struct ChargedObject<'a>(&'a Map<String, Value>);

/// Iterates over them.
pub(super) struct FieldIter<'a>(serde_json::map::Iter<'a>);

/// The name of a field. Charged when it is compared or searched.
pub(super) struct FieldName<'a>(&'a str);

/// The items of an array.
pub(super) struct ChargedArray<'a>(&'a [Value]);

/// Iterates over them.
pub(super) struct ArrayIter<'a>(std::slice::Iter<'a, Value>);

impl Json for ChargedJson {
    type Node<'a> = ChargedValue<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(ChargedValue<'_>) -> T) -> T {
        charge_bytes(string.len());
        SerdeJson::with_string_node(buffer, string, |value| f(ChargedValue(value)))
    }
}

impl<'a> Node<'a, ChargedJson> for ChargedValue<'a> {
    type Object = ChargedObject<'a>;
    type Array = ChargedArray<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<ChargedObject<'a>> {
        charge(1);
        self.0.as_object().map(ChargedObject)
    }

    fn as_array(&self) -> Option<ChargedArray<'a>> {
        charge(1);
        self.0.as_array().map(|items| ChargedArray(items))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.0.as_str();
        charge_search(text.map_or(0, str::len));
        text.map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        charge(1);
        self.0.as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        charge(1);
        self.0.as_bool()
    }

    fn is_null(&self) -> bool {
        charge(1);
        self.0.is_null()
    }

    fn json_type(&self) -> JsonType {
        charge(1);
        Node::<SerdeJson>::json_type(&self.0)
    }

    fn string_length(&self) -> Option<u64> {
        charge_bytes(self.0.as_str().map_or(0, str::len));
        Node::<SerdeJson>::string_length(&self.0)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        equal(self.0, expected)
    }

    /// The validator calls this for every fault, and only then.
    fn to_value(&self) -> Cow<'a, Value> {
        charge_fault(self.0.is_array() || self.0.is_object());
        Cow::Borrowed(self.0)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        charge(1);
        Node::<SerdeJson>::identity(&self.0)
    }
}

impl<'a> Object<'a, ChargedJson> for ChargedObject<'a> {
    type Node = ChargedValue<'a>;
    type MemberName = FieldName<'a>;
    type MembersIter = FieldIter<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<ChargedValue<'a>> {
        charge_bytes(key.len());
        self.0.get(key).map(ChargedValue)
    }

    fn members(&self) -> FieldIter<'a> {
        FieldIter(self.0.iter())
    }
}

impl<'a> Iterator for FieldIter<'a> {
    type Item = (FieldName<'a>, ChargedValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        charge(1);
        let (name, value) = self.0.next()?;
        note_name(name.len());
        Some((FieldName(name), ChargedValue(value)))
    }
}

impl AsRef<str> for FieldName<'_> {
    fn as_ref(&self) -> &str {
        charge_search(self.0.len());
        self.0
    }
}

impl<'a> From<FieldName<'a>> for Cow<'a, str> {
    fn from(name: FieldName<'a>) -> Self {
        charge_bytes(name.0.len());
        Cow::Borrowed(name.0)
    }
}

impl<'a> Array<'a, ChargedJson> for ChargedArray<'a> {
    type Node = ChargedValue<'a>;
    type ElementsIter = ArrayIter<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> ArrayIter<'a> {
        ArrayIter(self.0.iter())
    }

    fn is_unique(&self) -> bool {
        is_unique(self.0)
    }
}

impl<'a> Iterator for ArrayIter<'a> {
    type Item = ChargedValue<'a>;

    fn next(&mut self) -> Option<ChargedValue<'a>> {
        charge(1);
        self.0.next().map(ChargedValue)
    }
}

/// Whether two values are equal for JSON Schema: numbers by value and not by spelling.
fn equal(left: &Value, right: &Value) -> bool {
    charge(1);
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(name, left): (&String, &Value)| {
                charge_bytes(name.len());
                right.get(name).is_some_and(|right| equal(left, right))
            };
            left.len() == right.len() && left.iter().all(same)
        }
        (Value::String(left), Value::String(right)) if left.len() == right.len() => {
            charge_bytes(left.len());
            left == right
        }
        (left, right) => cmp::equal(left, right),
    }
}

/// Whether no two items are equal. Every item is hashed once with random keys, so that items with equal hashes cannot
/// be chosen.
fn is_unique(items: &[Value]) -> bool {
    let keys = RandomState::new();
    let mut seen: HashMap<u64, &Value> = HashMap::new();
    items.iter().all(|item| match seen.insert(hash(&keys, item), item) {
        Some(other) => !equal(item, other),
        None => true,
    })
}

/// A hash that is the same for equal values.
fn hash(keys: &RandomState, value: &Value) -> u64 {
    charge(1);
    match value {
        Value::Null => keys.hash_one(0_u8),
        Value::Bool(value) => keys.hash_one((1_u8, value)),
        Value::Number(number) => match exact(number) {
            Some(whole) => keys.hash_one((2_u8, whole)),
            None => keys.hash_one((3_u8, number.as_f64().unwrap_or_default().to_bits())),
        },
        Value::String(text) => {
            charge_bytes(text.len());
            keys.hash_one((4_u8, text))
        }
        Value::Array(items) => {
            let start = keys.hash_one((5_u8, items.len()));
            items.iter().fold(start, |sum, item| keys.hash_one((sum, hash(keys, item))))
        }
        // Addition, since fields have no order.
        Value::Object(fields) => {
            let start = keys.hash_one((6_u8, fields.len()));
            fields.iter().fold(start, |sum, (name, value)| {
                charge_bytes(name.len());
                sum.wrapping_add(keys.hash_one((name, hash(keys, value))))
            })
        }
    }
}

/// The value of an integer, however it is spelled.
fn exact(number: &Number) -> Option<i128> {
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    // Larger numbers are hashed as doubles.
    let written = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e30);
    whole.or_else(|| written().map(|float| float as i128))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_equal_as_json_schema_has_it() {
        for (left, right) in [
            (json!(1), json!(1.0)),
            (json!(0), json!(-0.0)),
            (json!([1, { "a": 2.0, "b": [] }]), json!([1.0, { "b": [], "a": 2 }])),
            (json!("a"), json!("a")),
        ] {
            assert!(equal(&left, &right), "{left} {right}");
            assert!(!is_unique(&[left, json!(null), right]));
        }
        for (left, right) in [
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0)),
            (json!([[1], []]), json!([[], [1]])),
            (json!({ "a": 1 }), json!({ "b": 1 })),
            (json!(0), json!(false)),
            (json!("1"), json!(1)),
            (json!(u64::MAX), json!(u64::MAX as f64)),
        ] {
            assert!(!equal(&left, &right), "{left} {right}");
            assert!(is_unique(&[left, right]));
        }
    }
}
