//! A caller in the words of an operator, such as `sub:alice group:analysts`, for `plugport access`.
//!
//! The words are those of `who`, so that an operator writes a caller as a role names it. They are facts about one
//! caller here: a word that names many, such as `authenticated`, is a mistake, and so are facts that no caller can have
//! together. What the operator leaves out, the caller does not have: no group, no scope, no address.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use super::subject::Subject;
use crate::access::principal::{Principal, PrincipalKind};
use crate::access::static_tokens;
use crate::config::{AuthConfig, CertificatePattern, StaticToken, WhoPattern, WhoPatternError, nearest};

/// Most names that an error lists.
const MAX_LISTED: usize = 20;

/// The word for a caller without credentials, which no entry of `who` has.
const ANONYMOUS: &str = "anonymous";

/// A caller as an operator describes it.
#[derive(Debug, Clone)]
pub struct DescribedCaller {
    is_stdio: bool,
    principal: Option<Arc<Principal>>,
    address: Option<IpAddr>,
    warnings: Vec<String>,
}

/// Why words describe no caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescribedCallerError {
    /// None of the words and kinds.
    #[error(
        "`{}` says nothing about a caller; write `stdio`, `anonymous`, or facts such as token:NAME, sub:NAME, \
         group:NAME, scope:NAME, client:ID, cert:SUBJECT, address:IP and principal:ID",
        .0.escape_debug()
    )]
    Unknown(String),
    /// A kind with a wrong name.
    #[error("`{}` {error}", .word.escape_debug())]
    Name {
        /// The word.
        word: String,
        /// What is wrong with it.
        error: WhoPatternError,
    },
    /// A word that names many callers.
    #[error(
        "`{}` may name many callers; write facts about one, such as sub:alice or address:10.0.0.7",
        .0.escape_debug()
    )]
    Many(String),
    /// Two facts that no caller has together.
    #[error("`{}` and `{}` describe no caller together: {why}", .one.escape_debug(), .other.escape_debug())]
    Apart {
        /// The first.
        one: String,
        /// The second.
        other: String,
        /// Why not.
        why: &'static str,
    },
    /// A fact about a principal where nobody is authenticated.
    #[error(
        "`{}` is nobody, since there is no [auth] and no caller is authenticated; write `anonymous` or `stdio`",
        .0.escape_debug()
    )]
    NoAuth(String),
    /// A token that the configuration does not have.
    #[error("[[auth.tokens]] has no token `{}`{names}", .name.escape_debug())]
    NoToken {
        /// The token's name.
        name: String,
        /// The names that there are, in words.
        names: String,
    },
    /// An access token where no issuer is accepted.
    #[error("`{}` is nobody, since [[auth.issuers]] has {issuers}", .word.escape_debug())]
    NoIssuer {
        /// The word.
        word: String,
        /// The issuers that there are, in words.
        issuers: String,
    },
}

use DescribedCallerError as E;

impl DescribedCaller {
    /// The caller that all these words describe, at the time `now`.
    ///
    /// # Errors
    /// When the words describe no caller, or one that the configuration does not know.
    pub fn parse(words: &[String], auth: Option<&AuthConfig>, now: SystemTime) -> Result<Self, E> {
        let mut facts = CallerFacts::default();
        for word in words {
            facts.add(word)?;
        }
        facts.check()?;
        let mut caller = Self {
            is_stdio: facts.stdio.is_some(),
            principal: None,
            address: facts.address,
            warnings: Vec::new(),
        };
        let Some(word) = facts.first_of_principal().map(str::to_owned) else { return Ok(caller) };
        let auth = auth.ok_or(E::NoAuth(word))?;
        let principal = match &facts.identity {
            Some((_, Identity::Token(name))) => caller.token(name, auth, now)?,
            Some((_, Identity::Certificate(subject))) => {
                new_principal(PrincipalKind::Certificate, format!("cert:{subject}"), subject)
            }
            _ => caller.access_token(&facts, auth)?,
        };
        caller.principal = Some(Arc::new(principal));
        Ok(caller)
    }

