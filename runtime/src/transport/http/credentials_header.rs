//! The headers with credentials: `Authorization` with the scheme `Bearer` (RFC 6750, 2.1) or `DPoP` (RFC 9449, 7.1),
//! and `DPoP` with the proof for the latter scheme.
//!
//! A token is read only from `Authorization`. A token in the query would appear in logs and histories, and MCP forbids
//! it. `access` decides which characters a token may have.

use axum::http::{HeaderMap, HeaderName, header};

/// The header with a proof.
const DPOP: HeaderName = HeaderName::from_static("dpop");

/// The scheme with which a token is sent, and with which a challenge begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenScheme {
    /// Whoever has the token may use it.
    Bearer,
    /// Only a client that has the key may use the token.
    Dpop,
}

/// The token of a request. It has no `Debug`, because tokens must not be logged.
#[derive(Clone, Copy)]
pub(super) struct HeaderToken<'h> {
    pub(super) scheme: TokenScheme,
    pub(super) token: &'h str,
}

/// Why the header `Authorization` cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum CredentialsHeaderError {
    #[error("`Authorization` is there twice; send one token")]
    Twice,
    #[error("the token in `Authorization` is malformed; send `Authorization: Bearer TOKEN`")]
    Malformed,
}

/// Returns the token of a request; `None` if there is none, or if the scheme is another one.
///
/// # Errors
/// When there are two headers, or the header has characters that no token has.
pub(super) fn token(headers: &HeaderMap) -> Result<Option<HeaderToken<'_>>, CredentialsHeaderError> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(CredentialsHeaderError::Twice);
    }
    let text = value.to_str().map_err(|_| CredentialsHeaderError::Malformed)?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    let scheme = match scheme {
        scheme if scheme.eq_ignore_ascii_case("bearer") => TokenScheme::Bearer,
        scheme if scheme.eq_ignore_ascii_case("dpop") => TokenScheme::Dpop,
        _ => return Ok(None),
    };
    Ok(Some(HeaderToken { scheme, token: token.trim_matches(' ') }))
}

/// The scheme of a request's token; `Bearer` if there is not exactly one token.
pub(super) fn scheme(headers: &HeaderMap) -> TokenScheme {
    token(headers).ok().flatten().map_or(TokenScheme::Bearer, |token| token.scheme)
}

/// Returns the proof of a request; `None` unless there is exactly one (RFC 9449, 4.3).
pub(super) fn proof(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(DPOP).iter();
    let proof = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(proof)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, lines: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name.clone(), line.parse().unwrap());
        }
        headers
    }

    fn read(lines: &[&'static str]) -> Result<Option<(TokenScheme, String)>, CredentialsHeaderError> {
        let headers = headers(header::AUTHORIZATION, lines);
        token(&headers).map(|read| read.map(|read| (read.scheme, read.token.to_owned())))
    }

    #[test]
    fn one_token_is_read_with_its_scheme() {
        assert_eq!(read(&[]), Ok(None));
        for good in ["Bearer abc", "bearer abc", "BEARER  abc "] {
            assert_eq!(read(&[good]), Ok(Some((TokenScheme::Bearer, "abc".to_owned()))), "{good}");
        }
        for good in ["DPoP abc", "dpop abc", "DPOP  abc "] {
            assert_eq!(read(&[good]), Ok(Some((TokenScheme::Dpop, "abc".to_owned()))), "{good}");
        }
        assert_eq!(read(&["Basic dXNlcg=="]), Ok(None));
        assert_eq!(read(&["Bearerabc"]), Ok(None));
        // An empty token is one that `access` rejects.
        assert_eq!(read(&["Bearer"]), Ok(Some((TokenScheme::Bearer, String::new()))));
        assert_eq!(read(&["Bearer a b"]), Ok(Some((TokenScheme::Bearer, "a b".to_owned()))));
    }

    #[test]
    fn two_tokens_are_malformed() {
        assert_eq!(read(&["Bearer a", "Bearer b"]), Err(CredentialsHeaderError::Twice));
        assert_eq!(read(&["DPoP a", "Bearer a"]), Err(CredentialsHeaderError::Twice));
        assert_eq!(scheme(&headers(header::AUTHORIZATION, &["DPoP a", "DPoP a"])), TokenScheme::Bearer);
        assert_eq!(scheme(&headers(header::AUTHORIZATION, &["DPoP a"])), TokenScheme::Dpop);
    }

    #[test]
    fn there_is_one_proof_or_none() {
        assert_eq!(proof(&headers(DPOP, &[])), None);
        assert_eq!(proof(&headers(DPOP, &["a.b.c"])), Some("a.b.c"));
        assert_eq!(proof(&headers(DPOP, &["a.b.c", "a.b.c"])), None);
    }
}
