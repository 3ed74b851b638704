//! Authenticates requests: makes a principal from the credentials of a request.
//!
//! One authenticator lives as long as the process. A changed `[auth]` replaces its rules at once, so the next request
//! with a removed token is refused.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwapOption;
use tokio::sync::watch;

use super::auth_counts::AuthCounts;
use super::auth_error::AuthError;
use super::auth_failures::AuthFailures;
use super::client_network::ClientNetwork;
use super::oauth::{
    self, BoundPrincipal, ClientProofs, DpopRequest, Issuers, ProofVerifier, TokenBinding, TokenError,
};
use super::principal::{Principal, PrincipalKind};
use super::static_tokens::{self, StaticTokens};
use crate::config::{AnonymousAccess, AuthConfig, TOKEN_PREFIX};
use crate::observe::Audit;

/// After how much time the holder of an access token without `exp` must show it again. Only its issuer knows when such
/// a token ends, and says so only when it is asked.
const WITHOUT_EXPIRY: Duration = Duration::from_secs(15 * 60);

/// The verified certificate of a TLS client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The name that the certificate is issued to: its first URI, DNS name or mail address, or else its common name.
    pub subject: String,
    /// The SHA-256 of the certificate, to which a token may be bound (RFC 8705).
    pub sha256: [u8; 32],
    /// When the certificate expires.
    pub not_after: SystemTime,
}

/// The credentials of a request, and where it comes from.
#[derive(Clone, Copy, Default)]
pub struct Credentials<'r> {
    /// The token of the header `Authorization`. Its scheme is `DPoP` if `dpop` is set, and otherwise `Bearer`.
    pub token: Option<&'r str>,
    /// With the scheme `DPoP`: the proof of the client's key, and what the proof must name.
    pub dpop: Option<DpopRequest<'r>>,
    /// The certificate of the connection.
    pub certificate: Option<&'r ClientCertificate>,
    /// Whether the client is certain to run on this machine.
    pub is_loopback: bool,
}

/// Omits the token and the proof, which must not appear in logs.
impl fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("has_token", &self.token.is_some())
            .field("has_proof", &self.dpop.is_some_and(|dpop| dpop.proof.is_some()))
            .field("has_certificate", &self.certificate.is_some())
            .finish_non_exhaustive()
    }
}

/// Authenticates requests. Without `[auth]` no caller is authenticated, and every caller may call.
#[derive(Debug)]
pub struct Authenticator {
    rules: ArcSwapOption<Rules>,
    /// Notified when the rules are replaced.
    replaced: watch::Sender<()>,
    failures: AuthFailures,
    counts: AuthCounts,
}

/// `[auth]`, prepared for authenticating requests.
#[derive(Debug)]
struct Rules {
    config: Arc<AuthConfig>,
    tokens: StaticTokens,
    issuers: Arc<Issuers>,
    proofs: Arc<ProofVerifier>,
}

impl Rules {
    fn new(config: &AuthConfig, previous: Option<&Self>) -> Self {
        let tokens = StaticTokens::new(&config.tokens, previous.map(|previous| &previous.tokens));
        // The fetched keys and the cached tokens are kept unless the issuers have changed.
        let same = previous.filter(|previous| previous.config.issuers == config.issuers);
        let issuers = same.map_or_else(|| Arc::new(Issuers::new(config)), |same| Arc::clone(&same.issuers));
        let proofs = match previous {
            Some(previous) => Arc::clone(&previous.proofs),
            None => Arc::new(ProofVerifier::new(SystemTime::now())),
        };
        let config = Arc::new(config.clone());
        Self { tokens, issuers, proofs, config }
    }

    /// Finds the principal of a token, and what the token is bound to. `digest` is the SHA-256 of the token.
    async fn identify(
        &self,
        token: &str,
        digest: &[u8; 32],
        client: ClientNetwork,
        now: SystemTime,
    ) -> Result<BoundPrincipal, AuthError> {
        oauth::check_syntax(token)?;
        if let Some(principal) = self.tokens.find(digest) {
            let bound = BoundPrincipal::new(Arc::clone(principal), TokenBinding::default());
            return if static_tokens::is_valid(principal) { Ok(bound) } else { Err(AuthError::Expired) };
        }
        if token.starts_with(TOKEN_PREFIX) {
            // The prefix is that of this server's own tokens, so no issuer is asked about the token.
            return Err(AuthError::Token(TokenError::Unknown));
        }
        let bound = self.issuers.authenticate(token, digest, client, now).await?;
        if !self.has_required_binding(bound.principal()) {
            return Err(AuthError::Token(TokenError::BindingRequired));
        }
        Ok(bound)
    }

