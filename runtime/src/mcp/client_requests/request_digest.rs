//! The digest of a request, which binds a suspended call to its request.
//!
//! The request that resumes a call repeats the first request, but a client may write it differently: with another order
//! of fields, other spaces, or absent instead of empty arguments. So the digest is computed from values and not from
//! text. Parameters that cannot be parsed into values, for example because a number is out of range, are hashed as text
//! and match only the same text.

use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::mcp::method::Method;

/// A digest.
pub(crate) type RequestDigest = [u8; 32];

/// Fields that may differ in the request that resumes a call.
const EXCLUDED: [&str; 3] = ["_meta", "inputResponses", "requestState"];

/// Computes the digest of a request.
pub(crate) fn compute(method: &Method, params: Option<&RawValue>) -> RequestDigest {
    let mut hash = Sha256::new();
    hash_bytes(&mut hash, method.as_str().as_bytes());
    match params.map(|params| serde_json::from_str(params.get()).map_err(|_| params)) {
        Some(Ok(Value::Object(mut fields))) => {
            fields.retain(|name, value| !EXCLUDED.contains(&name.as_str()) && !is_empty(value));
            hash_value(&mut hash, &Value::Object(fields));
        }
        Some(Err(unparsed)) => hash_bytes(&mut hash, unparsed.get().as_bytes()),
        Some(Ok(_)) | None => {}
    }
    hash.finalize().into()
}

/// Null and empty arguments mean the same as absent arguments.
fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn hash_bytes(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

/// The parser bounds the depth of the recursion.
fn hash_value(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            hash.update([b'{']);
            hash.update((fields.len() as u64).to_le_bytes());
            for (name, value) in fields {
                hash_bytes(hash, name.as_bytes());
                hash_value(hash, value);
            }
        }
        Value::Array(items) => {
            hash.update([b'[']);
            hash.update((items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| hash_value(hash, item));
        }
        scalar => hash_bytes(hash, scalar.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_call(params: &str) -> RequestDigest {
        compute(&Method::CallTool, Some(&RawValue::from_string(params.to_owned()).unwrap()))
    }

    #[test]
    fn a_repeated_request_is_the_same_however_it_is_written() {
        let first = of_call(r#"{"name":"t","arguments":{"a":1,"b":[1,"x"]},"_meta":{"v":1}}"#);
        let again =
            r#"{ "arguments":{"b":[1,"x"],"a":1}, "name":"t", "requestState":"s", "inputResponses":{} }"#;
        assert_eq!(first, of_call(again));
        assert_eq!(of_call(r#"{"name":"t"}"#), of_call(r#"{"name":"t","arguments":{}}"#));
    }

    #[test]
    fn another_request_is_not_the_same() {
        let first = of_call(r#"{"name":"t","arguments":{"a":1}}"#);
        for other in [
            r#"{"name":"u","arguments":{"a":1}}"#,
            r#"{"name":"t","arguments":{"a":2}}"#,
            r#"{"name":"t","arguments":{"a":"1"}}"#,
            r#"{"name":"t","arguments":{"a":1,"b":{}}}"#,
            r#"{"name":"t"}"#,
        ] {
            assert_ne!(first, of_call(other), "{other}");
        }
        assert_ne!(of_call(r#"{"name":"t","a":1e999}"#), of_call(r#"{"name":"u","a":1e999}"#));
    }
}
