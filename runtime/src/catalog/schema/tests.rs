//! What a schema checks, and what that may cost.

use std::time::{Duration, Instant};

use super::*;
use serde_json::json;

fn compile(text: &str) -> Result<Schema, SchemaError> {
    Schema::of_arguments(text, &Limits::default(), PATTERNS)
}

fn check(schema: &Schema, value: &Value, bytes: usize) -> Result<(), SchemaMismatch> {
    schema.validate(value, bytes, &WorkBudget::of(Duration::from_secs(60))).unwrap()
}

/// Checks a value with a second of processor time, and says how it went and for how long.
fn weighed(schema: &Value, value: &Value) -> (Result<Result<(), SchemaMismatch>, WorkStopped>, Duration) {
    let text = schema.to_string();
    let limits = Limits { schema_kib: 4_096, ..Limits::default() };
    let schema = Schema::of_arguments(&text, &limits, PATTERNS).unwrap();
    let bytes = value.to_string().len();
    let started = Instant::now();
    let checked = schema.validate(value, bytes, &WorkBudget::of(Duration::from_secs(1)));
    (checked, started.elapsed())
}

fn takes_too_long(checked: &Result<Result<(), SchemaMismatch>, WorkStopped>) -> bool {
    match checked {
        Ok(Err(mismatch)) => *mismatch == SchemaMismatch::too_much(),
        Ok(Ok(())) => false,
        Err(stopped) => *stopped == WorkStopped::Cpu,
    }
}

/// A list of `items` for each of which `schema` holds.
fn each(schema: Value, items: Vec<Value>) -> (Value, Value) {
    (json!({"type": "object", "properties": {"a": {"items": schema}}}), json!({ "a": items }))
}

#[test]
fn a_mismatch_names_the_pointer_and_what_was_expected() {
    let schema = compile(
        r#"{"type":"object","properties":{"zone":{"type":"string"},"n":{"type":"integer","maximum":3}},
            "required":["zone"],"additionalProperties":false}"#,
    )
    .unwrap();
    assert_eq!(check(&schema, &json!({"zone": "x"}), 9), Ok(()));
    let message = |value: Value| check(&schema, &value, 99).unwrap_err().to_string();
    assert_eq!(message(json!({})), "/zone: is required and missing");
    assert_eq!(message(json!({"zone": 5})), "/zone: 5 is not of type \"string\"");
    assert_eq!(message(json!({"zone": "x", "n": 4})), "/n: 4 is greater than the maximum of 3");
    assert_eq!(message(json!({"zone": "x", "q": 1})), "/q: not a known property");
}

#[test]
fn the_text_stays_as_written() {
    let schema = compile("{\"type\": \"object\",\n\"x-extra\":  1.0,\"a\":\"\\u00e9\"}").unwrap();
    assert_eq!(schema.text().get(), "{\"type\": \"object\",\n\"x-extra\":  1.0,\"a\":\"\\u00e9\"}");
}