    /// Whether an access token with this principal is bound to a key, or need not be.
    fn has_required_binding(&self, principal: &Principal) -> bool {
        principal.is_dpop_bound || !self.config.require_dpop
    }

    /// Whether these rules still accept a principal that was authenticated before.
    fn holds(&self, principal: &Arc<Principal>) -> bool {
        match principal.kind {
            PrincipalKind::Token => self.tokens.holds(principal),
            // The token was not kept and cannot be verified again, so after a change of the issuers the client must
            // authenticate again.
            PrincipalKind::OAuth => self.has_required_binding(principal) && self.issuers.holds(principal),
            // The TLS listener decides which certificates are valid.
            PrincipalKind::Certificate => true,
        }
    }

    fn without_token(&self, credentials: Credentials<'_>) -> Result<Option<Arc<Principal>>, AuthError> {
        if let Some(certificate) = credentials.certificate {
            // A connection may outlive the client's certificate.
            if certificate.not_after <= SystemTime::now() {
                return Err(AuthError::Expired);
            }
            return Ok(Some(Arc::new(certificate_principal(certificate))));
        }
        if self.admits_anonymous(credentials.is_loopback) { Ok(None) } else { Err(AuthError::Missing) }
    }

    /// Whether a caller without credentials may call.
    fn admits_anonymous(&self, is_loopback: bool) -> bool {
        match self.config.anonymous {
            AnonymousAccess::Allow => true,
            AnonymousAccess::Loopback => is_loopback,
            AnonymousAccess::Deny => false,
        }
    }
}

impl Default for Authenticator {
    fn default() -> Self {
        Self::new(None, Audit::disabled())
    }
}

impl Authenticator {
    /// Makes an authenticator for `[auth]`, which records failures in `audit`.
    #[must_use]
    pub fn new(config: Option<&AuthConfig>, audit: Audit) -> Self {
        Self {
            rules: ArcSwapOption::from_pointee(config.map(|config| Rules::new(config, None))),
            replaced: watch::Sender::new(()),
            failures: AuthFailures::new(audit),
            counts: AuthCounts::default(),
        }
    }

    /// How many requests had valid credentials, and how many were not authenticated, by reason.
    #[must_use]
    pub fn counts(&self) -> [(&'static str, u64); 7] {
        self.counts.read()
    }

    fn record_failure(&self, address: Option<IpAddr>, error: &AuthError) {
        tracing::trace!(%error, "a request is not authenticated");
        self.counts.failed(error);
        self.failures.record(address, error);
    }

    /// Replaces the rules, unless they are the same. Running requests keep their principals.
    pub fn replace(&self, config: Option<&AuthConfig>) {
        if self.config().as_deref() == config {
            return;
        }
        let before = self.rules.load_full();
        self.rules.store(config.map(|config| Arc::new(Rules::new(config, before.as_deref()))));
        self.replaced.send_replace(());
    }

    /// The configuration in force; `None` without `[auth]`.
    #[must_use]
    pub fn config(&self) -> Option<Arc<AuthConfig>> {
        self.rules.load().as_ref().map(|rules| Arc::clone(&rules.config))
    }

    /// Whether callers are authenticated, so that two callers may see different items.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        self.rules.load().is_some()
    }

    /// Waits until the credentials of a principal are no longer valid, because they have expired or because a changed
    /// configuration does not accept them, or until they must be shown again. With `None`, it waits until a caller
    /// without credentials needs some; `is_loopback` says whether this caller is on this machine.
    pub async fn ended(&self, principal: Option<&Arc<Principal>>, is_loopback: bool) {
        let mut replaced = self.replaced.subscribe();
        let expired = async {
            match principal.and_then(|principal| time_left(principal, SystemTime::now())) {
                Some(left) => tokio::time::sleep(left).await,
                None => std::future::pending().await,
            }
        };
        let removed =
            async { while self.holds(principal, is_loopback) && replaced.changed().await.is_ok() {} };
        tokio::select! {
            () = expired => {}
            () = removed => {}
        }
    }

    /// Whether a principal that was authenticated before may still call; with `None`, whether a caller without
    /// credentials may.
    fn holds(&self, principal: Option<&Arc<Principal>>, is_loopback: bool) -> bool {
        match (self.rules.load_full(), principal) {
            (Some(rules), Some(principal)) => rules.holds(principal),
            (Some(rules), None) => rules.admits_anonymous(is_loopback),
            (None, Some(_)) => false,
            (None, None) => true,
        }
    }

