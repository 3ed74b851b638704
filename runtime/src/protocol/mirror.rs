//! Headers that repeat the body (2026-07-28, Streamable HTTP): proxies route by them, so they must not lie.

use data_encoding::BASE64;
use http::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::RpcError;
use super::message::Request;
use super::revision::Revision;

pub(crate) const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// Compares the headers of a stateless request with its body.
///
/// # Errors
/// -32020 when one is missing, has characters that a header cannot have, or differs.
pub(crate) fn check(headers: &HeaderMap, request: &Request, revision: Revision) -> Result<(), RpcError> {
    check_version(headers, revision.as_str())?;
    same(METHOD, &required(headers, METHOD)?, request.method.as_str())?;
    let Some(parameter) = request.method.named_by() else {
        return Ok(());
    };
    // A body without the parameter is the handler's to refuse, as invalid parameters.
    let Some(name) = name_of(request.params.as_deref(), parameter) else {
        return Ok(());
    };
    same(NAME, &decoded(&required(headers, NAME)?)?, &name)
}

/// Compares the version that the headers name with the body's.
///
/// # Errors
/// -32020 when it is missing or differs.
pub(crate) fn check_version(headers: &HeaderMap, version: &str) -> Result<(), RpcError> {
    same(VERSION, &required(headers, VERSION)?, version)
}

/// The only value of a header, as text.
pub(crate) fn single(headers: &HeaderMap, name: &str) -> Result<Option<String>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(RpcError::header_mismatch(&format!("`{name}` is given twice")));
    }
    match value.to_str() {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(_) => {
            Err(RpcError::header_mismatch(&format!("`{name}` has characters that a header cannot have")))
        }
    }
}

fn required(headers: &HeaderMap, name: &str) -> Result<String, RpcError> {
    single(headers, name)?.ok_or_else(|| RpcError::header_mismatch(&format!("`{name}` is missing")))
}

fn same(name: &str, header: &str, body: &str) -> Result<(), RpcError> {
    if header == body {
        return Ok(());
    }
    Err(RpcError::header_mismatch(&format!("`{name}` does not say what the body says")))
}

/// Undoes `=?base64?...?=`, the form of values that a header cannot carry as they are.
fn decoded(value: &str) -> Result<String, RpcError> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(value.to_owned());
    };
    let bytes = BASE64.decode(encoded.as_bytes()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    bytes.ok_or_else(|| RpcError::header_mismatch(&format!("`{NAME}` is not valid base64 of UTF-8")))
}

/// The parameters that a header can repeat.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
}

fn name_of(params: Option<&RawValue>, parameter: &str) -> Option<String> {
    let named: Named<'_> = serde_json::from_str(params?.get()).ok()?;
    let value = if parameter == "uri" { named.uri } else { named.name };
    serde_json::from_str(value?.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::message::Id;
    use crate::protocol::method::Method;

    fn checked(pairs: &[(&'static str, &str)], params: &str) -> Option<i64> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        let params = Some(RawValue::from_string(params.to_owned()).unwrap());
        let request = Request { id: Id::Number(1), method: Method::CallTool, params };
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
}
