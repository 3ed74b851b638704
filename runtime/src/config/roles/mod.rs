//! The `[roles.NAME]` tables: who may see and call what.
//!
//! A role says who has it (`who`), what it allows and denies (`allow`, `deny`), which values arguments may have
//! (`when`), and how much each caller may use (`quota`). Everything is parsed here once, and keeps the line where it
//! stands, so that `plugport access` can say which line decided. What the entries mean together is decided in
//! `access/policy`; this module knows neither callers nor items.

mod argument_conditions;
mod argument_pointer;
mod item_pattern;
mod name_glob;
mod path_glob;
mod quota;
mod required_scopes;
mod rule;
#[cfg(test)]
mod tests;
mod uri_spelling;
mod warnings;
mod who;

pub use argument_conditions::{AllowedValue, ArgumentCondition, ItemConditions};
pub use argument_pointer::{ArgumentPointer, ArgumentPointerError};
pub use item_pattern::{Hint, ItemPattern, ItemPatternError};
pub use name_glob::NameGlob;
pub use path_glob::{PathGlob, PathGlobError, PathValue};
pub use quota::{QuotaConfig, QuotaKind};
pub use required_scopes::RequiredScopes;
pub use rule::Rule;
pub(crate) use uri_spelling::{comparable_uri, has_dot_segment};
pub use who::{CertificatePattern, WhoPattern, WhoPatternError};

use crate::toml_reader::{TomlEntry, TomlReader};
use rule::read_rules;

/// Most roles: a set of them is 64 bits.
const MAX_ROLES: usize = 64;

/// Longest name of a role, bytes.
const MAX_NAME: usize = 64;

/// Longest entry of `allow` and `deny`, bytes.
const MAX_PATTERN: usize = 256;

/// Longest entry of `who`, bytes: the id of a principal has an issuer and a subject.
const MAX_WHO: usize = 1_024;

const KEYS: &[&str] = &["who", "allow", "deny", "when", "quota"];

/// All roles. Without any, every caller may use everything that its scopes allow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct RolesConfig {
    /// The roles, by name.
    pub roles: Vec<RoleConfig>,
}

/// One role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct RoleConfig {
    /// Its name.
    pub name: String,
    /// Who has it: callers whom one entry names.
    pub who: Vec<Rule<WhoPattern>>,
    /// What it allows.
    pub allow: Vec<Rule<ItemPattern>>,
    /// What it denies, whatever other roles allow.
    pub deny: Vec<Rule<ItemPattern>>,
    /// Which values the arguments of a call must have for this role to allow it.
    pub when: Vec<ItemConditions>,
    /// How much each caller may use by this role; `None`: as much as it likes.
    pub quota: Option<QuotaConfig>,
}

impl RolesConfig {
    pub(super) fn read(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Self {
        let (path, span) = (entry.key.clone(), entry.span.clone());
        let Some(mut table) = entry.table(reader) else { return Self::default() };
        let entries = table.take_all();
        // Without a role nobody could do anything, and with no roles everybody can: neither is what was meant.
        if !(1..=MAX_ROLES).contains(&entries.len()) {
            let why =
                format!("needs 1 to {MAX_ROLES} roles, such as [roles.analyst]; without roles, leave it out");
            reader.report(span, &path, why);
            return Self::default();
        }
        let mut roles: Vec<RoleConfig> =
            entries.into_iter().filter_map(|(name, entry)| RoleConfig::read(name, entry, reader)).collect();
        roles.sort_by(|one, other| one.name.cmp(&other.name));
        Self { roles }
    }

    /// Whether a role has a quota.
    #[must_use]
    pub fn has_quotas(&self) -> bool {
        self.roles.iter().any(|role| role.quota.is_some())
    }

    /// Whether there are no roles.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }
}

impl RoleConfig {
    fn read(name: String, entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        let (path, span) = (entry.key.clone(), entry.span.clone());
        if !is_role_name(&name) {
            let why =
                format!("is no name of a role; write 1 to {MAX_NAME} letters, digits, `_`, `-` and `.`");
            reader.report(span.clone(), &path, why);
        }
        let mut table = entry.table(reader)?;
        let mut role = Self { name, ..Self::default() };
        if let Some(entry) = table.take("who") {
            role.who = read_rules(entry, MAX_WHO, WhoPattern::parse, reader);
        }
        if let Some(entry) = table.take("allow") {
            role.allow = read_rules(entry, MAX_PATTERN, ItemPattern::parse, reader);
        }
        if let Some(entry) = table.take("deny") {
            role.deny = read_rules(entry, MAX_PATTERN, ItemPattern::parse, reader);
        }
        if let Some(entry) = table.take("when") {
            role.when = ItemConditions::read_all(entry, reader);
        }
        if let Some(entry) = table.take("quota") {
            role.quota = QuotaConfig::read(entry, reader);
        }
        table.finish(reader, KEYS);
        // A list with a mistake is empty here, and one report of it is enough.
        if let Some(why) = role.missing().filter(|_| !has_diagnostics_below(&path, reader)) {
            reader.report(span, &path, why);
        }
        Some(role)
    }

    /// What the role lacks to have an effect.
    fn missing(&self) -> Option<&'static str> {
        if self.who.is_empty() {
            return Some("needs `who`: the callers that have the role, such as who = [\"group:analysts\"]");
        }
        if self.allow.is_empty() && self.deny.is_empty() {
            return Some("needs `allow` or `deny`, such as allow = [\"clock\"]");
        }
        if !self.when.is_empty() && self.allow.is_empty() {
            return Some("has `when` without `allow`; `when` says for which arguments a call is allowed");
        }
        if self.quota.is_some() && self.allow.is_empty() {
            return Some(
                "has `quota` without `allow`; `quota` says how much a caller may use of what is allowed",
            );
        }
        None
    }
}

fn has_diagnostics_below(path: &str, reader: &TomlReader<'_>) -> bool {
    reader.has_diagnostics(&format!("{path}."))
}

fn is_role_name(name: &str) -> bool {
    let allows = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(allows)
}
