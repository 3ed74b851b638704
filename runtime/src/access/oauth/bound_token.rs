//! What a token is bound to (`cnf`, RFC 7800), and whether the client proves it: a key (DPoP, RFC 9449) or a client
//! certificate (RFC 8705).
//!
//! Only [`BoundPrincipal::for_client`] gives a principal away, and it needs all that the client showed. So no path
//! through the caches can forget a binding, and a token that is bound to something unknown has no principal at all.

use std::sync::Arc;
use std::time::SystemTime;

use data_encoding::BASE64URL_NOPAD;
use serde_json::Value;

use super::dpop::{DpopRequest, ProofVerifier};
use super::error::TokenError;
use super::expiring_map::Digest;
use crate::access::principal::Principal;

/// To what a token is bound. Everything in it must be proven.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenBinding {
    /// The thumbprint of a key.
    key: Option<Digest>,
    /// The SHA-256 of a client certificate.
    certificate: Option<Digest>,
}

impl TokenBinding {
    /// Reads `cnf`. A member that is unknown here could not be proven.
    pub(super) fn read(confirmation: Option<&Value>) -> Result<Self, TokenError> {
        let Some(confirmation) = confirmation else { return Ok(Self::default()) };
        let members = confirmation.as_object().ok_or(TokenError::UnprovenBinding)?;
        let mut binding = Self::default();
        for (name, value) in members {
            let place = match name.as_str() {
                "jkt" => &mut binding.key,
                "x5t#S256" => &mut binding.certificate,
                _ => return Err(TokenError::UnprovenBinding),
            };
            *place = Some(digest(value).ok_or(TokenError::UnprovenBinding)?);
        }
        if binding == Self::default() { Err(TokenError::UnprovenBinding) } else { Ok(binding) }
    }

    /// Whether the token is bound to a key.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Whether the token is bound to a client certificate.
    #[must_use]
    pub fn has_certificate(&self) -> bool {
        self.certificate.is_some()
    }
}

fn digest(value: &Value) -> Option<Digest> {
    BASE64URL_NOPAD.decode(value.as_str()?.as_bytes()).ok()?.try_into().ok()
}

/// What a client shows with a request.
#[derive(Clone, Copy)]
pub(crate) struct ClientProofs<'p> {
    /// The SHA-256 of the token, which a proof names.
    pub(crate) token: &'p Digest,
    /// The SHA-256 of the certificate of the connection.
    pub(crate) certificate: Option<&'p Digest>,
    /// With the scheme `DPoP`: the proof and its request. `None`: the scheme is `Bearer`.
    pub(crate) dpop: Option<DpopRequest<'p>>,
}

/// A principal, and what its token is bound to.
#[derive(Clone)]
pub(crate) struct BoundPrincipal {
    principal: Arc<Principal>,
    binding: TokenBinding,
}

impl BoundPrincipal {
    pub(crate) fn new(principal: Arc<Principal>, binding: TokenBinding) -> Self {
        Self { principal, binding }
    }

    /// The principal, if the client proves what the token is bound to.
    pub(crate) fn for_client(
        self,
        proofs: &ClientProofs<'_>,
        verifier: &ProofVerifier,
        now: SystemTime,
    ) -> Result<Arc<Principal>, TokenError> {
        let TokenBinding { key, certificate } = &self.binding;
        if certificate.is_some() && certificate.as_ref() != proofs.certificate {
            return Err(TokenError::UnprovenBinding);
        }
        match (key, proofs.dpop) {
            (None, None) => {}
            (Some(key), Some(request)) => {
                verifier.verify(request, proofs.token, key, &self.principal.id, now)?;
            }
            (Some(_), None) => return Err(TokenError::MissingProof),
            (None, Some(_)) => return Err(TokenError::NotBound),
        }
        Ok(self.principal)
    }

    /// Whose token it is and what it is bound to, for `plugport token check`, which authenticates nobody.
    pub(crate) fn into_parts(self) -> (Arc<Principal>, TokenBinding) {
        (self.principal, self.binding)
    }

    /// Whose token it is, before anything is proven.
    pub(crate) fn principal(&self) -> &Principal {
        &self.principal
    }

    /// When the token expires.
    pub(super) fn expires(&self) -> Option<SystemTime> {
        self.principal.expires
    }
}
