//! Access: who calls, and what that caller may use.
//!
//! The transport authenticates every request here before it reads the request's body, and passes the [`Principal`] on
//! as the caller; no layer below `transport` sees a token. This layer knows credentials but not in which header they
//! were: it knows no HTTP headers, no status codes and no MCP.

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
pub use quota::{CallCharge, QuotaCaller, QuotaError, Quotas, RoleQuota, TokenReservation};
