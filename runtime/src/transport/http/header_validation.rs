//! Headers that repeat parts of the body (2026-07-28, Streamable HTTP). Proxies route by these headers, so they must
//! match the body.
//!
//! A new rule for such a header belongs here. Headers that repeat a tool's arguments can be compared only when the tool
//! is known. If the tool is not published yet, [`DeferredHeaders`] keeps the headers, and the layer `mcp` compares them
//! later.

use std::borrow::Cow;
use std::fmt::Display;

use axum::http::HeaderMap;
use data_encoding::BASE64;
use serde_json::Value;

use super::header_names::{METHOD, NAME, PROTOCOL_VERSION, required, single};
use crate::catalog::{ParamHeader, ParamKind, PublishedTool};
use crate::mcp::{ArgumentsCheck, Method, Request, Revision, RpcError};

/// The headers of a call whose tool was not published yet when the call arrived.
#[derive(Debug)]
pub(super) struct DeferredHeaders(pub(super) HeaderMap);

impl ArgumentsCheck for DeferredHeaders {
    fn check(&self, tool: &PublishedTool, request: &Request) -> Result<(), RpcError> {
        check_params(&self.0, &tool.headers, request.params.arguments())
    }
}

/// Compares the headers of a stateless request with its body. Returns the name, URI or id in the body if a header
/// must repeat it.
///
/// # Errors
/// -32020 when a header is missing, has invalid characters, or differs from the body.
pub(super) fn check<'r>(
    headers: &HeaderMap,
    request: &'r Request,
    revision: Revision,
) -> Result<Option<Cow<'r, str>>, RpcError> {
    check_version(headers, revision.as_str())?;
    check_equal(&METHOD, required(headers, &METHOD)?, request.method.as_str())?;
    let name = match request.method {
        Method::CallTool | Method::GetPrompt => request.params.name(),
        Method::ReadResource => request.params.uri(),
        Method::GetTask | Method::UpdateTask | Method::CancelTask => request.params.task_id(),
        _ => return Ok(None),
    };
    // If the body lacks the parameter, the handler rejects the request because of its parameters.
    let Ok(name) = name else { return Ok(None) };
    check_equal(&NAME, &decoded(&NAME, required(headers, &NAME)?)?, &name)?;
    Ok(Some(name))
}

/// Compares the headers that repeat arguments (`x-mcp-header`) with the arguments.
///
/// # Errors
/// -32020 when a header is missing, has invalid characters, or differs from the argument.
pub(super) fn check_params(
    headers: &HeaderMap,
    expected: &[ParamHeader],
    arguments: Option<&str>,
) -> Result<(), RpcError> {
    if expected.is_empty() {
        return Ok(());
    }
    let arguments: Value =
        arguments.and_then(|arguments| serde_json::from_str(arguments).ok()).unwrap_or_default();
    for ParamHeader { header, path, kind } in expected {
        let header = header.as_str();
        let argument = path.iter().try_fold(&arguments, |value, name| value.get(name));
        match argument.filter(|argument| !argument.is_null()) {
            Some(argument) => {
                let text = decoded(header, required(headers, header)?)?;
                if !matches_argument(&text, argument, *kind) {
                    return Err(mismatch(header));
                }
            }
            None if single(headers, header)?.is_some() => return Err(mismatch(header)),
            None => {}
        }
    }
    Ok(())
}

/// Whether a header's text equals an argument. An argument whose type differs from the schema is compared by its own
/// type; validation rejects it later.
fn matches_argument(header: &str, argument: &Value, kind: ParamKind) -> bool {
    match argument {
        Value::String(text) => header == text,
        Value::Bool(value) => header == if *value { "true" } else { "false" },
        Value::Number(number) if kind == ParamKind::Integer => {
            match (whole_number(header), whole_number(&number.to_string())) {
                (Some(header), Some(number)) => header == number,
                _ => false,
            }
        }
        other => other.to_string().as_str() == header,
    }
}

/// Parses a whole number, which JSON may also write as `1.0` or `1e3`. Returns `None` from 2^53 on, where a double
/// cannot represent every whole number.
fn whole_number(text: &str) -> Option<i64> {
    let safe = |number: &i64| number.unsigned_abs() < 1 << 53;
    let written = |text: &str| text.parse::<f64>().ok().filter(|number| number.fract() == 0.0);
    let number = text.parse::<i64>().ok().or_else(|| written(text).map(|number| number as i64));
    number.filter(safe)
}

/// Compares the revision in the headers with that in the body.
///
/// # Errors
/// -32020 when the header is missing or differs from the body.
pub(super) fn check_version(headers: &HeaderMap, version: &str) -> Result<(), RpcError> {
    check_equal(&PROTOCOL_VERSION, required(headers, &PROTOCOL_VERSION)?, version)
}

fn check_equal(name: impl Display, header: &str, body: &str) -> Result<(), RpcError> {
    if header == body {
        return Ok(());
    }
    Err(mismatch(name))
}

fn mismatch(name: impl Display) -> RpcError {
    RpcError::header_mismatch(&format!("`{name}` does not say what the body says"))
}

