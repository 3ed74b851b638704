//! Warnings about roles that nobody can have, or that more principals have than it seems.

use super::who::WhoPattern;
use super::{RoleConfig, RolesConfig};
use crate::config::auth::AuthConfig;

impl RolesConfig {
    /// Warnings that the operator may not expect, one sentence each.
    #[must_use]
    pub fn warnings(&self, auth: Option<&AuthConfig>) -> Vec<String> {
        self.roles.iter().flat_map(|role| role_warnings(role, auth)).collect()
    }
}

fn role_warnings(role: &RoleConfig, auth: Option<&AuthConfig>) -> Vec<String> {
    let warning = |rule: &super::Rule<WhoPattern>| {
        let why = why_warned(&rule.value, auth)?;
        Some(format!("[roles.{}] line {}: `{}` {why}", role.name, rule.line, rule.text.escape_debug()))
    };
    role.who.iter().filter_map(warning).collect()
}

fn why_warned(pattern: &WhoPattern, auth: Option<&AuthConfig>) -> Option<String> {
    let Some(auth) = auth else {
        let why = "is nobody, since there is no [auth] and no caller is authenticated";
        return pattern.needs_authentication().then(|| why.to_owned());
    };
    let nobody = match pattern {
        WhoPattern::Group(name) => auth.why_nobody_has_group(name),
        WhoPattern::Scope(name) => auth.why_nobody_has_scope(name),
        _ => None,
    };
    if let Some(why) = nobody {
        return Some(why.to_owned());
    }
    match pattern {
        WhoPattern::Token(name) if !auth.tokens.iter().any(|token| *token.name == **name) => {
            Some("is nobody, since [[auth.tokens]] has no token of this name".to_owned())
        }
        WhoPattern::Subject(_) | WhoPattern::Client(_) if auth.issuers.is_empty() => {
            Some("is nobody, since [[auth.issuers]] has no issuer of access tokens".to_owned())
        }
        WhoPattern::Subject(name) if auth.issuers.len() > 1 => Some(format!(
            "may be another principal at each of the {} issuers; write `principal:oauth:ISSUER#{}` for one of them",
            auth.issuers.len(),
            name.escape_debug()
        )),
        WhoPattern::Group(_) | WhoPattern::Client(_) if auth.issuers.len() > 1 => Some(format!(
            "counts whichever of the {} issuers says so; each of them can give this role to any principal",
            auth.issuers.len()
        )),
        _ => None,
    }
}
