//! Makes a principal from the claims of an issuer: those of a JWT (RFC 9068) or of an introspection response (RFC
//! 7662).
//!
//! The rules are the same for both, so that a token cannot be accepted in one way and rejected in the other. A claim in
//! the wrong form is an error and never ignored: an ignored group could be one to which a role denies something.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::bound_token::{BoundPrincipal, TokenBinding};
use super::error::TokenError;
use crate::access::principal::{Principal, PrincipalKind};
use crate::config::{IssuerConfig, JsonPointer, is_principal_name};

/// Maximum difference between the clocks of an issuer and of this machine.
const LEEWAY: Duration = Duration::from_secs(60);

/// Maximum length of a scope, in bytes.
const MAX_SCOPE: usize = 256;

/// Maximum number of groups of a principal.
const MAX_GROUPS: usize = 64;

/// Maximum number of scopes of a token.
const MAX_SCOPES: usize = 256;

/// Claims that only ID tokens have (OpenID Connect Core, 2 and 3.3.2.11).
const ID_TOKEN_CLAIMS: [&str; 3] = ["nonce", "at_hash", "c_hash"];

/// Where claims come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimSource {
    /// The payload of a signed token.
    Jwt,
    /// The introspection response of the issuer.
    Introspection,
}

/// Checks the claims of a token, and makes a principal of them.
pub(super) fn principal(
    claims: &Value,
    source: ClaimSource,
    config: &IssuerConfig,
    issuer: &Arc<str>,
    now: SystemTime,
) -> Result<BoundPrincipal, TokenError> {
    let claims = Claims(claims);
    claims.check_issuer(source, issuer)?;
    let expires = claims.check_times(source, now)?;
    let client = claims.client(config.client.as_ref())?;
    claims.check_type()?;
    claims.check_audience(&config.audiences, client)?;
    let binding = claims.binding(source)?;
    let subject = claims.subject(source, client)?;
    let principal = Principal {
        id: format!("oauth:{issuer}#{subject}").into(),
        kind: PrincipalKind::OAuth,
        issuer: Some(Arc::clone(issuer)),
        subject: subject.into(),
        client: client.map(Into::into),
        scopes: claims.scopes()?,
        groups: claims.groups(config.groups.as_ref())?,
        is_dpop_bound: binding.has_key(),
        expires,
    };
    Ok(BoundPrincipal::new(Arc::new(principal), binding))
}

/// When a token was issued, by its own unverified words, but not later than now; `None` if it would be refused for that
/// time. This decides only whether the client is to try again.
pub(super) fn unverified_issue_time(claims: &Value, now: SystemTime) -> Option<SystemTime> {
    let issued = Claims(claims).time("iat").ok().flatten()?;
    (issued <= now + LEEWAY).then_some(issued.min(now))
}

/// An object of claims.
#[derive(Clone, Copy)]
struct Claims<'c>(&'c Value);

