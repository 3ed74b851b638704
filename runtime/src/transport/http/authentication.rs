//! Authenticates a request: reads its credentials, and writes the response to credentials that are missing or not
//! valid.
//!
//! A rejected request is answered before anything of its body is read. Whoever gets in is a
//! [`Principal`](crate::access::Principal) from here on; nothing below sees a token.

use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::authorization::bearer_token;
use super::challenge::{CredentialsFault, challenge};
use super::response::NeededScopes;
use crate::access::{AuthError, Authenticator, ClientCertificate, Credentials, Principal, TokenError};
use crate::mcp::Caller;

/// The principal of a request; `None`: it has no credentials and needs none.
///
/// # Errors
/// With the response to credentials that are missing or not valid.
pub(super) async fn authenticate(
    authenticator: &Authenticator,
    parts: &Parts,
    caller: &Caller,
    is_loopback: bool,
) -> Result<Option<Arc<Principal>>, Response> {
    let certificate = parts.extensions.get::<Arc<ClientCertificate>>().map(AsRef::as_ref);
    let address = match caller {
        Caller::Address(address) => Some(*address),
        _ => None,
    };
    let token = bearer_token(&parts.headers).map_err(|error| {
        authenticator.reject_malformed(address);
        let why = error.to_string();
        rejection(authenticator, parts, CredentialsFault::Malformed(&why), &why)
    })?;
    let authenticated =
        authenticator.authenticate(Credentials { token, certificate, is_loopback }, address).await;
    authenticated.map_err(|error| unauthenticated(authenticator, parts, &error))
}

/// Adds the challenge to a response that says which scopes are needed. Whoever has no token at all needs one first.
pub(super) fn challenge_for_scopes(
    authenticator: &Authenticator,
    parts: &Parts,
    has_principal: bool,
    response: &mut Response,
) {
    let Some(NeededScopes(scopes)) = response.extensions_mut().remove() else { return };
    let Some(auth) = authenticator.config() else { return };
    if !has_principal {
        *response.status_mut() = StatusCode::UNAUTHORIZED;
    }
    let challenge = challenge(&auth, parts.uri.path(), CredentialsFault::InsufficientScope(&scopes));
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
}

fn unauthenticated(authenticator: &Authenticator, parts: &Parts, error: &AuthError) -> Response {
    let text = error.to_string();
    let fault = match error {
        AuthError::Missing => CredentialsFault::Missing,
        AuthError::Expired => CredentialsFault::InvalidToken("the token has expired"),
        AuthError::Token(error @ TokenError::Unavailable { retry_after }) => {
            let seconds = retry_after.as_secs().max(1).to_string();
            let why = format!("{}\n", error.description());
            return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, seconds)], why).into_response();
        }
        AuthError::Token(error @ TokenError::Malformed) => CredentialsFault::Malformed(error.description()),
        AuthError::Token(error) => CredentialsFault::InvalidToken(error.description()),
    };
    // What the audit says of a token may tell a stranger about the configuration.
    let text = if let AuthError::Token(error) = error { error.description() } else { &text };
    rejection(authenticator, parts, fault, text)
}

fn rejection(
    authenticator: &Authenticator,
    parts: &Parts,
    fault: CredentialsFault<'_>,
    text: &str,
) -> Response {
    let mut response = (fault.status(), format!("{text}\n")).into_response();
    if let Some(auth) = authenticator.config() {
        let challenge = challenge(&auth, parts.uri.path(), fault);
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}
