//! Access tokens of OAuth authorization servers: from a token to a principal.
//!
//! This server is a resource server (OAuth 2.1, RFC 9068, RFC 7662): it issues no tokens, and accepts only those of the
//! configured issuers. It verifies a JWT itself, with the keys of the issuer; it introspects any other token. Nothing
//! is fetched before a token needs it, so the server starts even if its issuers are down.
//!
//! | Module | What it does |
//! |---|---|
//! | `jwt`, `claims` | the rules for a token: header and signature, then claims |
//! | `bound_token`, `dpop` | what a token is bound to, and the client's proofs |
//! | `jwks`, `discovery`, `introspection` | what issuers publish and say |
//! | `introspection_shares` | how much of the introspection each client may use |
//! | `remote_document`, `fetch` | when something is fetched, and how |
//! | `expiring_map`, `strict_json`, `error`, `proof_error` | what all of these need |
//!
//! The only state is what was learned about tokens and issuers. All of it is bounded, and a changed configuration
//! replaces all of it. Tokens are neither stored nor logged: the caches have a token's SHA-256 as their key.

mod bound_token;
mod claims;
mod discovery;
mod dpop;
mod error;
mod expiring_map;
mod fetch;
pub mod fuzzing;
mod introspection;
mod introspection_shares;
mod jwks;
mod jwt;
mod proof_error;
mod remote_document;
mod strict_json;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub use bound_token::TokenBinding;
pub(crate) use bound_token::{BoundPrincipal, ClientProofs};
pub use dpop::DpopRequest;
pub(crate) use dpop::ProofVerifier;
pub use error::TokenError;
pub use proof_error::ProofError;

use super::client_network::ClientNetwork;
use super::principal::Principal;
use crate::config::{AuthConfig, IssuerConfig};
use claims::ClaimSource;
use discovery::Discovery;
use expiring_map::{Digest, ExpiringMap};
use fetch::{Fetch, HttpFetch};
use introspection::{Introspection, RETRY_AFTER, TIMEOUT, TokenLocks};
use introspection_shares::IntrospectionShares;
use jwks::IssuerKeys;
use jwt::Jwt;
use remote_document::Unavailable;

/// Maximum length of a token, in bytes.
const MAX_TOKEN: usize = 16 << 10;

/// Maximum number of cached tokens: this many valid ones, and as many invalid ones.
const MAX_CACHED: usize = 10_000;

/// Maximum number of issuers that are asked about a token that does not name its issuer.
const MAX_ASKED: usize = 4;

/// How long an introspection is cached. A token that the issuer revokes is accepted until then.
const CACHE_INTROSPECTED: Duration = Duration::from_secs(60);

/// How long a verified JWT is cached. If an issuer withdraws a key, tokens signed with it are accepted for this long
/// after the keys were fetched again; the issuer's `Cache-Control` decides when that is.
const CACHE_VERIFIED: Duration = Duration::from_secs(5 * 60);

/// How long the rejection of a token is cached. It is short, because the same token may become valid soon.
const CACHE_REJECTED: Duration = Duration::from_secs(5);

/// The authorization servers whose tokens are accepted.
pub(crate) struct Issuers {
    issuers: Vec<Issuer>,
    principals: ExpiringMap<BoundPrincipal>,
    rejected: ExpiringMap<TokenError>,
    token_locks: TokenLocks,
    shares: IntrospectionShares,
}

/// One authorization server.
#[derive(Debug)]
struct Issuer {
    id: Arc<str>,
    config: IssuerConfig,
    keys: Option<IssuerKeys>,
    introspection: Option<Introspection>,
}

impl Issuers {
    /// Prepares the issuers of a configuration. Reads key files, and sends no requests.
    pub(crate) fn new(config: &AuthConfig) -> Self {
        let fetcher: Arc<dyn Fetch> = Arc::new(HttpFetch);
        Self::with_fetcher(config, &fetcher)
    }

    fn with_fetcher(config: &AuthConfig, fetcher: &Arc<dyn Fetch>) -> Self {
        Self {
            issuers: config.issuers.iter().map(|config| Issuer::new(config, fetcher)).collect(),
            principals: ExpiringMap::new(MAX_CACHED),
            rejected: ExpiringMap::new(MAX_CACHED),
            token_locks: TokenLocks::default(),
            shares: IntrospectionShares::default(),
        }
    }

    /// Returns the principal of a token, and what the token is bound to. `digest` is the SHA-256 of the token; `client`
    /// is the network that the request comes from.
    pub(crate) async fn authenticate(
        &self,
        token: &str,
        digest: &Digest,
        client: ClientNetwork,
        now: SystemTime,
    ) -> Result<BoundPrincipal, TokenError> {
        if let Some(known) = self.cached(digest, now) {
            return known;
        }
        match Jwt::parse(token)? {
            Some(jwt) => self.read_jwt(&jwt, (token, client), digest, now).await,
            None => {
                let asked =
                    self.issuers.iter().filter(|issuer| issuer.introspection.is_some()).take(MAX_ASKED);
                self.introspect(&asked.collect::<Vec<_>>(), (token, client), digest, now).await
            }
        }
    }

    /// Whether this principal belongs to one of these issuers. The principal of an issuer that was removed, or from
    /// before the issuers were configured anew, does not.
    pub(crate) fn holds(&self, principal: &Principal) -> bool {
        let is_its_issuer =
            |known: &Arc<str>| self.issuers.iter().any(|issuer| Arc::ptr_eq(&issuer.id, known));
        principal.issuer.as_ref().is_some_and(is_its_issuer)
    }

