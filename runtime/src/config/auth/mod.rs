//! The `[auth]` table: who may call.
//!
//! Without the table everybody who reaches the port may call, as far as `[server]` lets them. With it, a request needs
//! a token or a client certificate, unless `anonymous` says otherwise.

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
    /// Whether access tokens of issuers must be bound to a key of the client (DPoP, RFC 9449).
    pub require_dpop: bool,
    /// Tokens that the operator hands out.
    pub tokens: Vec<StaticToken>,
    /// Authorization servers whose access tokens are accepted.
    pub issuers: Vec<IssuerConfig>,
}

const KEYS: &[&str] = &["resource", "anonymous", "scopes", "require_dpop", "tokens", "issuers"];

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
        let require_dpop = from.take("require_dpop");
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
        if let Some(entry) = require_dpop {
            auth.require_dpop = entry.boolean(reader).unwrap_or_default();
            if auth.require_dpop && auth.issuers.is_empty() && !reader.has_diagnostics("auth.issuers") {
                let why = "needs [[auth.issuers]], whose tokens it is about; those of [[auth.tokens]] are not bound";
                reader.report(entry.span.clone(), &entry.key, why);
            }
        }
        from.finish(reader, KEYS);
        auth
    }

    /// Why nobody can belong to a group, if nobody can.
    #[must_use]
    pub fn why_nobody_has_group(&self, group: &str) -> Option<&'static str> {
        let is_given = self.issuers.iter().any(|issuer| issuer.groups.is_some())
            || self.tokens.iter().any(|token| token.groups.iter().any(|given| given == group));
        let why = "is nobody, since no token of [[auth.tokens]] has this group, and no issuer has `groups`, which \
                   says where its tokens name theirs";
        (!is_given).then_some(why)
    }

    /// Why no token can have a scope, if none can.
    #[must_use]
    pub fn why_nobody_has_scope(&self, scope: &str) -> Option<&'static str> {
        let is_given = !self.issuers.is_empty()
            || self.tokens.iter().any(|token| token.scopes.iter().any(|given| given == scope));
        let why = "is nobody, since no token of [[auth.tokens]] has this scope, and [[auth.issuers]] has no issuer of \
                   access tokens";
        (!is_given).then_some(why)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, ConfigError};

    fn read(text: &str) -> Result<AuthConfig, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plugport.toml");
        std::fs::write(&file, format!("[auth]\n{text}")).unwrap();
        Config::read(&file, dir.path().join("plugins")).map(|config| config.auth.unwrap())
    }

    #[test]
    fn holders_and_groups_have_names_that_people_can_read() {
        let read = |name: &str, group: &str| {
            let digest = "0f".repeat(32);
            let token = format!("name = \"{name}\"\nsha256 = \"{digest}\"\ngroups = [\"{group}\"]\n");
            read(&format!("[[auth.tokens]]\n{token}"))
        };
        assert!(read("Ada Lovelace", "a b").is_ok());
        for (name, group) in [("ada ", "a"), ("ada\u{fe0f}", "a"), ("ada", " a"), ("ada", "a\u{200b}")] {
            let error = read(name, group).unwrap_err().to_string();
            assert!(error.contains("hidden characters"), "{error}");
        }
    }

    #[test]
    fn only_tokens_of_issuers_can_be_required_to_be_bound() {
        let issuer = "resource = \"https://tools.example.com/mcp\"\n\
                      [[auth.issuers]]\nissuer = \"https://idp.example.com\"\n";
        assert!(!read(issuer).unwrap().require_dpop);
        assert!(read(&format!("require_dpop = true\n{issuer}")).unwrap().require_dpop);
        assert!(!read("require_dpop = false\n").unwrap().require_dpop);
        let error = read("require_dpop = true\n").unwrap_err().to_string();
        assert!(error.contains("auth.require_dpop") && error.contains("[[auth.issuers]]"), "{error}");
        assert!(read(&format!("require_dpop = \"yes\"\n{issuer}")).is_err());
    }
}
