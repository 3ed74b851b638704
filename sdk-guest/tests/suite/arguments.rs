//! Arguments on their way from JSON to the parameters.

use std::path::PathBuf;

use plugport_sdk::Error;
use plugport_sdk::prelude::*;
use plugport_sdk::schemars::JsonSchema;
use plugport_sdk::serde::Deserialize;
use plugport_sdk::serde_json::{Value, json};
use plugport_sdk::testing::{self, invoke};

const TWICE: u32 = 2;

#[data]
#[serde(rename_all = "lowercase")]
enum Case {
    Upper,
    Lower,
}

/// Repeat a word.
#[tool]
fn repeat(
    word: String,
    #[arg(default = TWICE)] times: u32,
    call: &Call,
    case: Option<Case>,
    #[arg(default = "/notes")] mut folder: PathBuf,
) -> String {
    folder.push(word.repeat(times as usize));
    let text = folder.display().to_string();
    match case {
        Some(Case::Upper) => text.to_uppercase(),
        Some(Case::Lower) => text.to_lowercase(),
        None => format!("{text} for {}", call.client().name),
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "plugport_sdk::serde")]
#[schemars(crate = "plugport_sdk::schemars")]
struct All {
    a: u8,
    b: Option<Value>,
}

/// Take all.
#[tool]
fn take(call: &Call, #[args] all: All) -> String {
    format!("{} {:?} {}", all.a, all.b, call.cancelled())
}

/// The SDK's own error, which clients get from servers that do not validate.
fn error_text<T: plugport_sdk::Tool>(arguments: Value) -> String {
    let result = T::call(&testing::call(), &arguments.to_string());
    assert!(matches!(result, Err(Error::InvalidParams(_))), "{result:?}");
    result.unwrap_err().to_string()
}

#[test]
fn the_function_is_still_a_function() {
    let text = repeat("ab".to_owned(), 1, &testing::call(), Some(Case::Upper), PathBuf::new());
    assert_eq!(text, "AB");
}

#[test]
fn what_is_left_out_has_its_default() {
    assert_eq!(invoke::<repeat>(json!({"word": "ab"})).text(), "/notes/abab for test");
}

#[test]
fn all_may_be_given_in_any_order() {
    let arguments = json!({"folder": "/", "case": "lower", "times": 1, "word": "Ab"});
    assert_eq!(invoke::<repeat>(arguments).text(), "/ab");
}

#[test]
fn a_wrong_argument_is_named() {
    assert_eq!(
        error_text::<repeat>(json!({"word": "a", "times": "two"})),
        "the argument `times` cannot be used: invalid type: string \"two\", expected u32"
    );
    assert_eq!(error_text::<repeat>(json!({})), "the argument `word` is missing");
    assert_eq!(
        error_text::<repeat>(json!({"word": "a", "tmes": 2})),
        "there is no argument `tmes`; this tool takes word, times, case, folder"
    );
    assert_eq!(
        error_text::<take>(json!({"b": null, "a": 256})),
        "the argument `a` cannot be used: invalid value: integer `256`, expected u8"
    );
}

#[test]
fn a_struct_takes_all_arguments() {
    assert_eq!(invoke::<take>(json!({"a": 1})).text(), "1 None false");
}
