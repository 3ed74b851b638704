//! The thumbprint of a key (RFC 7638): the SHA-256 of the key's required members, written in a canonical form.
//!
//! The values of the members are used as they are written. A key in another spelling, for example with leading zeros in
//! its numbers, has another thumbprint; a token bound to the first is not bound to the second.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::access::oauth::expiring_map::Digest;

/// Returns the thumbprint; `None` if the value is not a public key of a known type.
pub(super) fn thumbprint(jwk: &Map<String, Value>) -> Option<Digest> {
    let text = |name: &str| jwk.get(name).and_then(Value::as_str);
    let members: &[&str] = match text("kty")? {
        "RSA" => &["e", "kty", "n"],
        "EC" => &["crv", "kty", "x", "y"],
        "OKP" => &["crv", "kty", "x"],
        _ => return None,
    };
    let mut written = Vec::with_capacity(members.len());
    for name in members {
        let value = text(name)?;
        // Neither names nor base64url have characters that JSON could write in two ways.
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if !value.bytes().all(is_letter) {
            return None;
        }
        written.push(format!("\"{name}\":\"{value}\""));
    }
    Some(Sha256::digest(format!("{{{}}}", written.join(",")).as_bytes()).into())
}

#[cfg(test)]
mod tests {
    use data_encoding::BASE64URL_NOPAD;
    use serde_json::json;

    use super::*;

    fn of(jwk: &Value) -> Option<String> {
        thumbprint(jwk.as_object().unwrap()).map(|digest| BASE64URL_NOPAD.encode(&digest))
    }

    #[test]
    fn the_examples_of_the_standards_have_their_thumbprints() {
        // RFC 7638, 3.1.
        let n = concat!(
            "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjB",
            "ZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8",
            "KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_",
            "xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
        );
        let rsa = json!({ "kty": "RSA", "n": n, "e": "AQAB", "alg": "RS256", "kid": "2011-04-29" });
        assert_eq!(of(&rsa).as_deref(), Some("NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"));
        // RFC 9449, 6.1.
        let ec = json!({
            "kty": "EC", "crv": "P-256", "x": "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
            "y": "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
        });
        assert_eq!(of(&ec).as_deref(), Some("0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"));
        // RFC 8037, A.3.
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let okp = json!({ "kty": "OKP", "crv": "Ed25519", "x": x });
        assert_eq!(of(&okp).as_deref(), Some("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"));
    }

    #[test]
    fn what_is_no_public_key_has_none() {
        for jwk in [
            json!({}),
            json!({ "kty": "oct", "k": "AAAA" }),
            json!({ "kty": "EC", "crv": "P-256", "x": "AA" }),
            json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": 1 }),
            json!({ "kty": "OKP", "crv": "Ed25519", "x": "A\",\"y\":\"B" }),
        ] {
            assert_eq!(of(&jwk), None, "{jwk}");
        }
    }
}
