//! A JSON value of which every look is charged.
//!
//! The validator works on any representation of JSON that can be looked at, so it is given one that charges
//! [steps](super::schema_budget) for each look. That is exact where estimates per keyword would be either too much for
//! honest schemas or too little for hostile ones: an `enum` looks at the value once for each of its entries, and so do
//! lists of alternatives. Whatever compares values of any size, which the validator would do in one go, is done here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson, cmp};
use serde_json::{Map, Number, Value};

use super::schema_budget::{charge, charge_bytes, charge_fault, charge_search, note_name};

/// The representation.
#[derive(Debug)]
pub(super) struct MeteredJson;

/// One value.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeteredValue<'a>(pub(super) &'a Value);

/// The fields of an object.
pub(super) struct MeteredObject<'a>(&'a Map<String, Value>);

/// Each of them.
pub(super) struct FieldIter<'a>(serde_json::map::Iter<'a>);

/// The name of a field. Looked at when it is compared or searched.
pub(super) struct FieldName<'a>(&'a str);

/// The items of an array.
pub(super) struct MeteredArray<'a>(&'a [Value]);

/// Each of them.
pub(super) struct ArrayIter<'a>(std::slice::Iter<'a, Value>);

impl Json for MeteredJson {
    type Node<'a> = MeteredValue<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(MeteredValue<'_>) -> T) -> T {
        charge_bytes(string.len());
        SerdeJson::with_string_node(buffer, string, |value| f(MeteredValue(value)))
    }
}

impl<'a> Node<'a, MeteredJson> for MeteredValue<'a> {
    type Object = MeteredObject<'a>;
    type Array = MeteredArray<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<MeteredObject<'a>> {
        charge(1);
        self.0.as_object().map(MeteredObject)
    }

    fn as_array(&self) -> Option<MeteredArray<'a>> {
        charge(1);
        self.0.as_array().map(|items| MeteredArray(items))
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

    /// Asked for by every fault, and by nothing else.
    fn to_value(&self) -> Cow<'a, Value> {
        charge_fault(self.0.is_array() || self.0.is_object());
        Cow::Borrowed(self.0)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        charge(1);
        Node::<SerdeJson>::identity(&self.0)
    }
}

impl<'a> Object<'a, MeteredJson> for MeteredObject<'a> {
    type Node = MeteredValue<'a>;
    type MemberName = FieldName<'a>;
    type MembersIter = FieldIter<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<MeteredValue<'a>> {
        charge_bytes(key.len());
        self.0.get(key).map(MeteredValue)
    }

    fn members(&self) -> FieldIter<'a> {
        FieldIter(self.0.iter())
    }
}

impl<'a> Iterator for FieldIter<'a> {
    type Item = (FieldName<'a>, MeteredValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        charge(1);
        let (name, value) = self.0.next()?;
        note_name(name.len());
        Some((FieldName(name), MeteredValue(value)))
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

impl<'a> Array<'a, MeteredJson> for MeteredArray<'a> {
    type Node = MeteredValue<'a>;
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
    type Item = MeteredValue<'a>;

    fn next(&mut self) -> Option<MeteredValue<'a>> {
        charge(1);
        self.0.next().map(MeteredValue)
    }
}

/// Whether two values are equal as JSON Schema has it: numbers by what they are and not by how they are written.
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

/// Whether no two items are equal. Every item is hashed once, with keys of this check, so that nobody can choose items
/// whose hashes are the same.
fn is_unique(items: &[Value]) -> bool {
    let keys = RandomState::new();
    let mut seen: HashMap<u64, &Value> = HashMap::new();
    items.iter().all(|item| match seen.insert(hash(&keys, item), item) {
        Some(other) => !equal(item, other),
        None => true,
    })
}

/// The same for values that are equal.
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
        // In no order.
        Value::Object(fields) => {
            let start = keys.hash_one((6_u8, fields.len()));
            fields.iter().fold(start, |sum, (name, value)| {
                charge_bytes(name.len());
                sum.wrapping_add(keys.hash_one((name, hash(keys, value))))
            })
        }
    }
}

/// A number that is whole, however it is written.
fn exact(number: &Number) -> Option<i128> {
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    // Beyond that, a double has one form only.
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
