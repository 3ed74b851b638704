//! The principal: an authenticated caller.
//!
//! There is one type for all ways to authenticate, so that sessions, rates, stores and the audit compare callers only
//! by `id`. A principal never holds a token.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

/// How a principal was authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrincipalKind {
    /// By an access token of an authorization server (OAuth 2.1).
    OAuth,
    /// By a token of `[[auth.tokens]]`.
    Token,
    /// By a client certificate (TLS).
    Certificate,
}

/// An authenticated caller. Two principals are equal if their `id`s are equal: a person who comes with another token is
/// the same principal.
#[derive(Debug, Clone)]
pub struct Principal {
    /// `oauth:ISSUER#SUBJECT`, `token:NAME` or `cert:SUBJECT`. Guests and the audit see it.
    pub id: Arc<str>,
    /// How the principal was authenticated.
    pub kind: PrincipalKind,
    /// The issuer, if the principal was authenticated by an access token.
    pub issuer: Option<Arc<str>>,
    /// The subject: `sub` of an access token, the token's name, or the certificate's subject.
    pub subject: Arc<str>,
    /// The OAuth client that the access token was issued to.
    pub client: Option<Arc<str>>,
    /// The scopes of the token.
    pub scopes: Vec<Box<str>>,
    /// The groups or roles that the token or the configuration names.
    pub groups: Vec<Box<str>>,
    /// Whether the access token is bound to a key of the client (DPoP).
    pub is_dpop_bound: bool,
    /// When the credentials expire.
    pub expires: Option<SystemTime>,
}

impl Principal {
    /// Whether the credentials are still valid at `now`.
    #[must_use]
    pub fn is_valid_at(&self, now: SystemTime) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }

    /// The scopes in `required` that the token lacks.
    pub fn lacking<'s>(&self, required: &'s [Box<str>]) -> impl Iterator<Item = &'s str> {
        required.iter().filter(|scope| !self.scopes.contains(scope)).map(|scope| &**scope)
    }
}

/// A principal, and the address it calls from. Two are equal if their principals are equal, because an address may
/// change.
#[derive(Debug, Clone)]
pub struct AuthenticatedCaller {
    /// The principal.
    pub principal: Arc<Principal>,
    /// The address of the client, as the operator's proxies report it; `None` if it is unknown.
    pub address: Option<IpAddr>,
}

impl PartialEq for AuthenticatedCaller {
    fn eq(&self, other: &Self) -> bool {
        self.principal == other.principal
    }
}

impl Eq for AuthenticatedCaller {}

impl Hash for AuthenticatedCaller {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.principal.hash(state);
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Principal {}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}
