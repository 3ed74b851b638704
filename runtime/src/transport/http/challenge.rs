//! The header `WWW-Authenticate`: tells a client how to get the right token (RFC 6750, RFC 9728), and how to send it
//! (RFC 9449).
//!
//! A challenge names the metadata document from which the client learns the authorization server, and the scopes to
//! request. It says in this server's own words what is wrong with a token, and repeats nothing of the token.

use axum::http::{HeaderValue, StatusCode};

use super::credentials_header::TokenScheme;
use super::resource_metadata::{advertised, document_url};
use crate::config::{AuthConfig, JwtAlgorithm};

/// What is wrong with the credentials of a request. The texts become `error_description`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CredentialsFault<'f> {
    /// There are no credentials. The challenge then names no error (RFC 6750, 3.1).
    Missing,
    /// There are no credentials, and the operation needs these scopes. The challenge names them and no error.
    MissingForScopes(&'f [Box<str>]),
    /// The credentials cannot be parsed, for example two `Authorization` headers.
    Malformed(&'f str),
    /// The token is invalid.
    InvalidToken(&'f str),
    /// A token that is bound to a key was sent without a proof, or a token that must be bound is not.
    UnboundUse(&'f str),
    /// The proof of the client's key is invalid.
    InvalidProof(&'f str),
    /// The token is valid, but the operation needs these scopes. All needed scopes are listed, including those that the
    /// token has, because the client requests a new token with exactly the listed scopes.
    InsufficientScope(&'f [Box<str>]),
}

impl CredentialsFault<'_> {
    /// The status of the response.
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Missing
            | Self::MissingForScopes(_)
            | Self::InvalidToken(_)
            | Self::UnboundUse(_)
            | Self::InvalidProof(_) => StatusCode::UNAUTHORIZED,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::InsufficientScope(_) => StatusCode::FORBIDDEN,
        }
    }

    /// Whether the client must use the scheme `DPoP`, regardless of the scheme it has used.
    fn needs_dpop(self) -> bool {
        matches!(self, Self::UnboundUse(_) | Self::InvalidProof(_))
    }
}

/// Makes the challenge for a request with the path `requested` whose token was sent with `scheme`.
pub(super) fn challenge(
    auth: &AuthConfig,
    requested: &str,
    scheme: TokenScheme,
    fault: CredentialsFault<'_>,
) -> HeaderValue {
    let is_dpop = scheme == TokenScheme::Dpop || auth.require_dpop || fault.needs_dpop();
    let (name, algorithms) = match is_dpop {
        true => ("DPoP", Some(JwtAlgorithm::names().join(" "))),
        false => ("Bearer", None),
    };
    let mut text = name.to_owned();
    let (error, description) = match fault {
        CredentialsFault::Missing | CredentialsFault::MissingForScopes(_) => (None, None),
        CredentialsFault::Malformed(why) => (Some("invalid_request"), Some(why)),
        CredentialsFault::InvalidToken(why) | CredentialsFault::UnboundUse(why) => {
            (Some("invalid_token"), Some(why))
        }
        CredentialsFault::InvalidProof(why) => (Some("invalid_dpop_proof"), Some(why)),
        CredentialsFault::InsufficientScope(_) => {
            (Some("insufficient_scope"), Some("the operation needs more scopes"))
        }
    };
    let scopes: Vec<&str> = match fault {
        CredentialsFault::MissingForScopes(scopes) | CredentialsFault::InsufficientScope(scopes) => {
            advertised(scopes.iter().map(|scope| &**scope)).collect()
        }
        _ => advertised(auth.scopes.iter().map(String::as_str)).collect(),
    };
    let scopes = (!scopes.is_empty()).then(|| scopes.join(" "));
    let metadata = document_url(auth, requested);
    let parameters = [
        ("error", error),
        ("error_description", description),
        ("scope", scopes.as_deref()),
        ("resource_metadata", metadata.as_deref()),
        ("algs", algorithms.as_deref()),
    ];
    for (at, (name, value)) in
        parameters.iter().filter_map(|(name, value)| Some((name, (*value)?))).enumerate()
    {
        text.push_str(if at == 0 { " " } else { ", " });
        text.push_str(name);
        text.push('=');
        push_quoted(&mut text, value);
    }
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(name))
}

/// Writes a quoted string (RFC 9110, 5.6.4). Characters that are not allowed in a header become question marks.
fn push_quoted(text: &mut String, value: &str) {
    text.push('"');
    for character in value.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            ' '..='~' => text.push(character),
            _ => text.push('?'),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::super::resource_metadata::tests::{auth, prefixed};
    use super::*;

    fn written(auth: &AuthConfig, requested: &str, fault: CredentialsFault<'_>) -> String {
        sent(auth, requested, TokenScheme::Bearer, fault)
    }

    fn sent(auth: &AuthConfig, requested: &str, scheme: TokenScheme, fault: CredentialsFault<'_>) -> String {
        challenge(auth, requested, scheme, fault).to_str().unwrap().to_owned()
    }

    #[test]
    fn a_client_learns_that_it_needs_a_proof() {
        let algs = "algs=\"RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 EdDSA Ed25519\"";
        let bare = auth("");
        let unbound = CredentialsFault::UnboundUse("bound");
        let expected = format!("DPoP error=\"invalid_token\", error_description=\"bound\", {algs}");
        assert_eq!(written(&bare, "/mcp", unbound), expected);
        let expected = format!("DPoP error=\"invalid_dpop_proof\", error_description=\"old\", {algs}");
        assert_eq!(sent(&bare, "/mcp", TokenScheme::Dpop, CredentialsFault::InvalidProof("old")), expected);
        let expired = sent(&bare, "/mcp", TokenScheme::Dpop, CredentialsFault::InvalidToken("expired"));
        assert_eq!(expired, format!("DPoP error=\"invalid_token\", error_description=\"expired\", {algs}"));
        let required = AuthConfig { require_dpop: true, ..bare };
        assert_eq!(written(&required, "/mcp", CredentialsFault::Missing), format!("DPoP {algs}"));
    }

    #[test]
    fn a_client_learns_where_to_get_a_token_and_with_which_scopes() {
        let auth = prefixed();
        let document = "https://tools.example.com/.well-known/oauth-protected-resource/team";
        assert_eq!(
            written(&auth, "/mcp", CredentialsFault::Missing),
            format!("Bearer scope=\"tools\", resource_metadata=\"{document}/mcp\"")
        );
        assert_eq!(
            written(&auth, "/messages", CredentialsFault::InvalidToken("the token has expired")),
            format!(
                "Bearer error=\"invalid_token\", error_description=\"the token has expired\", \
                 scope=\"tools\", resource_metadata=\"{document}/sse\""
            )
        );
        let scopes: [Box<str>; 3] = ["tools".into(), "tools:write".into(), "offline_access".into()];
        let step_up = written(&auth, "/mcp", CredentialsFault::InsufficientScope(&scopes));
        assert!(step_up.starts_with("Bearer error=\"insufficient_scope\", "), "{step_up}");
        assert!(step_up.contains(", scope=\"tools tools:write\", "), "{step_up}");
        assert!(step_up.ends_with(&format!("resource_metadata=\"{document}/mcp\"")), "{step_up}");
        assert_eq!(
            written(&auth, "/mcp", CredentialsFault::MissingForScopes(&scopes)),
            format!("Bearer scope=\"tools tools:write\", resource_metadata=\"{document}/mcp\"")
        );
    }

    #[test]
    fn without_an_authorization_server_it_says_only_what_is_known() {
        let scoped = auth("scopes = [\"tools\"]\n");
        assert_eq!(written(&scoped, "/mcp", CredentialsFault::Missing), "Bearer scope=\"tools\"");
        let bare = auth("");
        assert_eq!(written(&bare, "/mcp", CredentialsFault::Missing), "Bearer");
        assert_eq!(
            written(&bare, "/mcp", CredentialsFault::Malformed("two headers")),
            "Bearer error=\"invalid_request\", error_description=\"two headers\""
        );
    }

    #[test]
    fn no_text_can_leave_its_quotes() {
        let fault = CredentialsFault::InvalidToken("a\", scope=\"all\\\r\nX: y\u{e9}");
        assert_eq!(
            written(&auth(""), "/mcp", fault),
            "Bearer error=\"invalid_token\", error_description=\"a\\\", scope=\\\"all\\\\??X: y?\""
        );
    }

    #[test]
    fn each_fault_has_its_status() {
        let status = |fault: CredentialsFault<'_>| fault.status().as_u16();
        assert_eq!(status(CredentialsFault::Missing), 401);
        assert_eq!(status(CredentialsFault::MissingForScopes(&[])), 401);
        assert_eq!(status(CredentialsFault::InvalidToken("")), 401);
        assert_eq!(status(CredentialsFault::UnboundUse("")), 401);
        assert_eq!(status(CredentialsFault::InvalidProof("")), 401);
        assert_eq!(status(CredentialsFault::Malformed("")), 400);
        assert_eq!(status(CredentialsFault::InsufficientScope(&[])), 403);
    }
}
