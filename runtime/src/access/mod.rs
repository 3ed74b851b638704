//! Access: who calls, and what that caller may use.
//!
//! The transport authenticates every request here, before anything of its body is read, and passes the
//! [`Principal`] on as the caller; no layer below sees a token. This layer knows credentials, not where they stood: it
//! knows no header, no status code and no MCP.

mod auth_counts;
mod auth_error;
mod auth_failures;
mod authenticator;
mod oauth;
pub mod policy;
mod principal;
mod static_tokens;

pub use auth_error::AuthError;
pub use authenticator::{Authenticator, ClientCertificate, Credentials};
pub use oauth::TokenError;
#[doc(hidden)]
pub use oauth::fuzzing;
pub use principal::{Authenticated, Principal, PrincipalKind};
