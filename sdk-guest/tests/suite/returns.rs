//! Results of every type that a tool may return.

use std::borrow::Cow;
use std::fmt;

use plugport_sdk::prelude::*;
use plugport_sdk::serde::Serialize;
use plugport_sdk::serde_json::json;
use plugport_sdk::testing::{describe, invoke};
use plugport_sdk::{ToolResult, serde_json};

type Fallible<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[data]
struct Sum {
    sum: i64,
}

#[derive(Serialize)]
#[serde(crate = "plugport_sdk::serde")]
struct Opaque {
    inside: u8,
}

#[derive(Debug, thiserror::Error)]
#[error("the parcel is lost")]
struct Lost(#[source] Broken);

#[derive(Debug, thiserror::Error)]
#[error("the van broke down")]
struct Broken(#[source] fmt::Error);

/// A tool for every type.
macro_rules! tools {
    ($($name:ident() -> $type:ty $body:block)*) => {$(
        /// Return something.
        #[tool]
        fn $name() -> $type $body
    )*};
}

tools! {
    string() -> String { "text".to_owned() }
    literal() -> &'static str { "text" }
    cow() -> Cow<'static, str> { "text".into() }
    unit() -> () {}
    content() -> Content { Content::image([1, 2], "image/png") }
    contents() -> Vec<Content> { vec!["a".into(), Content::link("a:b", "b"), "c".into()] }
    described() -> Sum { Sum { sum: 3 } }
    opaque() -> Opaque { Opaque { inside: 1 } }
    number() -> u8 { 7 }
    list() -> Vec<Sum> { vec![Sum { sum: 1 }] }
    optional() -> Option<Sum> { None }
    value() -> serde_json::Value { json!([1]) }
    impossible() -> std::collections::BTreeMap<Option<u8>, u8> { [(Some(1), 1), (None, 1)].into() }
    result() -> ToolResult {
        ToolResult { content: vec![], structured: None, is_error: true, extra: Some("{}".to_owned()) }
    }
    good() -> Fallible<Sum> { Ok(Sum { sum: 4 }) }
    good_text() -> Result<&'static str, String> { Ok("fine") }
    good_opaque() -> anyhow::Result<Opaque> { Ok(Opaque { inside: 2 }) }
    nothing() -> Result<(), Lost> { Ok(()) }
    chain() -> Result<(), Lost> { Err(Lost(Broken(fmt::Error))) }
    context() -> anyhow::Result<Sum> { Err(anyhow::Error::new(Lost(Broken(fmt::Error))).context("no delivery")) }
    words() -> Result<Vec<Content>, String> { Err("no words".to_owned()) }
    static_words() -> Result<Sum, &'static str> { Err("no sum") }
    boxed() -> Fallible<Content> { Err("no content".into()) }
}

/// Never return.
#[tool]
fn never() -> ! {
    panic!("never")
}

/// Call itself, which a tool may since it is a function.
#[tool]
fn factorial(n: u64) -> u64 {
    if n == 0 { 1 } else { n * factorial(n - 1) }
}

fn output<T: plugport_sdk::Tool>() -> Option<String> {
    describe::<T>().unwrap().output_schema
}

fn failure<T: plugport_sdk::Tool>() -> String {
    let outcome = invoke::<T>(json!({}));
    assert!(outcome.result().is_ok_and(|result| result.is_error), "{outcome:?}");
    assert_eq!(outcome.structured(), None);
    outcome.text()
}

#[test]
fn text_is_text() {
    for outcome in [invoke::<string>(json!({})), invoke::<literal>(json!({})), invoke::<cow>(json!({}))] {
        assert_eq!(outcome.content(), [Content::text("text")]);
        assert_eq!((outcome.structured(), outcome.is_error()), (None, false));
    }
    assert_eq!((output::<string>(), output::<literal>(), output::<cow>()), (None, None, None));
}

#[test]
fn content_is_passed_on() {
    assert_eq!(invoke::<content>(json!({})).content(), [Content::image([1, 2], "image/png")]);
    let several = invoke::<contents>(json!({}));
    assert_eq!((several.content().len(), several.text().as_str()), (3, "a\nc"));
    assert_eq!(invoke::<unit>(json!({})).content(), []);
    assert_eq!(invoke::<nothing>(json!({})).content(), []);
    assert_eq!((output::<content>(), output::<contents>(), output::<unit>()), (None, None, None));
}

#[test]
fn a_result_made_by_hand_stays_as_it_is() {
    let outcome = invoke::<result>(json!({}));
    let result = outcome.result().unwrap();
    assert_eq!((result.is_error, result.extra.as_deref()), (true, Some("{}")));
}

#[test]
fn a_value_is_structured_and_text_and_has_a_schema() {
    let outcome = invoke::<described>(json!({}));
    assert_eq!(outcome.structured(), Some(json!({"sum": 3})));
    assert_eq!(outcome.text(), r#"{"sum":3}"#);
    assert_eq!(
        output::<described>().unwrap(),
        r#"{"type":"object","properties":{"sum":{"type":"integer","format":"int64"}},"required":["sum"]}"#
    );
    assert_eq!(invoke::<number>(json!({})).structured(), Some(json!(7)));
    assert_eq!(invoke::<list>(json!({})).structured(), Some(json!([{"sum": 1}])));
    assert_eq!(invoke::<optional>(json!({})).structured(), Some(json!(null)));
    assert!(output::<list>().unwrap().starts_with(r#"{"type":"array""#));
}

#[test]
fn a_value_without_a_schema_is_structured_all_the_same() {
    assert_eq!(invoke::<opaque>(json!({})).structured(), Some(json!({"inside": 1})));
    assert_eq!(invoke::<value>(json!({})).structured(), Some(json!([1])));
    assert_eq!((output::<opaque>(), output::<value>()), (None, None));
}

#[test]
fn a_value_that_is_no_json_is_an_error_of_the_call() {
    let outcome = invoke::<impossible>(json!({}));
    assert!(outcome.result().is_err());
    assert!(outcome.text().starts_with("the tool's result cannot be written as JSON"), "{outcome:?}");
}

#[test]
fn what_is_in_ok_counts() {
    assert_eq!(invoke::<good>(json!({})).structured(), Some(json!({"sum": 4})));
    assert!(output::<good>().unwrap().contains("sum"));
    assert_eq!(invoke::<good_text>(json!({})).text(), "fine");
    assert_eq!(output::<good_text>(), None);
    assert_eq!(invoke::<good_opaque>(json!({})).structured(), Some(json!({"inside": 2})));
    assert_eq!(output::<good_opaque>(), None);
}

#[test]
fn an_error_is_a_result_with_its_causes() {
    assert_eq!(
        failure::<chain>(),
        "the parcel is lost\ncaused by: the van broke down\ncaused by: an error occurred when formatting an argument"
    );
    assert!(
        failure::<context>().starts_with("no delivery\ncaused by: the parcel is lost\ncaused by: the van")
    );
    assert_eq!(failure::<words>(), "no words");
    assert_eq!(failure::<static_words>(), "no sum");
    assert_eq!(failure::<boxed>(), "no content");
}

#[test]
fn a_tool_that_never_returns_is_a_tool() {
    assert_eq!(output::<never>(), None);
    assert_eq!(invoke::<factorial>(json!({"n": 5})).structured(), Some(json!(120)));
}