#[test]
fn schemas_that_reach_out_or_are_too_big_are_rejected() {
    let remote = compile(r#"{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}"#);
    assert!(matches!(remote, Err(SchemaError::Reference(_))), "{remote:?}");
    let file = compile(r#"{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}"#);
    assert!(matches!(file, Err(SchemaError::Reference(_))), "{file:?}");
    let deep = format!(r#"{{"type":"object","a":{}{}}}"#, "[".repeat(40), "]".repeat(40));
    assert!(matches!(compile(&deep), Err(SchemaError::TooDeep)));
    let long = format!(r#"{{"type":"object","a":"{}"}}"#, "x".repeat(70_000));
    assert!(matches!(compile(&long), Err(SchemaError::TooLong(64))));
    assert!(matches!(compile("{\"type\":\"string\"}"), Err(SchemaError::NotAnObject)));
    assert!(matches!(compile("nonsense"), Err(SchemaError::NotJson(_))));
}

#[test]
fn a_small_schema_of_endless_work_ends() {
    let defs: Vec<String> = (0..40)
        .map(|n| {
            format!(r##""d{n}":{{"allOf":[{{"$ref":"#/$defs/d{0}"}},{{"$ref":"#/$defs/d{0}"}}]}}"##, n + 1)
        })
        .collect();
    let doubling =
        format!(r##"{{"type":"object","$ref":"#/$defs/d0","$defs":{{{},"d40":{{}}}}}}"##, defs.join(","));
    let twice = r##"{"type":"object","properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}"##;
    let mut nested = json!({});
    for _ in 0..60 {
        nested = json!({ "a": nested });
    }
    for text in [doubling.as_str(), twice] {
        let started = Instant::now();
        let checked = check(&compile(text).unwrap(), &nested, 500);
        let told = checked.err().map(|mismatch| mismatch.to_string()).unwrap_or_default();
        assert!(text == twice || told.contains("takes too long"), "{told}");
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }
}

#[test]
fn hidden_recursion_through_data_is_rejected() {
    let hidden = r##"{"type":"object","$ref":"#/%65num/0","enum":[{"properties":{"a":{"allOf":[
        {"$ref":"#/%65num/0"},{"$ref":"#/%65num/0"}]}}},{}]}"##;
    assert!(matches!(compile(hidden), Err(SchemaError::Reference(_))));
}

