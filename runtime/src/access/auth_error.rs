//! Why a request is not authenticated.

use super::oauth::TokenError;

/// Why a request is not authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// No credentials.
    #[error("this server needs an access token; send `Authorization: Bearer TOKEN`")]
    Missing,
    /// A token of the configuration that has expired.
    #[error("the token or the certificate has expired; ask the operator for another")]
    Expired,
    /// A token that nobody here issued, or one that an issuer's rules exclude.
    #[error("{0}")]
    Token(#[from] TokenError),
}
