//! Why a request is not authenticated.

use super::oauth::TokenError;

/// Why a request is not authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The request has no credentials, and this caller needs some.
    #[error("this server needs an access token; send `Authorization: Bearer TOKEN`")]
    Missing,
    /// A token of the configuration, or a client certificate, has expired.
    #[error("the token or the certificate has expired; ask the operator for another")]
    Expired,
    /// An access token was refused.
    #[error("{0}")]
    Token(#[from] TokenError),
}
