//! The tokens of `[[auth.tokens]]`, found by their digest.
//!
//! Tokens are looked up by their SHA-256, so the duration of a look-up reveals nothing about the tokens.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use super::principal::{Principal, PrincipalKind};
use crate::config::StaticToken;

/// Tokens and their principals by the digest of the token.
#[derive(Debug, Default)]
pub(super) struct StaticTokens(HashMap<[u8; 32], (StaticToken, Arc<Principal>)>);

impl StaticTokens {
    /// Prepares these tokens. A token that has not changed since `previous` keeps its principal.
    pub(super) fn new(tokens: &[StaticToken], previous: Option<&Self>) -> Self {
        let kept = |token: &StaticToken| {
            let (before, principal) = previous?.0.get(&token.sha256)?;
            (before == token).then(|| Arc::clone(principal))
        };
        let entry = |token: &StaticToken| {
            let principal = kept(token).unwrap_or_else(|| Arc::new(principal(token)));
            (token.sha256, (token.clone(), principal))
        };
        Self(tokens.iter().map(entry).collect())
    }

    /// Whether this principal belongs to one of the tokens, and not to a token that was removed or changed.
    pub(super) fn holds(&self, principal: &Arc<Principal>) -> bool {
        self.0.values().any(|(_, held)| Arc::ptr_eq(held, principal))
    }

    /// Returns the principal of a token, even if the token has expired.
    pub(super) fn find(&self, digest: &[u8; 32]) -> Option<&Arc<Principal>> {
        self.0.get(digest).map(|(_, principal)| principal)
    }
}

/// The principal of a token.
pub(super) fn principal(token: &StaticToken) -> Principal {
    let boxed = |names: &[String]| names.iter().map(|name| name.as_str().into()).collect();
    Principal {
        id: format!("token:{}", token.name).into(),
        kind: PrincipalKind::Token,
        issuer: None,
        subject: token.name.as_str().into(),
        client: None,
        scopes: boxed(&token.scopes),
        groups: boxed(&token.groups),
        is_dpop_bound: false,
        expires: token.until,
    }
}

/// The digest under which a token is looked up.
pub(super) fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Whether the principal's credentials are valid now.
pub(super) fn is_valid(principal: &Principal) -> bool {
    principal.expires.is_none() || principal.is_valid_at(SystemTime::now())
}