    /// The caller as rules see it.
    #[must_use]
    pub fn subject(&self) -> Subject<'_> {
        match self.is_stdio {
            true => Subject::Stdio,
            false => Subject::Http { principal: self.principal.as_deref(), address: self.address },
        }
    }

    /// What the operator may not expect of this caller, one sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The principal of a token of the configuration, with its groups and scopes. Of several with this name, the first
    /// that has not expired.
    fn token(&mut self, name: &str, auth: &AuthConfig, now: SystemTime) -> Result<Principal, E> {
        let named: Vec<&StaticToken> = auth.tokens.iter().filter(|token| token.name == name).collect();
        let is_valid = |token: &&&StaticToken| token.until.is_none_or(|until| now < until);
        let token = named.iter().find(is_valid).or_else(|| named.first());
        let Some(token) = token else {
            return Err(E::NoToken { name: name.to_owned(), names: token_names(name, auth) });
        };
        let is_other =
            |other: &&StaticToken| (&other.groups, &other.scopes) != (&token.groups, &token.scopes);
        if named.iter().any(is_other) {
            self.warnings.push(format!(
                "[[auth.tokens]] has several tokens `{name}`, and their groups or scopes differ; this is the first \
                 that has not expired"
            ));
        }
        Ok(static_tokens::principal(token))
    }

    /// The principal of an access token, of which the operator may leave the subject open.
    fn access_token(&mut self, facts: &CallerFacts, auth: &AuthConfig) -> Result<Principal, E> {
        let subject = match &facts.identity {
            Some((word, Identity::Subject { issuer, name })) => {
                let known = known_issuer(word, issuer.as_deref(), auth)?;
                if known.is_none() {
                    self.warnings.push(
                        "which issuer is not said, so no entry `principal:` of a role counts here; write \
                         principal:oauth:ISSUER#SUBJECT"
                            .to_owned(),
                    );
                }
                Some((known, name.as_str()))
            }
            _ => None,
        };
        if let (Some((word, _)), true) = (&facts.client, auth.issuers.is_empty()) {
            return Err(no_issuer(word, auth));
        }
        let of_groups = facts.groups.iter().map(|(word, name)| (word, auth.why_nobody_has_group(name)));
        let of_scopes = facts.scopes.iter().map(|(word, name)| (word, auth.why_nobody_has_scope(name)));
        let nobody = of_groups.chain(of_scopes).filter_map(|(word, why)| Some((word, why?)));
        self.warnings.extend(nobody.map(|(word, why)| format!("`{}` {why}", word.escape_debug())));
        // Without subject and issuer no entry names the principal by them: neither text of an entry is empty.
        let (issuer, name) = subject.unwrap_or_default();
        let id = issuer.map(|issuer| format!("oauth:{issuer}#{name}")).unwrap_or_default();
        let principal = new_principal(PrincipalKind::OAuth, id, name);
        Ok(Principal {
            issuer: issuer.map(Into::into),
            client: facts.client.as_ref().map(|(_, client)| client.as_str().into()),
            groups: names(&facts.groups),
            scopes: names(&facts.scopes),
            ..principal
        })
    }
}

/// What the words say, each with the word.
#[derive(Debug, Default)]
struct CallerFacts {
    stdio: Option<String>,
    anonymous: Option<String>,
    identity: Option<(String, Identity)>,
    client: Option<(String, String)>,
    groups: Vec<(String, String)>,
    scopes: Vec<(String, String)>,
    address: Option<IpAddr>,
    address_word: Option<String>,
}

/// How a caller was authenticated, and as whom.
#[derive(Debug)]
enum Identity {
    Token(String),
    Certificate(String),
    /// The `sub` of an access token.
    Subject {
        issuer: Option<String>,
        name: String,
    },
}

impl CallerFacts {
    fn add(&mut self, word: &str) -> Result<(), E> {
        let owned = || word.to_owned();
        if word == ANONYMOUS {
            return set(&mut self.anonymous, owned(), |known| known, word);
        }
        let pattern = WhoPattern::parse(word).map_err(|error| match error {
            WhoPatternError::Unknown => E::Unknown(owned()),
            error => E::Name { word: owned(), error },
        })?;
        match pattern {
            WhoPattern::Stdio => set(&mut self.stdio, owned(), |known| known, word),
            WhoPattern::Group(name) => {
                self.groups.push((owned(), name.into()));
                Ok(())
            }
            WhoPattern::Scope(name) => {
                self.scopes.push((owned(), name.into()));
                Ok(())
            }
            WhoPattern::Client(name) => {
                set(&mut self.client, (owned(), name.into()), |(known, _)| known, word)
            }
            WhoPattern::Token(name) => self.identify(word, Identity::Token(name.into())),
            WhoPattern::Subject(name) => {
                self.identify(word, Identity::Subject { issuer: None, name: name.into() })
            }
            WhoPattern::Certificate(CertificatePattern::Exactly(name)) => {
                self.identify(word, Identity::Certificate(name.into()))
            }
            WhoPattern::Principal(id) => {
                self.identify(word, identity_of(&id).ok_or_else(|| E::Unknown(owned()))?)
            }
            WhoPattern::Address(network) if network.prefix_len() == network.max_prefix_len() => {
                self.address = Some(network.addr());
                set(&mut self.address_word, owned(), |known| known, word)
            }
            WhoPattern::Address(_)
            | WhoPattern::Anyone
            | WhoPattern::Authenticated
            | WhoPattern::Certificate(CertificatePattern::Any | CertificatePattern::Below(_)) => {
                Err(E::Many(owned()))
            }
        }
    }

