//! JSON Schemas of parameters and results.
//!
//! They describe exactly what `json_to_val.rs` reads and `val_to_json.rs` writes, in the few keywords that every client
//! knows. They have no references, so validation never recurses and a reader sees the whole type.

use serde_json::{Map, Value, json};

use super::types::{IntType, NameMap, ValType};

/// The largest whole number that every reader of JSON represents exactly.
pub(super) const SAFE: i128 = (1 << 53) - 1;

/// Floats that JSON has no numbers for.
pub(super) const NOT_FINITE: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// The field that holds a result which is no object.
pub(super) const RESULT: &str = "result";

/// Writes the schemas of one component.
#[derive(Clone)]
pub(super) struct SchemaWriter {
    /// How many patterns the catalog still allows. A schema without its pattern is less strict; the conversion is not.
    patterns: u64,
}

impl SchemaWriter {
    pub(super) fn new(patterns: u64) -> Self {
        Self { patterns }
    }

    /// The schema of all parameters together.
    pub(super) fn arguments(&mut self, parameters: &[(String, ValType)]) -> String {
        self.object(parameters).to_string()
    }

    /// The schema of a tool's structured content, which is always an object.
    pub(super) fn output(&mut self, result: &ValType) -> String {
        match result {
            ValType::Record(fields) => self.object(fields).to_string(),
            other => single(RESULT, self.schema(other)).to_string(),
        }
    }

    fn schema(&mut self, ty: &ValType) -> Value {
        match ty {
            ValType::Bool => json!({ "type": "boolean" }),
            ValType::Integer(integer) => self.integer(*integer),
            ValType::F32 | ValType::F64 => json!({ "anyOf": [{ "type": "number" }, { "enum": NOT_FINITE }] }),
            ValType::Char => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
            ValType::String => json!({ "type": "string" }),
            ValType::List(item) => json!({ "type": "array", "items": self.schema(item) }),
            ValType::Fixed(item, length) => {
                json!({ "type": "array", "items": self.schema(item), "minItems": length, "maxItems": length })
            }
            ValType::Map(pair) => {
                let pair = [self.schema(&pair.0), self.schema(&pair.1)];
                json!({ "type": "array", "items": tuple(&pair) })
            }
            ValType::Record(fields) => self.object(fields),
            ValType::Tuple(items) => tuple(&items.iter().map(|item| self.schema(item)).collect::<Vec<_>>()),
            ValType::Variant(cases) => self.variant(cases),
            ValType::Enum(names) => json!({ "type": "string", "enum": listed(names) }),
            ValType::Option(inner) => self.option(inner),
            ValType::Result(ok, err) => {
                let (ok, err) = (self.payload(ok.as_deref()), self.payload(err.as_deref()));
                json!({ "oneOf": [single("ok", ok), single("err", err)] })
            }
            ValType::Flags(names) => json!({
                "type": "array", "items": { "enum": listed(names) }, "uniqueItems": true, "maxItems": names.len(),
            }),
        }
    }

    fn integer(&mut self, integer: IntType) -> Value {
        let (least, largest) = integer.range();
        let mut number = Map::new();
        number.insert("type".to_owned(), "integer".into());
        // Both fit `u64` or `i64`.
        number.insert("minimum".to_owned(), whole(least));
        number.insert("maximum".to_owned(), whole(largest));
        if !integer.is_wide() {
            return Value::Object(number);
        }
        let mut text = json!({ "type": "string", "maxLength": 20 });
        if self.patterns > 0
            && let Some(text) = text.as_object_mut()
        {
            self.patterns -= 1;
            let pattern = if least < 0 { "^(0|-?[1-9][0-9]*)$" } else { "^(0|[1-9][0-9]*)$" };
            text.insert("pattern".to_owned(), pattern.into());
        }
        json!({ "anyOf": [number, text] })
    }

    fn object(&mut self, fields: &[(String, ValType)]) -> Value {
        let needed = fields.iter().filter(|(_, ty)| !ty.is_nullable());
        let required: Vec<&str> = needed.map(|(name, _)| name.as_str()).collect();
        let properties: Map<_, _> = fields.iter().map(|(name, ty)| (name.clone(), self.schema(ty))).collect();
        json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        })
    }

    fn variant(&mut self, cases: &NameMap<Option<ValType>>) -> Value {
        let bare = cases.iter().filter(|(_, payload)| payload.is_none());
        let bare: Vec<&str> = bare.map(|(name, _)| name).collect();
        let mut forms = Vec::new();
        if !bare.is_empty() {
            forms.push(json!({ "type": "string", "enum": bare }));
        }
        for (name, payload) in cases.iter() {
            if let Some(payload) = payload {
                forms.push(single(name, self.schema(payload)));
            }
        }
        json!({ "oneOf": forms })
    }

    fn option(&mut self, inner: &ValType) -> Value {
        let some = self.schema(inner);
        let some = if inner.is_nullable() { single("some", some) } else { some };
        json!({ "anyOf": [some, { "type": "null" }] })
    }

    fn payload(&mut self, payload: Option<&ValType>) -> Value {
        payload.map_or_else(|| json!({ "type": "null" }), |payload| self.schema(payload))
    }
}

fn whole(number: i128) -> Value {
    match (u64::try_from(number), i64::try_from(number)) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) => number.into(),
        _ => Value::Null,
    }
}

fn listed(names: &NameMap<()>) -> Vec<&str> {
    names.iter().map(|(name, ())| name).collect()
}

fn tuple(items: &[Value]) -> Value {
    let length = items.len();
    json!({ "type": "array", "prefixItems": items, "items": false, "minItems": length, "maxItems": length })
}

/// An object of one field.
fn single(name: &str, schema: Value) -> Value {
    json!({
        "type": "object", "properties": { name: schema }, "required": [name], "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_what_it_needs_and_takes_nothing_else() {
        let fields =
            vec![("a".to_owned(), ValType::Bool), ("b".to_owned(), ValType::Option(Box::new(ValType::Char)))];
        let schema: Value = serde_json::from_str(&SchemaWriter::new(1).arguments(&fields)).unwrap();
        assert_eq!(schema["required"], json!(["a"]));
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["properties"]["b"]["anyOf"][1], json!({ "type": "null" }));
    }

    #[test]
    fn wide_numbers_may_be_text_and_share_the_patterns_that_there_are() {
        let mut schemas = SchemaWriter::new(1);
        let first = schemas.output(&ValType::Integer(IntType::U64));
        assert!(first.contains("18446744073709551615") && first.contains("pattern"), "{first}");
        let second = schemas.output(&ValType::Integer(IntType::S64));
        assert!(second.contains("-9223372036854775808") && !second.contains("pattern"), "{second}");
        assert!(!schemas.output(&ValType::Integer(IntType::U32)).contains("string"));
    }
}
