//! From the credentials of a request to its principal.
//!
//! One authenticator serves for as long as the process. A changed `[auth]` replaces its contents at once, so a token
//! that was taken out of the file is refused by the next request.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

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

/// The verified certificate of a TLS client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The name that it is for: the first URI, DNS name or address of mail in it, or else its common name.
    pub subject: String,
    /// The SHA-256 of the certificate (RFC 8705).
    pub sha256: [u8; 32],
    /// When it expires.
    pub not_after: SystemTime,
}

/// What a request brings to show who sends it.
#[derive(Clone, Copy, Default)]
pub struct Credentials<'r> {
    /// The token of `Authorization`, with the scheme `Bearer` unless there is `dpop`.
    pub token: Option<&'r str>,
    /// With the scheme `DPoP`: the proof of the client's key, and what it must be a proof for.
    pub dpop: Option<DpopRequest<'r>>,
    /// The certificate of the connection.
    pub certificate: Option<&'r ClientCertificate>,
    /// Whether the client certainly runs on this machine.
    pub is_loopback: bool,
}

/// Without the token.
impl fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("has_token", &self.token.is_some()).finish_non_exhaustive()
    }
}

/// Authenticates requests. Without `[auth]` nobody is authenticated, and everybody may call.
#[derive(Debug)]
pub struct Authenticator {
    rules: ArcSwapOption<Rules>,
    /// Notified when the rules were replaced.
    replaced: watch::Sender<()>,
    failures: AuthFailures,
    counts: AuthCounts,
}

/// The contents of `[auth]`.
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
        // Keys and what was learned of tokens stay, unless the issuers have changed.
        let same = previous.filter(|previous| previous.config.issuers == config.issuers);
        let issuers = same.map_or_else(|| Arc::new(Issuers::new(config)), |same| Arc::clone(&same.issuers));
        let proofs = match previous {
            Some(previous) => Arc::clone(&previous.proofs),
            None => Arc::new(ProofVerifier::new(SystemTime::now())),
        };
        let config = Arc::new(config.clone());
        Self { tokens, issuers, proofs, config }
    }

    /// Whose token it is, and what it is bound to. `digest` is the token's SHA-256.
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
            // It was a token of this server, so no issuer is asked about it.
            return Err(AuthError::Token(TokenError::Unknown));
        }
        let bound = self.issuers.authenticate(token, digest, client, now).await?;
        if !self.has_required_binding(bound.principal()) {
            return Err(AuthError::Token(TokenError::BindingRequired));
        }
        Ok(bound)
    }

    /// Whether the access token of a principal is bound to a key, if it has to be.
    fn has_required_binding(&self, principal: &Principal) -> bool {
        principal.is_dpop_bound || !self.config.require_dpop
    }

    /// Whether these rules accept the credentials of a principal that was authenticated before.
    fn holds(&self, principal: &Arc<Principal>) -> bool {
        match principal.kind {
            PrincipalKind::Token => self.tokens.holds(principal),
            // The token is not at hand to be verified again, so a client has to come back when an issuer has changed.
            PrincipalKind::OAuth => self.has_required_binding(principal) && self.issuers.holds(principal),
            // The listener decides which certificates are valid.
            PrincipalKind::Certificate => true,
        }
    }

    fn without_token(&self, credentials: Credentials<'_>) -> Result<Option<Arc<Principal>>, AuthError> {
        if let Some(certificate) = credentials.certificate {
            // A connection may outlive the certificate that it began with.
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
    /// An authenticator for `[auth]`, which records failures in `audit`.
    #[must_use]
    pub fn new(config: Option<&AuthConfig>, audit: Audit) -> Self {
        Self {
            rules: ArcSwapOption::from_pointee(config.map(|config| Rules::new(config, None))),
            replaced: watch::Sender::new(()),
            failures: AuthFailures::new(audit),
            counts: AuthCounts::default(),
        }
    }

    /// How often requests had valid credentials, and why others were not authenticated.
    #[must_use]
    pub fn counts(&self) -> [(&'static str, u64); 7] {
        self.counts.read()
    }

    fn record_failure(&self, address: Option<IpAddr>, error: &AuthError) {
        self.counts.failed(error);
        self.failures.record(address, error);
    }

    /// Replaces the rules, unless they are the same. Principals of requests under way stay what they are.
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

    /// Whether callers are authenticated, so that two of them may see different things.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        self.rules.load().is_some()
    }

    /// Waits until the credentials of a principal are no longer valid: they have expired, or a changed configuration
    /// does not accept them. `None`: until such a caller, on this machine or not, needs credentials.
    pub async fn ended(&self, principal: Option<&Arc<Principal>>, is_loopback: bool) {
        let mut replaced = self.replaced.subscribe();
        let expired = async {
            match principal
                .and_then(|principal| principal.expires)
                .map(|expires| expires.duration_since(SystemTime::now()))
            {
                Some(left) => tokio::time::sleep(left.unwrap_or_default()).await,
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

    /// Whether a principal that was authenticated before, or nobody, may still call.
    fn holds(&self, principal: Option<&Arc<Principal>>, is_loopback: bool) -> bool {
        match (self.rules.load_full(), principal) {
            (Some(rules), Some(principal)) => rules.holds(principal),
            (Some(rules), None) => rules.admits_anonymous(is_loopback),
            (None, Some(_)) => false,
            (None, None) => true,
        }
    }

    /// Records credentials that could not be read.
    pub fn reject_malformed(&self, address: Option<IpAddr>) {
        self.record_failure(address, &AuthError::Token(TokenError::Malformed));
    }

    /// The principal of a request from `address`; `None`: it has no credentials and needs none.
    ///
    /// # Errors
    /// When the credentials are missing or not valid, or when the issuer that can say so cannot be reached.
    pub async fn authenticate(
        &self,
        credentials: Credentials<'_>,
        address: Option<IpAddr>,
    ) -> Result<Option<Arc<Principal>>, AuthError> {
        let authenticated = self.check(credentials, address).await;
        match &authenticated {
            Ok(Some(_)) => self.counts.succeeded(),
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
        // An issuer may have taken seconds, in which a proof that was used before could have been forgotten.
        let now = SystemTime::now();
        let valid = credentials.certificate.filter(|certificate| certificate.not_after > now);
        let certificate = valid.map(|certificate| &certificate.sha256);
        let shown = ClientProofs { token: &digest, certificate, dpop: credentials.dpop };
        Ok(Some(bound.for_client(&shown, &rules.proofs, now)?))
    }

    /// Whose token it is and what it is bound to, without a request and its proofs; `None` without `[auth]`.
    ///
    /// # Errors
    /// When the token is not valid, or when the issuer that can say so cannot be reached.
    pub async fn inspect(&self, token: &str) -> Result<Option<(Arc<Principal>, TokenBinding)>, AuthError> {
        let Some(rules) = self.rules.load_full() else { return Ok(None) };
        let (digest, client) = (static_tokens::digest(token), ClientNetwork::of(None));
        let bound = rules.identify(token, &digest, client, SystemTime::now()).await?;
        Ok(Some(bound.into_parts()))
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
