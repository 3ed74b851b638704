//! Limits on arguments, as clients see them.

use std::collections::BTreeMap;

use plugport_sdk::prelude::*;
use plugport_sdk::serde_json::{Value, json};
use plugport_sdk::testing::{describe, invoke};

const MOST_GUESTS: usize = 4;
const MOST_NIGHTS: u8 = 30;

#[data]
struct Code(String);

/// Book a room.
#[tool]
fn book(
    #[arg(min = 1, max = MOST_NIGHTS)] nights: u8,
    #[arg(min_length = 1, max_length = MOST_GUESTS)] guests: Vec<String>,
    #[arg(above = -0.5, below = 5_000_000_000, default = 10.0)] discount: f64,
    #[arg(min_length = 2, max_length = 2, pattern = "^[a-z]+$")] country: Option<String>,
    #[arg(max_length = 3)] extras: BTreeMap<String, u32>,
    #[arg(max_length = 8, format = "code")] code: Option<Code>,
    #[arg(multiple_of = 5)] age: Option<u32>,
) -> String {
    let code = code.map(|code| code.0);
    format!("{nights} {guests:?} {discount} {country:?} {extras:?} {code:?} {age:?}")
}

fn property(name: &str) -> Value {
    let schema = describe::<book>().unwrap().input_schema;
    let schema: Value = plugport_sdk::serde_json::from_str(&schema).unwrap();
    schema["properties"][name].clone()
}

#[test]
fn numbers_have_ends() {
    assert_eq!(
        property("nights"),
        json!({"type": "integer", "format": "uint8", "minimum": 1, "maximum": 30})
    );
    let discount = property("discount");
    assert_eq!(discount["exclusiveMinimum"], json!(-0.5));
    assert_eq!(discount["exclusiveMaximum"], json!(5_000_000_000_u64));
    assert_eq!(discount["default"], 10.0);
    assert_eq!(property("age")["multipleOf"], 5);
}

#[test]
fn a_length_is_that_of_a_text_a_list_or_a_map() {
    let country = json!({"type": "string", "minLength": 2, "maxLength": 2, "pattern": "^[a-z]+$"});
    assert_eq!(property("country"), country);
    let guests = property("guests");
    assert_eq!((&guests["minItems"], &guests["maxItems"]), (&json!(1), &json!(4)));
    assert_eq!(property("extras")["maxProperties"], 3);
}

#[test]
fn a_type_of_ones_own_has_limits_where_it_is_used() {
    assert_eq!(property("code"), json!({"$ref": "#/$defs/Code", "maxLength": 8, "format": "code"}));
}

#[test]
fn a_function_with_limits_is_called_as_any_other() {
    let given = json!({"nights": 2, "guests": ["Ada"], "extras": {"bed": 1}, "code": "x"});
    assert_eq!(invoke::<book>(given).text(), r#"2 ["Ada"] 10 None {"bed": 1} Some("x") None"#);
}