/// Decodes a value in the form `=?base64?...?=`, which is used for text that is not allowed in a header.
fn decoded(name: impl Display, value: &str) -> Result<Cow<'_, str>, RpcError> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(Cow::Borrowed(value));
    };
    let bytes = BASE64.decode(encoded.as_bytes()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    bytes
        .map(Cow::Owned)
        .ok_or_else(|| RpcError::header_mismatch(&format!("`{name}` is not valid base64 of UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::{Params, RequestId};

    fn checked(pairs: &[(&'static str, &str)], params: &str) -> Option<i64> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        let params = Params::from(params);
        let request =
            Request { id: RequestId::Number(1), method: Method::CallTool, params, reservation: None };
        check(&headers, &request, Revision::V2026_07_28).err().map(|error| error.code)
    }

    const VERSION_IS: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
    const METHOD_IS: (&str, &str) = ("mcp-method", "tools/call");

    #[test]
    fn headers_must_say_what_the_body_says() {
        let body = r#"{"name":"héllo"}"#;
        let name = ("mcp-name", "=?base64?aMOpbGxv?=");
        assert_eq!(checked(&[VERSION_IS, METHOD_IS, name], body), None);
        assert_eq!(checked(&[VERSION_IS, METHOD_IS, ("mcp-name", " t ")], r#"{"name":"t"}"#), None);
        for wrong in [
            &[METHOD_IS, name][..],
            &[VERSION_IS, name],
            &[VERSION_IS, METHOD_IS],
            &[VERSION_IS, METHOD_IS, ("mcp-name", "other")],
            &[VERSION_IS, METHOD_IS, ("mcp-name", "=?base64?%%?=")],
            &[VERSION_IS, ("mcp-method", "Tools/Call"), name],
            &[("mcp-protocol-version", "2025-11-25"), METHOD_IS, name],
            &[VERSION_IS, METHOD_IS, name, name],
        ] {
            assert_eq!(checked(wrong, body), Some(-32020), "{wrong:?}");
        }
    }

    #[test]
    fn a_resource_is_named_by_its_uri() {
        let params = Params::from(r#"{"uri":"n:a","name":"x"}"#);
        let request =
            Request { id: RequestId::Number(1), method: Method::ReadResource, params, reservation: None };
        let mut headers = HeaderMap::new();
        headers.append(PROTOCOL_VERSION, "2026-07-28".parse().unwrap());
        headers.append(METHOD, "resources/read".parse().unwrap());
        headers.append(NAME, "n:a".parse().unwrap());
        let named = check(&headers, &request, Revision::V2026_07_28).unwrap();
        assert_eq!(named.as_deref(), Some("n:a"));
    }

    fn repeated(header: Option<&str>, kind: ParamKind, arguments: &str) -> Option<i64> {
        let expected =
            ParamHeader { header: "mcp-param-x".into(), path: vec!["in".into(), "x".into()], kind };
        let mut headers = HeaderMap::new();
        if let Some(value) = header {
            headers.append("Mcp-Param-X", value.parse().unwrap());
        }
        check_params(&headers, &[expected], Some(arguments)).err().map(|error| error.code)
    }

    #[test]
    fn arguments_are_repeated_as_they_are() {
        use ParamKind::{Boolean, Integer, Text};
        for (header, kind, arguments) in [
            (Some("eu"), Text, r#"{"in":{"x":"eu"}}"#),
            (Some("=?base64?aMOpbGxv?="), Text, r#"{"in":{"x":"h\u00e9llo"}}"#),
            (Some("=?base64?IGE=?="), Text, r#"{"in":{"x":" a"}}"#),
            (Some("true"), Boolean, r#"{"in":{"x":true}}"#),
            (Some("42"), Integer, r#"{"in":{"x":42}}"#),
            (Some("42"), Integer, r#"{"in":{"x":42.0}}"#),
            (Some("42.0"), Integer, r#"{"in":{"x":42}}"#),
            (Some("-0"), Integer, r#"{"in":{"x":0}}"#),
            (None, Text, r#"{"in":{"x":null}}"#),
            (None, Text, r#"{"in":{}}"#),
            (None, Text, r#"{}"#),
            (None, Text, r#"[]"#),
        ] {
            assert_eq!(repeated(header, kind, arguments), None, "{header:?} {arguments}");
        }
        for (header, kind, arguments) in [
            (None, Text, r#"{"in":{"x":"eu"}}"#),
            (Some("us"), Text, r#"{"in":{"x":"eu"}}"#),
            (Some("EU"), Text, r#"{"in":{"x":"eu"}}"#),
            (Some("=?base64?%%?="), Text, r#"{"in":{"x":"eu"}}"#),
            (Some("=?base64?ZXU=?="), Text, r#"{"in":{"x":"us"}}"#),
            (Some("h\u{e9}"), Text, r#"{"in":{"x":"h\u00e9"}}"#),
            (Some("True"), Boolean, r#"{"in":{"x":true}}"#),
            (Some("43"), Integer, r#"{"in":{"x":42}}"#),
            (Some("x"), Integer, r#"{"in":{"x":42}}"#),
            (Some("eu"), Text, r#"{"in":{"x":null}}"#),
            (Some("eu"), Text, r#"{}"#),
        ] {
            assert_eq!(repeated(header, kind, arguments), Some(-32020), "{header:?} {arguments}");
        }
    }
}
