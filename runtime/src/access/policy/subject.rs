//! The caller of a request in the form that rules compare.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::access::principal::{Principal, PrincipalKind};
use crate::config::WhoPattern;

/// The caller of a request.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// The client that started this process. It has the operator's rights, so it needs no scopes.
    Stdio,
    /// A client of HTTP.
    Http {
        /// The principal; `None` without credentials.
        principal: Option<&'a Principal>,
        /// The address of the client, as the operator's proxies report it; `None` if it is unknown.
        address: Option<IpAddr>,
    },
}

impl Subject<'_> {
    /// Whether an entry of `who` matches this caller.
    pub(super) fn is(&self, pattern: &WhoPattern) -> bool {
        let (principal, address) = match *self {
            Self::Stdio => return matches!(pattern, WhoPattern::Anyone | WhoPattern::Stdio),
            Self::Http { principal, address } => (principal, address),
        };
        match pattern {
            WhoPattern::Anyone => true,
            WhoPattern::Stdio => false,
            // An IPv4 address may come in its IPv4-mapped form.
            WhoPattern::Address(network) => address.is_some_and(|at| network.contains(&at.to_canonical())),
            pattern => principal.is_some_and(|principal| is_principal(principal, pattern)),
        }
    }

    /// Whether this caller has these scopes.
    #[must_use]
    pub fn has_scopes(&self, required: &[Box<str>]) -> bool {
        match *self {
            Self::Stdio => true,
            Self::Http { principal: None, .. } => required.is_empty(),
            Self::Http { principal: Some(principal), .. } => principal.lacking(required).next().is_none(),
        }
    }

    /// Whether this caller has those scopes of another that are needed. A client on stdio needs no scopes, so only a
    /// client on stdio has all that it may use.
    pub(super) fn has_scopes_of(&self, other: &Subject<'_>, needed: &BTreeSet<Box<str>>) -> bool {
        let Subject::Http { principal, .. } = *other else { return matches!(self, Self::Stdio) };
        let mut scopes = principal.into_iter().flat_map(|principal| &principal.scopes);
        scopes.all(|scope| self.has_scopes(std::slice::from_ref(scope)) || !needed.contains(scope))
    }
}

/// Whether an entry that requires authentication matches this principal. Names of different kinds of credentials are
/// never mixed up: a token that the operator named `alice` does not match an entry for the `sub` `alice`.
fn is_principal(principal: &Principal, pattern: &WhoPattern) -> bool {
    let has = |names: &[Box<str>], name: &str| names.iter().any(|own| **own == *name);
    let is_subject = |kind: PrincipalKind| principal.kind == kind;
    match pattern {
        WhoPattern::Anyone | WhoPattern::Authenticated => true,
        WhoPattern::Stdio | WhoPattern::Address(_) => false,
        WhoPattern::Group(name) => has(&principal.groups, name),
        WhoPattern::Scope(name) => has(&principal.scopes, name),
        WhoPattern::Client(name) => principal.client.as_deref() == Some(&**name),
        WhoPattern::Token(name) => is_subject(PrincipalKind::Token) && *principal.subject == **name,
        WhoPattern::Subject(name) => is_subject(PrincipalKind::OAuth) && *principal.subject == **name,
        WhoPattern::Certificate(name) => {
            is_subject(PrincipalKind::Certificate) && name.matches(&principal.subject)
        }
        WhoPattern::Principal(id) => *principal.id == **id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(kind: PrincipalKind, id: &str, subject: &str) -> Principal {
        Principal {
            id: id.into(),
            kind,
            issuer: None,
            subject: subject.into(),
            client: Some("bot".into()),
            scopes: vec!["data".into()],
            groups: vec!["analysts".into()],
            is_dpop_bound: false,
            expires: None,
        }
    }

    fn names(subject: Subject<'_>, patterns: &[&str]) -> Vec<bool> {
        patterns.iter().map(|text| subject.is(&WhoPattern::parse(text).unwrap())).collect()
    }

    #[test]
    fn a_caller_is_named_by_what_was_verified() {
        let alice = principal(PrincipalKind::OAuth, "oauth:https://i#alice", "alice");
        let address = Some("::ffff:10.0.0.7".parse().unwrap());
        let subject = Subject::Http { principal: Some(&alice), address };
        let of_alice = [
            "anyone",
            "authenticated",
            "group:analysts",
            "scope:data",
            "client:bot",
            "sub:alice",
            "principal:oauth:https://i#alice",
            "address:10.0.0.0/8",
        ];
        assert!(names(subject, &of_alice).iter().all(|named| *named));
        let of_others = [
            "stdio",
            "group:analyst",
            "scope:dat",
            "client:alice",
            "token:alice",
            "cert:*",
            "cert:alice",
            "principal:oauth:https://j#alice",
            "address:192.0.2.0/24",
        ];
        assert!(names(subject, &of_others).iter().all(|named| !named));
    }

    #[test]
    fn a_name_of_one_kind_of_credentials_is_none_of_another() {
        for (kind, pattern) in [
            (PrincipalKind::OAuth, "sub:alice"),
            (PrincipalKind::Token, "token:alice"),
            (PrincipalKind::Certificate, "cert:alice"),
        ] {
            let alice = principal(kind, "x", "alice");
            let subject = Subject::Http { principal: Some(&alice), address: None };
            let named = names(subject, &["sub:alice", "token:alice", "cert:alice", "address:0.0.0.0/0"]);
            assert_eq!(named.iter().filter(|named| **named).count(), 1, "{kind:?}");
            assert_eq!(names(subject, &[pattern]), [true]);
        }
    }

    #[test]
    fn who_is_not_authenticated_is_anyone_at_an_address() {
        let anonymous = Subject::Http { principal: None, address: Some("192.0.2.1".parse().unwrap()) };
        let patterns = ["anyone", "address:192.0.2.1", "authenticated", "cert:*", "stdio"];
        assert_eq!(names(anonymous, &patterns), [true, true, false, false, false]);
        assert_eq!(names(Subject::Stdio, &patterns), [true, false, false, false, true]);
    }

    #[test]
    fn scopes_are_required_of_clients_of_http() {
        let alice = principal(PrincipalKind::OAuth, "x", "alice");
        let (held, lacking): ([Box<str>; 1], [Box<str>; 2]) = (["data".into()], ["data".into(), "w".into()]);
        let subject = Subject::Http { principal: Some(&alice), address: None };
        assert!(subject.has_scopes(&held) && !subject.has_scopes(&lacking) && subject.has_scopes(&[]));
        let anonymous = Subject::Http { principal: None, address: None };
        assert!(!anonymous.has_scopes(&held) && anonymous.has_scopes(&[]));
        assert!(Subject::Stdio.has_scopes(&lacking));
    }
}
