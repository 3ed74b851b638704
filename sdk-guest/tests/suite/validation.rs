//! Arguments that the server would reject are rejected in tests too, in its words.

use std::cell::RefCell;
use std::path::PathBuf;

use plugport_sdk::prelude::*;
use plugport_sdk::serde_json::{self, Value, json};
use plugport_sdk::testing::{Outcome, TestClient, invoke};
use plugport_sdk::tools::ToolDescription;
use plugport_sdk::{Error, Tool, ToolResult, kv};

#[data]
#[serde(rename_all = "lowercase")]
enum Board {
    Breakfast,
    Full,
}

#[data]
struct Guest {
    #[schemars(length(min = 1))]
    name: String,
    age: Option<u8>,
}

/// Book a room.
#[tool]
fn book(
    #[arg(min = 1, max = 30)] nights: u32,
    #[arg(max_length = 2)] guests: Vec<Guest>,
    board: Option<Board>,
    #[arg(pattern = "^[A-Z]{2}$")] country: Option<String>,
) -> String {
    let meals = match board {
        Some(Board::Full) => 3,
        Some(Board::Breakfast) => 1,
        None => 0,
    };
    let ages = guests.iter().filter_map(|guest| guest.age).count();
    let first = guests.first().map(|guest| guest.name.as_str());
    format!("{nights} nights, {meals} meals, {first:?}, {ages} ages, {country:?}")
}

/// Say where something is.
#[tool(input_schema = r#"{"type": "object", "properties": {"at": {"pattern": "("}}}"#)]
fn place(at: PathBuf) -> String {
    at.display().to_string()
}

fn rejected(outcome: &Outcome) -> String {
    assert!(outcome.result().is_ok_and(|result| result.is_error), "{outcome:?}");
    let text = outcome.text();
    let prefix = "the arguments do not fit the tool's schema: ";
    text.strip_prefix(prefix).unwrap_or_else(|| panic!("{text}")).to_owned()
}

fn with(name: &str, value: Value) -> Value {
    let mut arguments = json!({"nights": 2, "guests": [{"name": "Ada"}]});
    arguments[name] = value;
    arguments
}

#[test]
fn arguments_that_fit_reach_the_tool() {
    let arguments = with("board", json!("full"));
    assert_eq!(invoke::<book>(arguments).text(), r#"2 nights, 3 meals, Some("Ada"), 0 ages, None"#);
}

#[test]
fn arguments_that_do_not_fit_are_rejected_as_the_server_rejects_them() {
    for (name, value, told) in [
        ("nights", json!(99), "/nights: 99 is greater than the maximum of 30"),
        ("nights", json!("2"), "/nights: \"2\" is not of type \"integer\""),
        ("board", json!("half"), "/board: \"half\" is not one of \"breakfast\" or \"full\""),
        ("country", json!("se"), "/country: \"se\" does not match \"^[A-Z]{2}$\""),
        ("guests", json!([{"name": ""}]), "/guests/0/name: \"\" is shorter than 1 character"),
        ("guests", json!([{}]), "/guests/0/name: is required and missing"),
        ("night/s", json!(1), "/night~1s: not a known property"),
    ] {
        assert_eq!(rejected(&invoke::<book>(with(name, value))), told);
    }
    let several = rejected(&invoke::<book>(json!({"guests": [{"name": "A", "age": 300}]})));
    assert!(several.contains("/nights: is required and missing"), "{several}");
    assert!(several.contains("; ") && several.contains("/guests/0/age: 300 is greater"), "{several}");
}

#[test]
fn a_long_value_is_cut() {
    let long = rejected(&invoke::<book>(with("country", json!("é".repeat(1_000)))));
    assert!(long.len() <= 303 && long.ends_with('…'), "{long}");
}

#[test]
fn a_null_for_an_optional_argument_is_as_if_it_were_missing() {
    let arguments = with("guests", json!([{"name": "Bob", "age": null}]));
    assert_eq!(invoke::<book>(arguments).text(), r#"2 nights, 0 meals, Some("Bob"), 0 ages, None"#);
    assert!(!invoke::<book>(with("country", Value::Null)).is_error());
    assert_eq!(
        rejected(&invoke::<book>(with("nights", Value::Null))),
        "/nights: null is not of type \"integer\""
    );
}

#[test]
fn a_schema_that_the_server_would_reject_is_told() {
    let outcome = invoke::<place>(json!({"at": "here"}));
    assert!(matches!(outcome.result(), Err(Error::Internal(_))), "{outcome:?}");
    assert!(outcome.text().contains("its schema cannot be compiled"), "{}", outcome.text());
}

/// Say what came.
#[tool(input_schema = include_str!("../validation/schema.json"))]
fn echo(#[args] given: Value) -> String {
    given.to_string()
}

/// The doubles of the other SDKs have validators of their own, and these cases in their tests. The order of faults is
/// not part of them.
#[test]
fn the_cases_of_all_sdks_are_what_the_server_says() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../validation/cases.json")).unwrap();
    for case in cases {
        let outcome = invoke::<echo>(case["args"].clone());
        let expected: Vec<&str> =
            case["faults"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        if expected.is_empty() {
            let reaches = case.get("reaches").unwrap_or(&case["args"]);
            assert_eq!(serde_json::from_str::<Value>(&outcome.text()).unwrap(), *reaches);
            continue;
        }
        let told = rejected(&outcome);
        let mut faults: Vec<&str> = told.split("; ").collect();
        faults.sort_by_key(|fault| expected.iter().position(|one| one == fault));
        assert_eq!(faults, expected, "{}", case["args"]);
    }
}

/// Return what came.
#[tool(
    input_schema = r#"{"type": "object"}"#,
    output_schema = r#"{"type": "object", "properties": {"sum": {"maximum": 9}}, "required": ["sum"]}"#
)]
fn give(#[args] given: Value) -> Value {
    given
}