    fn identify(&mut self, word: &str, identity: Identity) -> Result<(), E> {
        set(&mut self.identity, (word.to_owned(), identity), |(known, _)| known, word)
    }

    /// The first word that only an authenticated caller can have.
    fn first_of_principal(&self) -> Option<&str> {
        let identity = self.identity.as_ref().map(|(word, _)| word);
        let words = identity.into_iter().chain(self.claims());
        words.map(String::as_str).next()
    }

    /// The words for what a token says besides its holder.
    fn claims(&self) -> impl Iterator<Item = &String> {
        self.client.iter().chain(&self.groups).chain(&self.scopes).map(|(word, _)| word)
    }

    /// Finds facts that no caller has together.
    fn check(&self) -> Result<(), E> {
        let apart = |one: &str, other: &str, why: &'static str| {
            Err(E::Apart { one: one.to_owned(), other: other.to_owned(), why })
        };
        let of_principal = self.first_of_principal();
        let others = || self.anonymous.as_deref().or(of_principal).or(self.address_word.as_deref());
        if let (Some(stdio), Some(other)) = (&self.stdio, others()) {
            return apart(stdio, other, "the client on stdio has neither credentials nor an address");
        }
        if let (Some(anonymous), Some(other)) = (&self.anonymous, of_principal) {
            return apart(anonymous, other, "a caller without credentials has nothing that credentials say");
        }
        match (&self.identity, self.claims().next()) {
            (Some((word, Identity::Token(_))), Some(claim)) => apart(
                word,
                claim,
                "[[auth.tokens]] says which groups and scopes the token has, and it has no client",
            ),
            (Some((word, Identity::Certificate(_))), Some(claim)) => {
                apart(word, claim, "a certificate has neither groups nor scopes nor a client")
            }
            _ => Ok(()),
        }
    }
}

/// Notes a fact that a caller has once.
fn set<T>(fact: &mut Option<T>, value: T, word_of: impl Fn(&T) -> &String, word: &str) -> Result<(), E> {
    if let Some(known) = fact {
        let (one, other) = (word_of(known).clone(), word.to_owned());
        return Err(E::Apart { one, other, why: "write one of the two" });
    }
    *fact = Some(value);
    Ok(())
}

fn names(facts: &[(String, String)]) -> Vec<Box<str>> {
    facts.iter().map(|(_, name)| name.as_str().into()).collect()
}

/// What the id of a principal says.
fn identity_of(id: &str) -> Option<Identity> {
    let (kind, name) = id.split_once(':')?;
    match kind {
        "token" => Some(Identity::Token(name.to_owned())),
        "cert" => Some(Identity::Certificate(name.to_owned())),
        "oauth" => {
            // An issuer has no fragment, so the first `#` ends it.
            let (issuer, name) = name.split_once('#')?;
            Some(Identity::Subject { issuer: Some(issuer.to_owned()), name: name.to_owned() })
        }
        _ => None,
    }
}

/// The issuer of an access token: the one that is named, or the only one. `None`: there are several.
fn known_issuer<'a>(word: &str, named: Option<&str>, auth: &'a AuthConfig) -> Result<Option<&'a str>, E> {
    let mut known = auth.issuers.iter().map(|issuer| &*issuer.issuer);
    match (named, auth.issuers.as_slice()) {
        (_, []) => Err(no_issuer(word, auth)),
        (Some(named), _) => match known.find(|issuer| *issuer == named) {
            Some(issuer) => Ok(Some(issuer)),
            None => Err(no_issuer(word, auth)),
        },
        (None, [only]) => Ok(Some(&only.issuer)),
        (None, _) => Ok(None),
    }
}

fn no_issuer(word: &str, auth: &AuthConfig) -> E {
    let known: Vec<&str> = auth.issuers.iter().map(|issuer| &*issuer.issuer).collect();
    let issuers = match known.as_slice() {
        [] => "no issuer of access tokens".to_owned(),
        known => format!("only {}", known.join(", ")),
    };
    E::NoIssuer { word: word.to_owned(), issuers }
}

/// The names of the tokens that there are, and the one that may have been meant.
fn token_names(name: &str, auth: &AuthConfig) -> String {
    let mut names: Vec<&str> = auth.tokens.iter().map(|token| token.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let near = nearest(name, &names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let more = names.len().saturating_sub(MAX_LISTED);
    names.truncate(MAX_LISTED);
    let listed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{near} (there are: {listed}{more})")
}

fn new_principal(kind: PrincipalKind, id: String, subject: &str) -> Principal {
    Principal {
        id: id.into(),
        kind,
        issuer: None,
        subject: subject.into(),
        client: None,
        scopes: Vec::new(),
        groups: Vec::new(),
        is_dpop_bound: false,
        expires: None,
    }
}

#[cfg(test)]
mod tests;