#[test]
fn a_long_chain_of_references_does_not_overflow_the_stack() {
    let defs: Vec<String> =
        (0..1_000).map(|n| format!(r##""{n}":{{"$ref":"#/$defs/{}"}}"##, n + 1)).collect();
    let end = r##""1000":{"properties":{"a":{"$ref":"#/$defs/0"}}}"##;
    let chain = format!(r##"{{"type":"object","$ref":"#/$defs/0","$defs":{{{},{end}}}}}"##, defs.join(","));
    let mut nested = json!({});
    for _ in 0..40 {
        nested = json!({ "a": nested });
    }
    let schema = std::thread::spawn(move || compile(&chain).unwrap()).join().unwrap();
    assert_eq!(std::thread::spawn(move || check(&schema, &nested, 500)).join().unwrap(), Ok(()));
}

#[test]
fn patterns_are_linear_and_of_bounded_size() {
    let schema = compile(r#"{"type":"object","properties":{"a":{"pattern":"^(a+)+$"}}}"#).unwrap();
    let started = Instant::now();
    assert!(check(&schema, &json!({"a": format!("{}!", "a".repeat(5_000))}), 5_010).is_err());
    assert!(started.elapsed().as_secs() < 2, "{:?}", started.elapsed());
    let huge = compile(r#"{"type":"object","properties":{"a":{"pattern":"((a{1,500}){1,500}){1,500}"}}}"#);
    assert!(matches!(huge, Err(SchemaError::Invalid(_))), "{huge:?}");
    let text = json!({"type": "object", "properties": {"a": {"pattern": r"\d".repeat(10_000)}}}).to_string();
    let started = Instant::now();
    assert!(matches!(compile(&text), Err(SchemaError::Invalid(_))));
    assert!(started.elapsed().as_secs() < 2, "{:?}", started.elapsed());
}

#[test]
fn what_a_schema_compares_is_charged_for_each_comparison() {
    let entries: Vec<Value> = (0..16_000).flat_map(|n| [json!(n), json!(format!("{n}"))]).collect();
    let deep: Vec<Value> = (0..500).map(|n| json!([[[0, 0, 0, 0, 0, 0, 0, 0], n]])).collect();
    let numbers = || (0..20_000).map(|n| json!(-1 - n)).collect::<Vec<_>>();
    let consts: Vec<Value> = entries.iter().map(|entry| json!({ "const": entry })).collect();
    let lists = || vec![json!([[[0, 0, 0, 0, 0, 0, 0, 0], -1]]); 20_000];
    for (what, unwanted, items) in [
        ("enum", json!({ "enum": entries }), numbers()),
        ("alternatives", json!({ "anyOf": vec![json!({ "type": "null" }); 3_000] }), numbers()),
        ("nothing", json!({ "anyOf": vec![false; 8_000] }), numbers()),
        ("consts", json!({ "oneOf": consts }), numbers()),
        ("structures", json!({ "enum": deep }), lists()),
    ] {
        let (schema, value) = each(json!({ "not": unwanted }), items);
        let (checked, took) = weighed(&schema, &value);
        assert!(takes_too_long(&checked), "{what}: {checked:?} after {took:?}");
        assert!(took < Duration::from_secs(6), "{what}: {took:?}");
    }
}

#[test]
fn references_that_look_at_nothing_are_charged_too() {
    for end in [json!(true), json!(false), json!({})] {
        let mut defs = serde_json::Map::new();
        for n in 0..40 {
            let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
            defs.insert(format!("d{n}"), json!({ "anyOf": [{ "not": next }, { "not": next }] }));
        }
        defs.insert("d40".to_owned(), end.clone());
        let schema = json!({"type": "object", "$ref": "#/$defs/d0", "$defs": defs});
        let (checked, took) = weighed(&schema, &json!({}));
        assert!(takes_too_long(&checked) || checked == Ok(Ok(())), "{end}: {checked:?}");
        assert!(took < Duration::from_secs(6), "{end}: {took:?}");
    }
}

#[test]
fn honest_lists_are_checked_as_before() {
    let words: Vec<String> = (0..300).map(|n| format!("word {n}")).collect();
    let chosen = (0..10_000).map(|n| json!(format!("word {}", n % 300))).collect();
    let (schema, value) = each(json!({ "type": "string", "enum": words }), chosen);
    assert_eq!(weighed(&schema, &value).0, Ok(Ok(())));
    let uuid = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
    let ids = vec![json!("01234567-89ab-cdef-0123-456789abcdef"); 5_000];
    let (schema, value) = each(json!({ "type": "string", "maxLength": 36, "pattern": uuid }), ids);
    assert_eq!(weighed(&schema, &value).0, Ok(Ok(())));
    let (schema, value) =
        each(json!({ "pattern": "^[A-Za-z0-9+/=]*$" }), vec![json!("QUJD".repeat(1 << 20))]);
    assert_eq!(weighed(&schema, &value).0, Ok(Ok(())));
}

#[test]
fn items_are_compared_in_linear_time_however_they_are_chosen() {
    let unique = json!({"type": "object", "properties": {"a": {"uniqueItems": true}}});
    let near: Vec<Value> = (0..20_000_u64).map(|n| json!((1_u64 << 62) + n)).collect();
    let (checked, took) = weighed(&unique, &json!({ "a": near }));
    assert_eq!(checked, Ok(Ok(())));
    assert!(took < Duration::from_secs(3), "{took:?}");
    // The same leaves in ever other lists.
    let nested: Vec<Value> = (0..4_096_u32)
        .map(|n| {
            (0..12).fold(
                json!([[]]),
                |list, bit| if n >> bit & 1 == 0 { json!([list, []]) } else { json!([[], list]) },
            )
        })
        .collect();
    let (checked, took) = weighed(&unique, &json!({ "a": nested }));
    assert_eq!(checked, Ok(Ok(())));
    assert!(took < Duration::from_secs(3), "{took:?}");
    let twice = json!({"a": [1, 2, 1.0]});
    assert!(matches!(weighed(&unique, &twice).0, Ok(Err(_))));
}

#[test]
fn a_search_that_would_be_long_is_not_begun() {
    let wide = json!({"type": "object", "properties": {"a": {"pattern": "[ab]*a[ab]{900}c"}}});
    let (checked, took) = weighed(&wide, &json!({ "a": "ab".repeat(100_000) }));
    assert!(takes_too_long(&checked), "{checked:?}");
    assert!(took < Duration::from_secs(1), "{took:?}");
    let (checked, _) = weighed(&wide, &json!({ "a": format!("a{}c", "b".repeat(900)) }));
    assert_eq!(checked, Ok(Ok(())));
    for pattern in ["a[ab]{ 900}[^ab]", r"(?x)a\s {200}\S", r"(?i)a[ak]{400}c"] {
        let spelled = json!({"type": "object", "properties": {"a": {"pattern": pattern}}});
        let (checked, took) = weighed(&spelled, &json!({ "a": "ab".repeat(100_000) }));
        assert!(takes_too_long(&checked), "{pattern}: {checked:?}");
        assert!(took < Duration::from_secs(1), "{pattern}: {took:?}");
    }
}

#[test]
fn many_faults_take_bounded_memory_and_the_first_is_told() {
    let (schema, value) = each(json!({ "type": "string" }), vec![json!(1); 100_000]);
    let (checked, _) = weighed(&schema, &value);
    assert_eq!(checked.unwrap().unwrap_err().to_string(), "/a/0: 1 is not of type \"string\"");
}

#[test]
fn a_check_that_nobody_waits_for_ends() {
    let unwanted: Vec<Value> = (0..2_000).map(|n| json!([n])).collect();
    let (schema, value) = each(json!({ "not": { "enum": unwanted } }), vec![json!([-1]); 100_000]);
    let schema = Schema::of_arguments(&schema.to_string(), &Limits::default(), PATTERNS).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (sender, ended) = std::sync::mpsc::channel();
    runtime.block_on(async {
        let offload = crate::sandbox::LargeWork::new();
        let work = offload.run(Duration::from_secs(60), move |work_budget| {
            let checked = schema.validate(&value, 1 << 40, work_budget);
            sender.send((checked, Instant::now())).unwrap();
        });
        assert!(tokio::time::timeout(Duration::from_millis(50), work).await.is_err());
    });
    let abandoned = Instant::now();
    let (checked, at) = ended.recv_timeout(Duration::from_secs(9)).unwrap();
    assert_eq!(checked, Err(WorkStopped::Abandoned));
    assert!(at.saturating_duration_since(abandoned) < Duration::from_secs(1));
}

#[test]
fn only_what_is_short_is_checked_at_once() {
    let schema = compile(r#"{"type":"object","properties":{"a":{"items":{"type":"integer"}}}}"#).unwrap();
    assert_eq!(schema.validate_if_short(&json!({"a": [1, 2]}), 11), Some(Ok(())));
    assert!(schema.validate_if_short(&json!({"a": ["x"]}), 11).is_some_and(|checked| checked.is_err()));
    assert_eq!(schema.validate_if_short(&json!({"a": vec![1; 20_000]}), 40_007), None);
    let deep = compile(r##"{"type":"object","properties":{"a":{"$ref":"#"}}}"##).unwrap();
    assert_eq!(deep.validate_if_short(&json!({"a": {"a": {}}}), 15), Some(Ok(())));
    assert!(deep.validate_if_short(&json!({"a": {"a": 1}}), 15).is_some_and(|checked| checked.is_err()));
    let chain: serde_json::Map<String, Value> =
        (0..1_000).map(|n| (format!("{n}"), json!({ "$ref": format!("#/$defs/{}", n + 1) }))).collect();
    let mut long = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/0"}}, "$defs": chain});
    long["$defs"]["1000"] = json!({"properties": {"a": {"$ref": "#/$defs/0"}}});
    let long = compile(&long.to_string()).unwrap();
    assert_eq!(long.validate_if_short(&json!({"a": {"a": {"a": {"a": {}}}}}), 27), None);
}

#[test]
fn what_is_false_says_so() {
    let schema =
        compile(r#"{"type":"object","properties":{"a":false},"additionalProperties":false}"#).unwrap();
    let told = check(&schema, &json!({"a": 1}), 7).unwrap_err().to_string();
    assert_eq!(told, "/a: nothing is allowed here");
}
