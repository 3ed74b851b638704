//! `requestState` opens exactly when this process signed it, unchanged, and a repeated request counts as the same
//! exactly when its caller, method and parameters are the same values.

use std::sync::LazyLock;
use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use plugport::mcp::fuzzing::{RequestState, request_digest};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::split_input::Fields;

use crate::Target;
use crate::reference::canonical;

pub(crate) const TARGET: Target = Target {
    name: "request_state",
    check,
    words: &[
        "\"_meta\"",
        "\"inputResponses\"",
        "\"requestState\"",
        "\"arguments\"",
        "\"name\"",
        "null",
        "{}",
        "1e999",
        "-0.0",
        "\\u0061",
        "\x1f",
        "tools/call",
    ],
};

static KEYS: LazyLock<[RequestState; 2]> =
    LazyLock::new(|| [RequestState::new().unwrap(), RequestState::new().unwrap()]);

/// A suspended call's number, the change, and texts: a forged state, and two requests.
fn check(input: &[u8]) {
    let Some((handle, [at, flip, rest @ ..])) = input.split_first_chunk::<16>() else { return };
    let mut fields = Fields::new(rest);
    let forged = fields.text();
    let [own, foreign] = &*KEYS;
    assert_eq!(own.verify(&forged), None, "{forged:?} opens");
    let token = own.sign(*handle, Duration::from_secs(3_600));
    assert_eq!(own.verify(&token), Some((*handle, false)));
    assert_eq!(own.verify(&own.sign(*handle, Duration::ZERO)), Some((*handle, true)));
    assert_eq!(foreign.verify(&token), None, "a state of another process opens");
    assert_eq!(own.verify(&format!("{token}{forged}")), (forged.is_empty()).then_some((*handle, false)));
    changed_bytes_are_rejected(own, &token, usize::from(*at), *flip);
    requests_are_told_apart(&mut fields);
}

fn changed_bytes_are_rejected(own: &RequestState, token: &str, at: usize, flip: u8) {
    let cut = at % token.len();
    assert_eq!(own.verify(&token[..cut]), None, "a state cut at {cut} opens");
    let mut bytes = BASE64URL_NOPAD.decode(token.as_bytes()).unwrap();
    let place = at % bytes.len();
    bytes[place] ^= flip;
    assert_eq!(
        own.verify(&BASE64URL_NOPAD.encode(&bytes)).is_some(),
        flip == 0,
        "byte {place} changed by {flip}"
    );
    let mut text = token.as_bytes().to_vec();
    text[cut] = flip;
    let text = String::from_utf8_lossy(&text).into_owned();
    assert_eq!(own.verify(&text).is_some(), text == *token, "{text} opens");
}

fn requests_are_told_apart(fields: &mut Fields) {
    let mut request = || (fields.text(), fields.text());
    let (first, second) = (request(), request());
    let of = |(method, params): &(String, String)| {
        let raw = RawValue::from_string(params.clone()).ok().filter(|raw| raw.get().starts_with('{'))?;
        let meaning = (method.clone(), meaning(raw.get()));
        Some((request_digest(method, Some(&raw)), meaning))
    };
    let (Some(first), Some(second)) = (of(&first), of(&second)) else { return };
    assert_eq!(first.0 == second.0, first.1 == second.1, "{:?} and {:?}", first.1, second.1);
}

/// The value of parameters in any spelling; unreadable text is itself.
fn meaning(params: &str) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(params) else { return params.to_owned() };
    for name in ["_meta", "inputResponses", "requestState"] {
        fields.remove(name);
    }
    fields.retain(|_, value| !matches!(canonical(value).as_str(), "null" | "{}"));
    canonical(&Value::Object(fields))
}
