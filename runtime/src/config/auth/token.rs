//! `[[auth.tokens]]`: tokens that the operator hands out, kept as digests.
//!
//! The configuration holds the SHA-256 of a token and never the token, so it can be shown and shared. A token is 256
//! random bits, so its digest cannot be searched for, and neither salt nor a slow hash would add anything.

use std::time::SystemTime;

use data_encoding::HEXLOWER_PERMISSIVE;

use crate::config::expiry_date::read_until;
use crate::config::principal_name::{MAX_PRINCIPAL_NAME, is_principal_name};
use crate::toml_reader::{TomlEntry, TomlReader};

/// How a token of `plugport token new` begins, so that scanners for leaked secrets recognize it.
pub const TOKEN_PREFIX: &str = "plugport_";

/// Most tokens.
const MAX_TOKENS: usize = 10_000;

/// Longest scope, bytes.
const MAX_SCOPE: usize = 256;

const KEYS: &[&str] = &["name", "sha256", "groups", "scopes", "until"];

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticToken {
    /// The holder's name: the principal is `token:NAME`.
    pub name: String,
    /// The token's digest.
    pub sha256: [u8; 32],
    /// The groups that its holder belongs to.
    pub groups: Vec<String>,
    /// The scopes that it has.
    pub scopes: Vec<String>,
    /// When it expires.
    pub until: Option<SystemTime>,
}

impl StaticToken {
    /// Reads the array of tables. A name may stand there twice, so that a token can be replaced without a gap.
    pub(super) fn read_all(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Vec<Self> {
        let (path, span) = (entry.key.clone(), entry.span.clone());
        let mut tokens: Vec<Self> = Vec::new();
        for item in entry.array(reader) {
            let span = item.span.clone();
            let Some(token) = Self::read(item, reader) else { continue };
            if tokens.iter().any(|other| other.sha256 == token.sha256) {
                reader.report(span, &path, "holds the same token twice; remove one of the two");
            }
            tokens.push(token);
        }
        if tokens.len() > MAX_TOKENS {
            let why = format!("has more than {MAX_TOKENS} tokens; use an authorization server for so many");
            reader.report(span, &path, why);
        }
        tokens
    }

    /// Whether a scope may be written like this (RFC 6749, 3.3).
    #[must_use]
    pub fn is_scope(text: &str) -> bool {
        let is_char = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
        !text.is_empty() && text.len() <= MAX_SCOPE && text.bytes().all(is_char)
    }

    fn read(item: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        let (path, span) = (item.key.clone(), item.span.clone());
        let mut table = item.table(reader)?;
        let name = table.take("name").and_then(|entry| read_name(&entry, reader));
        let sha256 = table.take("sha256").and_then(|entry| read_digest(&entry, reader));
        let groups = table.take("groups").map(|entry| read_names(entry, reader)).unwrap_or_default();
        let scopes = table.take("scopes").map(|entry| read_scopes(entry, reader)).unwrap_or_default();
        let until = table.take("until").and_then(|entry| read_until(&entry, reader));
        table.finish(reader, KEYS);
        if (name.is_none() || sha256.is_none()) && !reader.has_diagnostics(&path) {
            reader.report(span, &path, "needs `name` and `sha256`; `plugport token new NAME` prints both");
        }
        Some(Self { name: name?, sha256: sha256?, groups, scopes, until })
    }
}

fn read_digest(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<[u8; 32]> {
    let text = entry.string(reader)?;
    let digest = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
    if digest.is_none() {
        let why = "is no SHA-256 in 64 hexadecimal digits; `plugport token new NAME` prints one, and the token itself \
                   does not belong into this file";
        reader.report(entry.span.clone(), &entry.key, why);
    }
    digest
}

/// Reads a name that stands in the audit and in roles.
fn read_name(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<String> {
    let name = entry.string(reader)?;
    let is_name = is_principal_name(&name);
    if !is_name {
        let why = format!(
            "must be a name of 1 to {MAX_PRINCIPAL_NAME} bytes without hidden characters, and without spaces at its \
             ends"
        );
        reader.report(entry.span.clone(), &entry.key, why);
    }
    is_name.then_some(name)
}

fn read_names(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Vec<String> {
    entry.array(reader).iter().filter_map(|item| read_name(item, reader)).collect()
}

/// Reads scopes: words of visible ASCII without `"` and `\` (RFC 6749, 3.3).
pub(in crate::config) fn read_scopes(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Vec<String> {
    let read = |item: &TomlEntry<'_>, reader: &mut TomlReader<'_>| {
        let scope = item.string(reader)?;
        let is_scope = StaticToken::is_scope(&scope);
        if !is_scope {
            let why =
                "must be a scope such as `tools` or `tools:write`: one word of visible ASCII without quotes";
            reader.report(item.span.clone(), &item.key, why);
        }
        is_scope.then_some(scope)
    };
    entry.array(reader).iter().filter_map(|item| read(item, reader)).collect()
}