    /// Returns what the caches know about a token.
    fn cached(&self, digest: &Digest, now: SystemTime) -> Option<Result<BoundPrincipal, TokenError>> {
        let known = self.principals.get(digest, now).map(Ok);
        known.or_else(|| self.rejected.get(digest, now).map(Err))
    }

    /// Verifies a JWT with the keys of the issuer that it names; an issuer without keys introspects it.
    async fn read_jwt(
        &self,
        jwt: &Jwt<'_>,
        sent: (&str, ClientNetwork),
        digest: &Digest,
        now: SystemTime,
    ) -> Result<BoundPrincipal, TokenError> {
        let named = jwt.issuer()?;
        let issuer =
            self.issuers.iter().find(|issuer| &*issuer.id == named).ok_or(TokenError::UnknownIssuer)?;
        let Some(keys) = &issuer.keys else { return self.introspect(&[issuer], sent, digest, now).await };
        let bound = issuer.verify(jwt, keys, now).await?;
        // A JWT always expires. It is verified again after a while, because its key may have been withdrawn.
        let until = bound.expires().unwrap_or(now).min(now + CACHE_VERIFIED);
        self.principals.insert(*digest, bound.clone(), until);
        Ok(bound)
    }

    /// Introspects a token at one issuer after another, until an issuer knows it.
    async fn introspect(
        &self,
        issuers: &[&Issuer],
        (token, client): (&str, ClientNetwork),
        digest: &Digest,
        now: SystemTime,
    ) -> Result<BoundPrincipal, TokenError> {
        let unavailable = TokenError::Unavailable { retry_after: RETRY_AFTER };
        let _lock = self.token_locks.lock(*digest).await.ok_or(unavailable)?;
        if let Some(known) = self.cached(digest, now) {
            return known;
        }
        let permit = self.shares.acquire(client, TIMEOUT).await.ok_or(unavailable)?;
        let mut error = TokenError::Unknown;
        for issuer in issuers {
            match issuer.introspect(token, now).await {
                Ok(bound) => {
                    let until = bound
                        .expires()
                        .map_or(now + CACHE_INTROSPECTED, |end| end.min(now + CACHE_INTROSPECTED));
                    self.principals.insert(*digest, bound.clone(), until);
                    permit.was_needed();
                    return Ok(bound);
                }
                // The issuer that could not be reached may know the token.
                Err(TokenError::Inactive) if error == unavailable => {}
                Err(TokenError::Inactive) => error = TokenError::Inactive,
                Err(TokenError::Unavailable { .. }) => error = unavailable,
                // This issuer knows the token, but the token is not valid for this server.
                Err(fault) => {
                    error = fault;
                    break;
                }
            }
        }
        if error != unavailable && error != TokenError::Unknown {
            self.rejected.insert(*digest, error, now + CACHE_REJECTED);
        } else {
            permit.was_needed();
        }
        Err(error)
    }
}

impl fmt::Debug for Issuers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuers").field("issuers", &self.issuers).finish_non_exhaustive()
    }
}

impl Issuer {
    fn new(config: &IssuerConfig, fetcher: &Arc<dyn Fetch>) -> Self {
        let id: Arc<str> = config.issuer.as_str().into();
        let discovery = Arc::new(Discovery::new(&id, fetcher));
        let keys = IssuerKeys::new(&id, &config.jwks, &discovery, fetcher);
        let client = config.introspection.clone();
        let introspection = client.map(|client| Introspection::new(&id, client, &discovery, fetcher));
        Self { id, config: config.clone(), keys, introspection }
    }

    /// Verifies a token of this issuer. The header is checked first, so that only a token with an acceptable header
    /// makes the server fetch keys.
    async fn verify(
        &self,
        jwt: &Jwt<'_>,
        keys: &IssuerKeys,
        now: SystemTime,
    ) -> Result<BoundPrincipal, TokenError> {
        let header = jwt.check_header(&self.config)?;
        let issued = claims::unverified_issue_time(jwt.unverified_claims(), now);
        let found = keys.find(header.kid, header.algorithm, issued, now).await;
        let keys = found.map_err(|Unavailable { retry_after, is_away }| match is_away {
            true => TokenError::Unavailable { retry_after },
            false => TokenError::KeyNotFetched { retry_after },
        })?;
        let claims = jwt.verify(header, &keys)?;
        tracing::trace!(issuer = &*self.id, "verified the signature of a token");
        claims::principal(claims, ClaimSource::Jwt, &self.config, &self.id, now)
    }

    async fn introspect(&self, token: &str, now: SystemTime) -> Result<BoundPrincipal, TokenError> {
        let introspection = self.introspection.as_ref().ok_or(TokenError::Unknown)?;
        let claims = introspection.claims(token, now).await?;
        claims::principal(&claims, ClaimSource::Introspection, &self.config, &self.id, now)
    }
}

/// Checks the characters of a token (`b64token` of RFC 6750, 2.1, and `token68` of RFC 9449, 7.1) and its length.
pub(crate) fn check_syntax(token: &str) -> Result<(), TokenError> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    let letters = token.trim_end_matches('=');
    if token.len() > MAX_TOKEN {
        return Err(TokenError::TooLong);
    }
    if letters.is_empty() || !letters.bytes().all(is_letter) {
        return Err(TokenError::Malformed);
    }
    Ok(())
}
