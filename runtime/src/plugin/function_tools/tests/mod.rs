//! Properties of every type and value, tested with random ones, and the tools of components.

mod limits;
mod random_values;

use serde_json::{Value, json};
use wasmtime::component::{Component, Val};
use wasmtime::{Config, Engine};

use super::json_to_val::ValReader;
use super::schema::SchemaWriter;
use super::types::{NameMap, ValType};
use super::val_to_json::{JsonWriter, WriteError};
use super::{DocsSection, FunctionTools};
use crate::config::Limits;
use random_values::Random;

const PLENTY: usize = 1 << 20;

fn read(ty: &ValType, value: &Value) -> Result<Val, String> {
    ValReader::new(8).read(ty, value).map_err(|mismatch| mismatch.to_string())
}

fn validator(schema: &str) -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
}

#[test]
fn what_is_written_fits_its_schema_and_is_read_back() {
    let mut random = Random(1);
    for _ in 0..3_000 {
        let ty = random.ty(3);
        let val = random.val(&ty);
        let text = JsonWriter::json(&ty, &val, PLENTY).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let back = read(&ty, &value).unwrap_or_else(|fault| panic!("{fault}\n{text}\n{ty:?}"));
        assert_eq!(JsonWriter::json(&ty, &back, PLENTY).unwrap(), text, "{ty:?}");

        let object: Value = serde_json::from_str(&JsonWriter::object(&ty, &val, PLENTY).unwrap()).unwrap();
        let schema = SchemaWriter::new(50).output(&ty);
        assert!(validator(&schema).is_valid(&object), "{object} does not fit {schema}");
    }
}

#[test]
fn whatever_json_comes_it_is_read_or_rejected_in_one_sentence() {
    let (mut random, mut taken) = (Random(2), 0);
    for _ in 0..20_000 {
        let (ty, value) = (random.ty(2), random.json(3));
        let parameters = [("a".to_owned(), ty.clone())];
        let arguments = json!({ "a": value });
        match ValReader::new(8).arguments(&parameters, &arguments) {
            Err(mismatch) => assert!(mismatch.to_string().starts_with("$.a"), "{mismatch}"),
            Ok(vals) => {
                taken += 1;
                let schema = SchemaWriter::new(50).arguments(&parameters);
                assert!(validator(&schema).is_valid(&arguments), "{arguments} was read as {vals:?}");
                let text = JsonWriter::json(&ty, &vals[0], PLENTY).unwrap();
                let again = read(&ty, &serde_json::from_str(&text).unwrap()).unwrap();
                assert_eq!(JsonWriter::json(&ty, &again, PLENTY).unwrap(), text);
            }
        }
        let _ = ValReader::new(8).arguments(&parameters, &value);
    }
    assert!(taken > 500, "{taken}");
}

#[test]
fn a_fault_says_where_it_is() {
    let point = ValType::Record(vec![("x".to_owned(), ValType::F64), ("label".to_owned(), ValType::String)]);
    let points = ValType::List(Box::new(point));
    let fault = |value| read(&points, &value).unwrap_err();
    assert_eq!(fault(json!([{ "x": 1, "label": 5 }])), "$[0].label: must be a string, and is a number");
    assert_eq!(fault(json!([{ "x": 1 }])), "$[0].label: is required and missing");
    assert_eq!(
        fault(json!([{ "x": 1, "label": "", "\u{202e}": 1 }])),
        "$[0].\\u{202e}: is not one of the fields"
    );
    assert_eq!(fault(json!({})), "$: must be an array, and is an object");
}

#[test]
fn every_option_is_told_from_every_other() {
    let twice = ValType::Option(Box::new(ValType::Option(Box::new(ValType::Bool))));
    for (value, val) in [
        (json!(null), Val::Option(None)),
        (json!({ "some": null }), Val::Option(Some(Box::new(Val::Option(None))))),
        (json!({ "some": true }), Val::Option(Some(Box::new(Val::Option(Some(Box::new(Val::Bool(true)))))))),
    ] {
        assert_eq!(read(&twice, &value), Ok(val));
    }
    assert!(read(&twice, &json!(true)).is_err());
}

#[test]
fn variants_are_names_or_objects_of_one_field() {
    let cases: NameMap<_> =
        [("none".to_owned(), None), ("circle".to_owned(), Some(ValType::F64))].into_iter().collect();
    let ty = ValType::Variant(cases);
    assert_eq!(read(&ty, &json!("none")), Ok(Val::Variant("none".to_owned(), None)));
    let circle = Val::Variant("circle".to_owned(), Some(Box::new(Val::Float64(2.0))));
    assert_eq!(read(&ty, &json!({ "circle": 2 })), Ok(circle));
    assert!(read(&ty, &json!("circle")).unwrap_err().contains("needs a value"));
    for rejected in [json!("square"), json!({ "none": null }), json!({ "circle": 1, "none": 1 }), json!(1)] {
        assert!(read(&ty, &rejected).is_err(), "{rejected}");
    }
}

#[test]
fn what_is_read_and_written_is_bounded() {
    let bytes = ValType::List(Box::new(ValType::Bool));
    let many = Value::Array(vec![Value::Bool(true); 100_000]);
    let rejected = ValReader::new(1).read(&bytes, &many).unwrap_err().to_string();
    assert!(rejected.contains("limit `transfer_mib`"), "{rejected}");
    let val = Val::List(vec![Val::Bool(true); 1_000]);
    assert_eq!(JsonWriter::json(&bytes, &val, 4_000), Err(WriteError::TooLong));
    assert_eq!(JsonWriter::json(&bytes, &val, 5_001).map(|text| text.len()), Ok(5_001));
}

