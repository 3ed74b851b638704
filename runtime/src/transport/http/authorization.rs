//! The credentials of a request, from its headers and its connection (RFC 6750, 2.1; RFC 8705).
//!
//! A token is read from `Authorization` alone. One in the query or in the body would be in logs and histories, and MCP
//! forbids it.

use axum::http::{HeaderMap, header};

/// A malformed `Authorization`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum AuthorizationError {
    #[error("`Authorization` is there twice; send one token")]
    Twice,
    #[error("the token in `Authorization` is malformed; send `Authorization: Bearer TOKEN`")]
    Malformed,
}

/// The bearer token of a request; `None` when there is none, or another scheme.
///
/// # Errors
/// When there are two, or the token has characters that no token has.
pub(super) fn bearer_token(headers: &HeaderMap) -> Result<Option<&str>, AuthorizationError> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(AuthorizationError::Twice);
    }
    let text = value.to_str().map_err(|_| AuthorizationError::Malformed)?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Ok(None);
    }
    let token = token.trim_matches(' ');
    if is_token(token) { Ok(Some(token)) } else { Err(AuthorizationError::Malformed) }
}

/// `b64token` of RFC 6750, 2.1.
fn is_token(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let is_char = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    !body.is_empty() && body.bytes().all(is_char)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&'static str]) -> Result<Option<String>, AuthorizationError> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::AUTHORIZATION, line.parse().unwrap());
        }
        bearer_token(&headers).map(|token| token.map(str::to_owned))
    }

    #[test]
    fn one_bearer_token_is_read() {
        assert_eq!(read(&[]), Ok(None));
        for good in ["Bearer abc", "bearer abc", "BEARER  abc "] {
            assert_eq!(read(&[good]), Ok(Some("abc".to_owned())), "{good}");
        }
        assert_eq!(read(&["Bearer a.b-c_d~e+f/g=="]), Ok(Some("a.b-c_d~e+f/g==".to_owned())));
        assert_eq!(read(&["Basic dXNlcg=="]), Ok(None));
        assert_eq!(read(&["Bearerabc"]), Ok(None));
    }

    #[test]
    fn what_is_no_token_is_malformed() {
        assert_eq!(read(&["Bearer a", "Bearer b"]), Err(AuthorizationError::Twice));
        for bad in
            ["Bearer", "Bearer ", "Bearer a b", "Bearer =", "Bearer a=b", "Bearer \"a\"", "Bearer a,Bearer b"]
        {
            assert_eq!(read(&[bad]), Err(AuthorizationError::Malformed), "{bad}");
        }
    }
}