/// Promise and give nothing.
#[tool(output_schema = r#"{"type": "object"}"#)]
fn promise() -> Vec<Content> {
    vec!["a".into()]
}

#[test]
fn a_result_that_does_not_fit_is_rejected_in_the_words_of_the_server() {
    assert_eq!(invoke::<give>(json!({"sum": 9})).structured(), Some(json!({"sum": 9})));
    let unfit = "its structured content does not fit its schema: /sum: ";
    for (outcome, why) in [
        (invoke::<give>(json!({"sum": 10})), format!("{unfit}10 is greater than the maximum of 9")),
        (invoke::<give>(json!({})), format!("{unfit}is required and missing")),
        (invoke::<promise>(json!({})), "it promises structured content and gave none".to_owned()),
    ] {
        assert!(outcome.is_error());
        assert_eq!(outcome.text(), format!("the tool returned an invalid result: {why}"));
    }
}

#[data]
struct Stay {
    #[schemars(range(min = 1, max = 30))]
    nights: u32,
}

#[test]
fn a_form_that_does_not_fit_is_no_response_as_at_the_server() {
    let filled = |content: Value| TestClient::new().accepts(content).call().elicit::<Stay>("Stay?");
    assert!(filled(json!({"nights": 3, "more": "words"})).is_ok());
    for (content, why) in [
        (json!({"nights": 99}), "the field `nights` does not fit the form"),
        (json!({}), "the field `nights` is missing"),
        (json!({"nights": 3, "more": {}}), "the field `more` is not part of the form"),
    ] {
        let Err(Error::Rpc(error)) = filled(content) else { panic!("{why}") };
        assert_eq!(error.message, format!("the client's response cannot be used: {why}"));
    }
    let visited = TestClient::new().visits().call().elicit::<Stay>("Stay?");
    assert!(matches!(visited, Err(Error::Rpc(error)) if error.message.ends_with("`content` is missing")));
}

#[test]
fn a_form_is_checked_as_the_server_checks_it() {
    let forms: Value = serde_json::from_str(include_str!("../validation/forms.json")).unwrap();
    for case in forms["cases"].as_array().unwrap() {
        let mut result = json!({"action": "accept"});
        if let Some(content) = case.get("content") {
            result["content"] = content.clone();
        }
        let client = TestClient::new().elicits_with(Ok(result));
        let told = match client.call().elicit_form("?", forms["form"].clone()) {
            Ok(_) => None,
            Err(Error::Rpc(error)) => Some(error.message),
            Err(error) => panic!("{case}: {error}"),
        };
        let expected = case.get("fault").and_then(Value::as_str);
        assert_eq!(
            told,
            expected.map(|why| format!("the client's response cannot be used: {why}")),
            "{case}"
        );
    }
}

/// Open the store.
#[tool]
fn keep() -> Result<&'static str, Error> {
    kv::open().map(|_| "kept")
}

#[test]
fn the_store_is_denied_to_calls_of_the_client_that_says_so() {
    let denied = TestClient::new().denies();
    assert!(denied.invoke::<keep>(json!({})).text().contains("does not grant `kv`"));
    assert_eq!(TestClient::new().invoke::<keep>(json!({})).text(), "kept");
    assert!(kv::open().is_err());
}

thread_local! {
    static SCHEMA: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The tool `echo` with the schema of a generated case.
struct Generated;

impl Tool for Generated {
    const NAME: &'static str = "generated";

    fn describe() -> Result<ToolDescription, Error> {
        let input_schema = SCHEMA.with_borrow(String::clone);
        <echo as Tool>::describe().map(|tool| ToolDescription { input_schema, ..tool })
    }

    fn call(call: &Call, arguments: &str) -> Result<ToolResult, Error> {
        <echo as Tool>::call(call, arguments)
    }
}

/// The cases are written by `cargo run -p plugport-tests --bin argument_types`.
#[test]
fn generated_arguments_are_accepted_where_the_server_accepts_them() {
    let Some(path) = std::env::var_os("PLUGPORT_VALIDATION_CASES") else { return };
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        SCHEMA.set(case["schema"].as_str().unwrap().to_owned());
        let Ok(arguments) = serde_json::from_str(case["args"].as_str().unwrap()) else { continue };
        let outcome = invoke::<Generated>(arguments);
        let is_rejected = outcome.is_error() && outcome.text().starts_with("the arguments do not fit");
        assert_eq!(case["accepted"], !is_rejected, "{case}: {}", outcome.text());
    }
}

#[test]
fn what_the_operator_does_not_grant_is_denied_in_the_words_of_the_server() {
    let client = TestClient::new().samples("!").denies();
    for (name, error) in [
        ("sampling", client.call().sample("?").err()),
        ("roots", client.call().roots().err()),
        ("kv", kv::open().err()),
    ] {
        let told = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(told.contains(&format!("this server does not grant `{name}` to the plugin")), "{told}");
    }
}