/// A module for `canon lift`.
const CORE: &str = r#"
    (core module $m
        (memory (export "memory") 1)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
        (func (export "none"))
        (func (export "one") (param i32) (result i32) (local.get 0))
        (func (export "two") (param i32 i32) (result i32) (local.get 0))
        (func (export "take") (param i32)))
    (core instance $i (instantiate $m))"#;

fn find(body: &str, limits: &Limits) -> FunctionTools {
    let mut config = Config::new();
    config.wasm_component_model_map(true).wasm_component_model_fixed_length_lists(true);
    let engine = Engine::new(&config).unwrap();
    let bytes = wat::parse_str(format!("(component {CORE} {body})")).unwrap();
    let component = Component::new(&engine, &bytes).unwrap();
    FunctionTools::find(&component, &DocsSection::of(&bytes), limits)
}

#[test]
fn functions_are_found_wherever_they_are_exported_but_in_standard_interfaces() {
    let found = find(
        r#"(func $f (param "v" u8) (result u8) (canon lift (core func $i "one")))
           (func (export "now") (param "v" u32) (result u32) (canon lift (core func $i "one")))
           (instance $api (export "zone" (func $f)) (export "now" (func $f)))
           (export "a:b/clock@1.0.0" (instance $api))
           (export "wasi:cli/run@0.2.6" (instance $api))"#,
        &Limits::default(),
    );
    let mut names: Vec<_> = found.tools().into_iter().map(|tool| tool.name).collect();
    names.sort();
    assert_eq!(names, ["clock-now", "now", "zone"]);
}

#[test]
fn the_function_that_componentize_py_leaves_behind_is_no_tool() {
    let names = |interface: &str, parameter: &str| {
        let body = format!(
            r#"(func $f (param "{parameter}" u32) (result u32) (canon lift (core func $i "one")))
               (instance $api (export "init" (func $f)))
               (export "{interface}" (instance $api))"#
        );
        let found = find(&body, &Limits::default());
        assert!(found.rejected().is_empty());
        found.tools().len()
    };
    assert_eq!(names("exports", "app-name"), 0);
    assert_eq!((names("exports", "city"), names("setup", "app-name")), (1, 1));
}

#[test]
fn what_has_no_form_in_json_is_rejected_and_named() {
    let found = find(
        r#"(type $own (resource (rep i32)))
           (export $r "thing" (type $own))
           (func (export "take") (param "r" (own $r)) (canon lift (core func $i "take")))
           (func (export "keep") (param "v" u32) (result u32) (canon lift (core func $i "one")))"#,
        &Limits::default(),
    );
    assert_eq!(found.tools().len(), 1);
    let [left] = found.rejected() else { panic!("{:?}", found.rejected()) };
    assert_eq!(left.name, "take");
    assert!(left.why.contains("a handle of a resource"), "{}", left.why);
}

#[test]
fn types_that_unfold_without_end_are_rejected_before_they_do() {
    let mut types = "(type $t0 (tuple u8 u8))".to_owned();
    for level in 1..14 {
        types += &format!("(type $t{level} (tuple $t{0} $t{0}))", level - 1);
    }
    let function = |ty: &str| {
        format!(
            r#"(func (export "f") (param "v" {ty}) (result u32)
                 (canon lift (core func $i "one") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))"#
        )
    };
    let rejected = |body: String, limits: &Limits| find(&body, limits).rejected()[0].why.clone();
    let why = rejected(format!("{types}{}", function("$t13")), &Limits::default());
    assert!(why.contains("limit `schema_kib`"), "{why}");
    let limits = Limits { schema_kib: 4_096, transfer_mib: 1, ..Limits::default() };
    let functions: String =
        (0..9).map(|at| function("$t13").replace("\"f\"", &format!("\"f{at}\""))).collect();
    let why = rejected(format!("{types}{functions}"), &limits);
    assert!(why.contains("limit `transfer_mib`"), "{why}");
}

#[test]
fn no_more_functions_are_looked_at_than_there_may_be_tools() {
    let functions: String =
        (0..5).map(|at| format!(r#"(func (export "f{at}") (canon lift (core func $i "none")))"#)).collect();
    let found = find(&functions, &Limits { tools: 3, ..Limits::default() });
    assert_eq!(found.tools().len(), 3);
    assert_eq!(found.rejected()[0].name, "2 more functions");
}

#[test]
fn maps_and_lists_of_a_length_have_schemas_too() {
    let function = |ty: &str| {
        format!(
            r#"(func (export "f") (param "v" {ty}) (result u32)
                 (canon lift (core func $i "two") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))"#
        )
    };
    let schema = |ty: &str| -> Value {
        let tools = find(&function(ty), &Limits::default()).tools();
        serde_json::from_str::<Value>(&tools[0].input_schema).unwrap()["properties"]["v"].clone()
    };
    assert_eq!(schema("(map string bool)")["items"]["prefixItems"][1], json!({ "type": "boolean" }));
    assert_eq!(schema("(list u8 2)")["maxItems"], 2);
}
