//! The `[auth]` table: who may call.
//!
//! Without the table everybody who reaches the port may call, as far as `[server]` lets them. With it, a request needs a
//! token or a client certificate, unless `anonymous` says otherwise.

mod issuer;
mod resource;
mod token;

use std::path::Path;

pub use issuer::{Endpoint, IssuerConfig, JsonPointer, JwksSource, JwtAlgorithm, OAuthClient};
pub use resource::ResourceUri;
pub(super) use token::read_scopes;
pub use token::{StaticToken, TOKEN_PREFIX};

use super::toml_reader::{TomlEntry, TomlReader, TomlTable};

/// Who may call without credentials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnonymousAccess {
    /// Nobody.
    #[default]
    Deny,
    /// Clients on this machine.
    Loopback,
    /// Everybody.
    Allow,
}

/// How callers are authenticated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthConfig {
    /// The canonical URI of this server: the audience of access tokens (RFC 8707) and `resource` of its metadata
    /// (RFC 9728). Needed with issuers.
    pub resource: Option<ResourceUri>,
    /// Who may call without credentials.
    pub anonymous: AnonymousAccess,
    /// The scopes that a client should ask for first.
    pub scopes: Vec<String>,
    /// Tokens that the operator hands out.
    pub tokens: Vec<StaticToken>,
    /// Authorization servers whose access tokens are accepted.
    pub issuers: Vec<IssuerConfig>,
}

const KEYS: &[&str] = &["resource", "anonymous", "scopes", "tokens", "issuers"];

impl AuthConfig {
    pub(super) fn read(mut from: TomlTable<'_>, base: &Path, reader: &mut TomlReader<'_>) -> Self {
        let mut auth = Self::default();
        if let Some(entry) = from.take("resource") {
            auth.resource = ResourceUri::read(&entry, reader);
        }
        if let Some(entry) = from.take("anonymous") {
            auth.anonymous = AnonymousAccess::read(&entry, reader).unwrap_or_default();
        }
        if let Some(entry) = from.take("scopes") {
            auth.scopes = token::read_scopes(entry, reader);
        }
        if let Some(entry) = from.take("tokens") {
            auth.tokens = StaticToken::read_all(entry, reader);
        }
        if let Some(entry) = from.take("issuers") {
            let (path, span) = (entry.key.clone(), entry.span.clone());
            auth.issuers = IssuerConfig::read_all(entry, auth.resource.as_ref(), base, reader);
            if auth.resource.is_none() && !reader.has_diagnostics("auth.resource") {
                let why = "needs `resource` under [auth], the address under which clients reach this server: it is the \
                           audience of access tokens";
                reader.report(span, &path, why);
            }
        }
        from.finish(reader, KEYS);
        auth
    }
}

impl AnonymousAccess {
    fn read(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        match entry.string(reader)?.as_str() {
            "deny" => Some(Self::Deny),
            "loopback" => Some(Self::Loopback),
            "allow" => Some(Self::Allow),
            _ => {
                let why = "must be \"deny\", \"loopback\" or \"allow\"";
                reader.report(entry.span.clone(), &entry.key, why);
                None
            }
        }
    }
}
