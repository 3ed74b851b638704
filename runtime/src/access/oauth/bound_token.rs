//! What a token is bound to (`cnf`, RFC 7800), and whether the client proves that it has it: a key (DPoP, RFC 9449) or
//! a client certificate (RFC 8705).
//!
//! Only [`BoundPrincipal::for_client`] returns the principal for a request, and it needs all the proofs of the client.
//! So no path through the caches can skip the check. A token that is bound to something unknown gets no principal at
//! all.

use std::sync::Arc;
use std::time::SystemTime;

use data_encoding::BASE64URL_NOPAD;
use serde_json::Value;

use super::dpop::{DpopRequest, ProofVerifier};
use super::error::TokenError;
use super::expiring_map::Digest;
use crate::access::principal::Principal;

/// What a token is bound to. The client must prove each of its members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenBinding {
    /// The thumbprint of the client's key.
    key: Option<Digest>,
    /// The SHA-256 of a client certificate.
    certificate: Option<Digest>,
}

impl TokenBinding {
    /// Reads `cnf`. An unknown member is an error, because this server could not verify its proof.
    pub(super) fn read(confirmation: Option<&Value>) -> Result<Self, TokenError> {
        let Some(confirmation) = confirmation else { return Ok(Self::default()) };
        let members = confirmation.as_object().ok_or(TokenError::UnprovenBinding)?;
        let mut binding = Self::default();
        for (name, value) in members {
            let slot = match name.as_str() {
                "jkt" => &mut binding.key,
                "x5t#S256" => &mut binding.certificate,
                _ => return Err(TokenError::UnprovenBinding),
            };
            *slot = Some(digest(value).ok_or(TokenError::UnprovenBinding)?);
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

/// The proofs that a client sends with a request.
#[derive(Clone, Copy)]
pub(crate) struct ClientProofs<'p> {
    /// The SHA-256 of the token, which a DPoP proof contains.
    pub(crate) token: &'p Digest,
    /// The SHA-256 of the client certificate of the connection.
    pub(crate) certificate: Option<&'p Digest>,
    /// With the scheme `DPoP`: the proof, and the request it must name. `None` with the scheme `Bearer`.
    pub(crate) dpop: Option<DpopRequest<'p>>,
}

/// A principal, and what its token is bound to. Authentication is complete only when the client has proven the binding.
#[derive(Clone)]
pub(crate) struct BoundPrincipal {
    principal: Arc<Principal>,
    binding: TokenBinding,
}

impl BoundPrincipal {
    pub(crate) fn new(principal: Arc<Principal>, binding: TokenBinding) -> Self {
        Self { principal, binding }
    }

    /// Returns the principal if the client proves everything that the token is bound to.
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

    /// Returns the principal and the binding without any proof, for `plugport token check`, which authenticates no
    /// request.
    pub(crate) fn into_parts(self) -> (Arc<Principal>, TokenBinding) {
        (self.principal, self.binding)
    }

    /// The principal, whose binding is not proven yet.
    pub(crate) fn principal(&self) -> &Principal {
        &self.principal
    }

    /// When the token expires.
    pub(super) fn expires(&self) -> Option<SystemTime> {
        self.principal.expires
    }
}