    /// Records a request whose credentials could not be parsed.
    pub fn reject_malformed(&self, address: Option<IpAddr>) {
        self.record_failure(address, &AuthError::Token(TokenError::Malformed));
    }

    /// Authenticates a request from `address`. Returns `None` if the request has no credentials and needs none.
    ///
    /// # Errors
    /// When the credentials are missing or invalid, or when the issuer that knows the token cannot be reached.
    pub async fn authenticate(
        &self,
        credentials: Credentials<'_>,
        address: Option<IpAddr>,
    ) -> Result<Option<Arc<Principal>>, AuthError> {
        let authenticated = self.check(credentials, address).await;
        match &authenticated {
            Ok(Some(principal)) => {
                tracing::trace!(principal = ?principal.id, "authenticated a request");
                self.counts.succeeded();
            }
            Ok(None) => {}
            Err(error) => self.record_failure(address, error),
        }
        authenticated
    }

    async fn check(
        &self,
        credentials: Credentials<'_>,
        address: Option<IpAddr>,
    ) -> Result<Option<Arc<Principal>>, AuthError> {
        // A guard of `load` must not be held while an issuer is asked, which may take seconds.
        let Some(rules) = self.rules.load_full() else { return Ok(None) };
        let Some(token) = credentials.token else { return rules.without_token(credentials) };
        let digest = static_tokens::digest(token);
        let bound = rules.identify(token, &digest, ClientNetwork::of(address), SystemTime::now()).await?;
        // The time is read again: asking an issuer may have taken seconds, and with the old time the replay cache could
        // accept a proof that it has just forgotten.
        let now = SystemTime::now();
        let valid = credentials.certificate.filter(|certificate| certificate.not_after > now);
        let certificate = valid.map(|certificate| &certificate.sha256);
        let shown = ClientProofs { token: &digest, certificate, dpop: credentials.dpop };
        Ok(Some(bound.for_client(&shown, &rules.proofs, now)?))
    }

    /// Returns the principal of a token and what the token is bound to, without checking a request's proofs; `None`
    /// without `[auth]`.
    ///
    /// # Errors
    /// When the token is invalid, or when the issuer that knows the token cannot be reached.
    pub async fn inspect(&self, token: &str) -> Result<Option<(Arc<Principal>, TokenBinding)>, AuthError> {
        let Some(rules) = self.rules.load_full() else { return Ok(None) };
        let (digest, client) = (static_tokens::digest(token), ClientNetwork::of(None));
        let bound = rules.identify(token, &digest, client, SystemTime::now()).await?;
        Ok(Some(bound.into_parts()))
    }
}

/// For how long the credentials of a principal count without being shown again; `None`: until they are removed.
fn time_left(principal: &Principal, now: SystemTime) -> Option<Duration> {
    match (principal.expires, principal.kind) {
        (Some(expires), _) => Some(expires.duration_since(now).unwrap_or_default()),
        (None, PrincipalKind::OAuth) => Some(WITHOUT_EXPIRY),
        (None, PrincipalKind::Token | PrincipalKind::Certificate) => None,
    }
}

fn certificate_principal(certificate: &ClientCertificate) -> Principal {
    Principal {
        id: format!("cert:{}", certificate.subject).into(),
        kind: PrincipalKind::Certificate,
        issuer: None,
        subject: certificate.subject.as_str().into(),
        client: None,
        scopes: Vec::new(),
        groups: Vec::new(),
        is_dpop_bound: false,
        expires: Some(certificate.not_after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_token_without_an_end_must_be_shown_again() {
        let now = SystemTime::now();
        let hour = Duration::from_secs(3_600);
        let certificate = ClientCertificate { subject: "a".to_owned(), sha256: [0; 32], not_after: now };
        let principal = |kind, expires| Principal { kind, expires, ..certificate_principal(&certificate) };
        let left = |kind, expires| time_left(&principal(kind, expires), now);
        assert_eq!(left(PrincipalKind::OAuth, None), Some(WITHOUT_EXPIRY));
        assert_eq!(left(PrincipalKind::OAuth, Some(now + hour)), Some(hour));
        assert_eq!(left(PrincipalKind::Token, None), None, "the operator removes such a token");
        assert_eq!(left(PrincipalKind::Certificate, Some(now - hour)), Some(Duration::ZERO));
    }
}
