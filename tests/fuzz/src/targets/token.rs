//! A token is accepted only from somebody with the issuer's key, and a principal has bounded names that can be shown.

use plugport::access::fuzzing::{FuzzedPrincipal, FuzzedToken, fuzz_token};
use serde_json::Value;

use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "token",
    check,
    words: &[
        "eyJhbGciOiJFUzI1NiIsImtpZCI6IjEifQ",
        "eyJhbGciOiJub25lIn0",
        "{\"alg\":\"EdDSA\"}",
        "\"iss\":\"https://idp.example.com\"",
        "\"aud\":\"https://tools.example.com/mcp\"",
        "\"exp\":1893456000",
        "\"sub\":\"ada\"",
        "\"cnf\":{\"x5t#S256\":",
        "\"groups\":[",
        "\"scope\":\"",
        "\"keys\":[",
        "\\u0061",
    ],
};

/// Any bytes: a token, claims or keys.
fn check(input: &[u8]) {
    let FuzzedToken { is_accepted, principal, is_key_set } = fuzz_token(input);
    assert!(!is_accepted, "a token was accepted that nobody signed");
    let value: Option<Value> = serde_json::from_slice(input).ok();
    if is_key_set {
        assert!(value.as_ref().is_some_and(|value| value["keys"].is_array()));
    }
    let Some(FuzzedPrincipal { id, client, scopes, groups }) = principal else { return };
    let claims = value.unwrap();
    assert_eq!(claims["iss"], "https://idp.example.com");
    assert_eq!(id, format!("oauth:https://idp.example.com#{}", claims["sub"].as_str().unwrap()));
    assert!(claims["exp"].as_f64().unwrap() > 1_767_225_600.0);
    assert!(claims.get("cnf").is_none(), "a bound token was accepted without its proof");
    let audience =
        |value: &Value| value.as_str().unwrap().trim_end_matches('/') == "https://tools.example.com/mcp";
    assert!(audience_is(&claims["aud"], audience));
    assert!(scopes.len() <= 256 && groups.len() <= 64);
    for name in
        scopes.iter().chain(&groups).chain(&client).chain([&claims["sub"].as_str().unwrap().to_owned()])
    {
        assert!(!name.is_empty() && name.len() <= 256 && !name.chars().any(char::is_control), "{name:?}");
    }
}

fn audience_is(claim: &Value, accepted: impl Fn(&Value) -> bool) -> bool {
    match claim {
        Value::Array(audiences) => audiences.iter().any(accepted),
        audience => accepted(audience),
    }
}
