//! Access: who calls, and what that caller may use.
//!
//! The transport authenticates every request here, before anything of its body is read, and passes the
//! [`Principal`] on as the caller; no layer below sees a token. This layer knows credentials, not where they stood: it
//! knows no header, no status code and no MCP.

mod auth_counts;
mod auth_error;
mod auth_failures;
mod authenticator;
mod client_network;
mod oauth;
pub mod policy;
mod principal;
mod quota;
mod static_tokens;

pub use auth_error::AuthError;
pub use authenticator::{Authenticator, ClientCertificate, Credentials};
pub use client_network::network_of_client;
#[doc(hidden)]
pub use oauth::fuzzing;
pub use oauth::{DpopRequest, ProofError, TokenBinding, TokenError};
pub use principal::{AuthenticatedCaller, Principal, PrincipalKind};
pub use quota::{CallCharge, OverQuota, QuotaCaller, Quotas, RoleQuota, TokenReservation};