impl<'c> Claims<'c> {
    fn get(self, name: &str) -> Option<&'c Value> {
        self.0.get(name)
    }

    fn text(self, name: &str) -> Result<Option<&'c str>, TokenError> {
        self.get(name).map(|value| value.as_str().ok_or(TokenError::ClaimFormat)).transpose()
    }

    /// Checks `iss`. An introspection response may omit it, because the issuer itself sent the response.
    fn check_issuer(self, source: ClaimSource, issuer: &str) -> Result<(), TokenError> {
        match self.text("iss")? {
            Some(named) if named == issuer => Ok(()),
            None if source == ClaimSource::Introspection => Ok(()),
            Some(_) => Err(TokenError::UnknownIssuer),
            None => Err(TokenError::MissingIssuer),
        }
    }

    /// Checks the times. Returns when the token expires; an introspection response may omit that.
    fn check_times(self, source: ClaimSource, now: SystemTime) -> Result<Option<SystemTime>, TokenError> {
        let expires = self.time("exp")?;
        match expires {
            Some(expires) if expires <= now => return Err(TokenError::Expired),
            None if source == ClaimSource::Jwt => return Err(TokenError::MissingExpiry),
            Some(_) | None => {}
        }
        let is_ahead = |time: SystemTime| time.duration_since(now).is_ok_and(|ahead| ahead > LEEWAY);
        if self.time("nbf")?.is_some_and(is_ahead) {
            return Err(TokenError::NotYetValid);
        }
        if self.time("iat")?.is_some_and(is_ahead) {
            return Err(TokenError::IssuedInFuture);
        }
        Ok(expires)
    }

    /// Reads a time in seconds since 1970, with or without a fraction.
    fn time(self, name: &str) -> Result<Option<SystemTime>, TokenError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let since_epoch = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let time = since_epoch.and_then(|since_epoch| SystemTime::UNIX_EPOCH.checked_add(since_epoch));
        time.map(Some).ok_or(TokenError::ClaimFormat)
    }

    /// Rejects tokens that are not access tokens, such as refresh tokens, if a claim says so.
    fn check_type(self) -> Result<(), TokenError> {
        if ID_TOKEN_CLAIMS.iter().any(|name| self.get(name).is_some()) {
            return Err(TokenError::IdToken);
        }
        // Cognito and Hydra set `token_use`: `access`, `access_token`, `id`, `refresh_token`.
        let is_other_use = self.text("token_use")?.is_some_and(|purpose| !purpose.starts_with("access"));
        // Keycloak sets `typ`; its introspection reports refresh tokens as active too.
        let is_other_type = self.text("typ")?.is_some_and(|kind| {
            ["ID", "Refresh", "Offline", "Logout"].iter().any(|other| other.eq_ignore_ascii_case(kind))
        });
        if is_other_use || is_other_type {
            return Err(TokenError::WrongType);
        }
        Ok(())
    }

    /// Checks that the token is for this server. An ID token, which is for its client only, is rejected.
    fn check_audience(self, accepted: &[String], client: Option<&str>) -> Result<(), TokenError> {
        let named = match self.get("aud") {
            Some(Value::String(audience)) => vec![audience.as_str()],
            Some(Value::Array(audiences)) => texts(audiences)?,
            Some(_) => return Err(TokenError::ClaimFormat),
            None => return Err(TokenError::MissingAudience),
        };
        if !named.is_empty() && named.iter().all(|audience| client == Some(*audience)) {
            return Err(TokenError::IdToken);
        }
        let is_accepted =
            |named: &&str| accepted.iter().any(|audience| without_slash(audience) == without_slash(named));
        if named.iter().any(is_accepted) { Ok(()) } else { Err(TokenError::WrongAudience) }
    }

    /// Reads what the token is bound to. An introspection response also says in `token_type` how the token must be
    /// sent.
    fn binding(self, source: ClaimSource) -> Result<TokenBinding, TokenError> {
        let binding = TokenBinding::read(self.get("cnf"))?;
        let token_type = self.text("token_type")?.filter(|_| source == ClaimSource::Introspection);
        let is_type = |name: &str| token_type.is_none_or(|kind| kind.eq_ignore_ascii_case(name));
        if is_type("bearer") || (is_type("dpop") && binding.has_key()) {
            Ok(binding)
        } else {
            Err(TokenError::UnprovenBinding)
        }
    }

    /// Returns the subject. A token without a user is for the client itself, which then is the subject (RFC 9068, 5);
    /// an introspection response may omit the subject of such a token.
    fn subject(self, source: ClaimSource, client: Option<&'c str>) -> Result<&'c str, TokenError> {
        match self.get("sub") {
            Some(value) => name(value),
            None if source == ClaimSource::Introspection => client.ok_or(TokenError::MissingSubject),
            None => Err(TokenError::MissingSubject),
        }
    }

    fn client(self, pointer: Option<&JsonPointer>) -> Result<Option<&'c str>, TokenError> {
        let value = match pointer {
            Some(pointer) => pointer.get(self.0),
            None => self.get("client_id").or_else(|| self.get("azp")),
        };
        value.map(name).transpose()
    }

    fn scopes(self) -> Result<Vec<Box<str>>, TokenError> {
        let scopes: Vec<&str> = match (self.text("scope")?, self.get("scp")) {
            (Some(text), _) => words(text),
            (None, Some(Value::String(text))) => words(text),
            (None, Some(Value::Array(scopes))) => texts(scopes)?,
            (None, Some(_)) => return Err(TokenError::ClaimFormat),
            (None, None) => Vec::new(),
        };
        if scopes.len() > MAX_SCOPES {
            return Err(TokenError::TooManyScopes);
        }
        if !scopes.iter().all(|scope| is_scope(scope)) {
            return Err(TokenError::ClaimFormat);
        }
        Ok(scopes.into_iter().map(Box::<str>::from).collect())
    }

    fn groups(self, pointer: Option<&JsonPointer>) -> Result<Vec<Box<str>>, TokenError> {
        let Some(pointer) = pointer else { return Ok(Vec::new()) };
        match pointer.get(self.0) {
            Some(Value::Array(groups)) if groups.len() > MAX_GROUPS => Err(TokenError::TooManyGroups),
            Some(Value::Array(groups)) => {
                groups.iter().map(|group| name(group).map(Box::<str>::from)).collect()
            }
            Some(group) => name(group).map(|group| vec![group.into()]),
            None if self.is_by_reference(pointer) => Err(TokenError::TooManyGroups),
            None => Ok(Vec::new()),
        }
    }

    /// Whether a claim is omitted because it is too large (OpenID Connect Core, 5.6.2). Entra does this with groups.
    fn is_by_reference(self, pointer: &JsonPointer) -> bool {
        let names = self.get("_claim_names");
        names.is_some_and(|names| pointer.get(names).is_some())
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split(' ').filter(|word| !word.is_empty()).collect()
}

fn texts(values: &[Value]) -> Result<Vec<&str>, TokenError> {
    values.iter().map(|value| value.as_str().ok_or(TokenError::ClaimFormat)).collect()
}

fn name(value: &Value) -> Result<&str, TokenError> {
    value.as_str().filter(|text| is_principal_name(text)).ok_or(TokenError::ClaimFormat)
}

/// Whether a text is a scope by RFC 6749, 3.3.
fn is_scope(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    !text.is_empty() && text.len() <= MAX_SCOPE && text.bytes().all(is_letter)
}

/// Removes a trailing slash: issuers and clients disagree on whether the URI of a server without a path ends with one.
fn without_slash(audience: &str) -> &str {
    audience.strip_suffix('/').unwrap_or(audience)
}
