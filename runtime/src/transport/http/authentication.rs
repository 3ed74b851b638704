//! Authenticates a request: reads its credentials, and makes the response if they are missing or invalid.
//!
//! Such a response is sent before anything of the request's body is read. After authentication the caller is a
//! [`Principal`](crate::access::Principal), and no layer below sees a token.

use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::challenge::{CredentialsFault, challenge};
use super::credentials_header::{self, TokenScheme};
use super::response::NeededScopes;
use super::response_body::HttpResponse;
use super::target_uri::target_uris;
use super::tls::ConnectionCertificate;
use crate::access::{AuthError, Authenticator, Credentials, DpopRequest, Principal, TokenError};
use crate::mcp::Caller;

/// Seconds after which the replay cache may accept further proofs.
const PROOFS_RETRY_AFTER: u64 = 60;

/// Returns the principal of a request; `None` if the request has no credentials and needs none.
///
/// # Errors
/// When credentials are missing or invalid; the error is the response.
pub(super) async fn authenticate(
    authenticator: &Authenticator,
    parts: &Parts,
    caller: &Caller,
    is_loopback: bool,
) -> Result<Option<Arc<Principal>>, Response> {
    let certificate =
        parts.extensions.get::<ConnectionCertificate>().and_then(ConnectionCertificate::trusted);
    let address = match caller {
        Caller::Address(address) => Some(*address),
        _ => None,
    };
    let presented = credentials_header::token(&parts.headers).map_err(|error| {
        authenticator.reject_malformed(address);
        let why = error.to_string();
        rejection(authenticator, parts, CredentialsFault::Malformed(&why), &why)
    })?;
    let is_dpop = presented.is_some_and(|presented| presented.scheme == TokenScheme::Dpop);
    let auth = if is_dpop { authenticator.config() } else { None };
    let targets = auth.map(|auth| target_uris(&auth, parts.uri.path())).unwrap_or_default();
    let dpop = is_dpop.then(|| DpopRequest {
        proof: credentials_header::proof(&parts.headers),
        method: parts.method.as_str(),
        targets: &targets,
    });
    let token = presented.map(|presented| presented.token);
    let credentials = Credentials { token, dpop, certificate, is_loopback };
    tracing::trace!(?credentials, "read the credentials of a request");
    let authenticated = authenticator.authenticate(credentials, address).await;
    authenticated.map_err(|error| unauthenticated(authenticator, parts, &error))
}

/// If a response says that scopes are missing, adds the challenge for them. A caller without a token needs a token
/// first.
pub(super) fn challenge_for_scopes(
    authenticator: &Authenticator,
    parts: &Parts,
    has_principal: bool,
    response: &mut HttpResponse,
) {
    let Some(NeededScopes(scopes)) = response.extensions_mut().remove() else { return };
    let Some(auth) = authenticator.config() else { return };
    let fault = if has_principal {
        CredentialsFault::InsufficientScope(&scopes)
    } else {
        CredentialsFault::MissingForScopes(&scopes)
    };
    if !has_principal {
        *response.status_mut() = fault.status();
    }
    let scheme = credentials_header::scheme(&parts.headers);
    let challenge = challenge(&auth, parts.uri.path(), scheme, fault);
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
}

fn unauthenticated(authenticator: &Authenticator, parts: &Parts, error: &AuthError) -> Response {
    let text = error.to_string();
    let fault = match error {
        AuthError::Missing => CredentialsFault::Missing,
        AuthError::Expired => CredentialsFault::InvalidToken("the token has expired"),
        AuthError::Token(
            error @ (TokenError::Unavailable { retry_after } | TokenError::KeyNotFetched { retry_after }),
        ) => {
            return try_again(StatusCode::SERVICE_UNAVAILABLE, retry_after.as_secs(), error);
        }
        AuthError::Token(error @ TokenError::TooManyProofs) => {
            return try_again(StatusCode::TOO_MANY_REQUESTS, PROOFS_RETRY_AFTER, error);
        }
        AuthError::Token(TokenError::Proof(error)) => CredentialsFault::InvalidProof(error.description()),
        AuthError::Token(error @ (TokenError::MissingProof | TokenError::BindingRequired)) => {
            CredentialsFault::UnboundUse(error.description())
        }
        AuthError::Token(error @ TokenError::Malformed) => CredentialsFault::Malformed(error.description()),
        AuthError::Token(error) => CredentialsFault::InvalidToken(error.description()),
    };
    // The audit's text about a token may reveal the configuration, so the client gets only the description.
    let text = if let AuthError::Token(error) = error { error.description() } else { &text };
    rejection(authenticator, parts, fault, text)
}

fn try_again(status: StatusCode, seconds: u64, error: &TokenError) -> Response {
    let why = format!("{}\n", error.description());
    (status, [(header::RETRY_AFTER, seconds.max(1).to_string())], why).into_response()
}

fn rejection(
    authenticator: &Authenticator,
    parts: &Parts,
    fault: CredentialsFault<'_>,
    text: &str,
) -> Response {
    let mut response = (fault.status(), format!("{text}\n")).into_response();
    if let Some(auth) = authenticator.config() {
        let scheme = credentials_header::scheme(&parts.headers);
        let challenge = challenge(&auth, parts.uri.path(), scheme, fault);
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}
