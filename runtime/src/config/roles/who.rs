//! `who`: the callers that have a role.
//!
//! A star stands for something only in names of certificates. Elsewhere it is a mistake: a name that only looks like a
//! pattern would be nobody's, and the operator would not notice.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::config::principal_name::is_readable;

/// How the ids of principals begin.
const PRINCIPAL_KINDS: [&str; 3] = ["oauth:", "token:", "cert:"];

/// One entry of `who`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WhoPattern {
    /// Every caller, authenticated or not.
    Anyone,
    /// Every principal.
    Authenticated,
    /// The client that started this process.
    Stdio,
    /// Principals with this group.
    Group(Box<str>),
    /// Principals whose access token was issued to this OAuth client.
    Client(Box<str>),
    /// Principals whose token has this scope.
    Scope(Box<str>),
    /// The principal of this token of `[[auth.tokens]]`.
    Token(Box<str>),
    /// Principals with a client certificate for such a subject.
    Certificate(CertificatePattern),
    /// Clients of HTTP in this network.
    Address(IpNet),
    /// Principals whose access token has this `sub`, of any issuer.
    Subject(Box<str>),
    /// The principal with this id.
    Principal(Box<str>),
}

/// Subjects of certificates.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CertificatePattern {
    /// Every subject.
    Any,
    /// Every DNS name that ends with this text, which begins with a dot.
    Below(Box<str>),
    /// This subject.
    Exactly(Box<str>),
}

/// Why a text names no callers. The sentences follow the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WhoPatternError {
    /// None of the words and kinds.
    #[error(
        "names no callers; write `anyone`, `authenticated` or `stdio`, or begin with group:, client:, scope:, token:, \
         cert:, address:, sub: or principal:"
    )]
    Unknown,
    /// Nothing after the colon.
    #[error("needs a name after the colon")]
    Empty,
    /// A hidden character, or a space where no name has one.
    #[error("has a hidden character or a space at one of its ends, as no name has")]
    Hidden,
    /// A star where it stands for nothing.
    #[error("has a star, which may stand only in `cert:`; write the whole name")]
    Star,
    /// A star in a name of a certificate that is not at its beginning.
    #[error("may have one star: `cert:*`, or before the end of a DNS name such as `cert:*.example.com`")]
    CertificateStar,
    /// No network.
    #[error("is no network; write one such as `address:10.0.0.0/8`, or one address")]
    Network,
    /// No id of a principal.
    #[error(
        "is no principal; write the id as the audit shows it, such as \
         `principal:oauth:https://idp.example.com#alice` or `principal:token:ci`"
    )]
    Principal,
}

impl WhoPattern {
    /// Parses an entry.
    ///
    /// # Errors
    /// With what to write instead.
    pub fn parse(text: &str) -> Result<Self, WhoPatternError> {
        let Some((kind, name)) = text.split_once(':') else { return word(text) };
        Ok(match kind {
            "group" => Self::Group(whole_name(name)?),
            "client" => Self::Client(whole_name(name)?),
            "scope" => Self::Scope(whole_name(name)?),
            "token" => Self::Token(whole_name(name)?),
            "sub" => Self::Subject(whole_name(name)?),
            "cert" => Self::Certificate(CertificatePattern::parse(name)?),
            "address" => Self::Address(network(name).ok_or(WhoPatternError::Network)?),
            "principal" => Self::Principal(principal(name)?),
            _ => return Err(WhoPatternError::Unknown),
        })
    }

    /// Whether only an authenticated caller can be meant.
    #[must_use]
    pub fn needs_authentication(&self) -> bool {
        !matches!(self, Self::Anyone | Self::Stdio | Self::Address(_))
    }
}

impl CertificatePattern {
    fn parse(name: &str) -> Result<Self, WhoPatternError> {
        match name.strip_prefix('*') {
            Some("") => Ok(Self::Any),
            Some(rest) => match rest.strip_prefix('.') {
                Some(parent) if is_dns_name(parent) => Ok(Self::Below(rest.into())),
                _ => Err(WhoPatternError::CertificateStar),
            },
            None if name.contains('*') => Err(WhoPatternError::CertificateStar),
            None => whole_name(name).map(Self::Exactly),
        }
    }

    /// Whether a certificate with this subject is meant. Only whole labels of a DNS name stand for the star, so neither
    /// an address of mail nor a URI is taken for a DNS name that it ends with.
    #[must_use]
    pub fn matches(&self, subject: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(name) => **name == *subject,
            Self::Below(end) => {
                let cut = subject.len().checked_sub(end.len());
                let parts = cut.and_then(|cut| subject.split_at_checked(cut));
                parts.is_some_and(|(labels, tail)| tail.eq_ignore_ascii_case(end) && is_dns_name(labels))
            }
        }
    }
}

fn word(text: &str) -> Result<WhoPattern, WhoPatternError> {
    match text {
        "anyone" => Ok(WhoPattern::Anyone),
        "authenticated" => Ok(WhoPattern::Authenticated),
        "stdio" => Ok(WhoPattern::Stdio),
        _ => Err(WhoPatternError::Unknown),
    }
}

fn whole_name(name: &str) -> Result<Box<str>, WhoPatternError> {
    if name.is_empty() {
        return Err(WhoPatternError::Empty);
    }
    if name.contains('*') {
        return Err(WhoPatternError::Star);
    }
    if !is_readable(name) {
        return Err(WhoPatternError::Hidden);
    }
    Ok(name.into())
}

fn network(text: &str) -> Option<IpNet> {
    let network: Option<IpNet> = text.parse().ok();
    network.or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from)).map(|network| network.trunc())
}

fn principal(id: &str) -> Result<Box<str>, WhoPatternError> {
    let name = PRINCIPAL_KINDS.iter().find_map(|kind| Some((kind, id.strip_prefix(kind)?)));
    match name {
        Some((_, "")) | None => Err(WhoPatternError::Principal),
        Some((&"oauth:", name)) if !name.contains('#') => Err(WhoPatternError::Principal),
        Some(_) => whole_name(id),
    }
}

fn is_dns_name(text: &str) -> bool {
    let allows = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    text.split('.').all(|label| !label.is_empty() && label.bytes().all(allows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_named_by_a_word_or_a_kind_and_a_name() {
        use WhoPattern as W;
        for (text, pattern) in [
            ("anyone", W::Anyone),
            ("authenticated", W::Authenticated),
            ("stdio", W::Stdio),
            ("group:/team/a:b", W::Group("/team/a:b".into())),
            ("client:ci-bot", W::Client("ci-bot".into())),
            ("scope:data", W::Scope("data".into())),
            ("token:ci", W::Token("ci".into())),
            ("sub:alice", W::Subject("alice".into())),
            ("cert:*", W::Certificate(CertificatePattern::Any)),
            ("cert:*.example.com", W::Certificate(CertificatePattern::Below(".example.com".into()))),
            ("cert:spiffe://a/b", W::Certificate(CertificatePattern::Exactly("spiffe://a/b".into()))),
            ("address:10.1.2.3/8", W::Address("10.0.0.0/8".parse().unwrap())),
            ("address:::1", W::Address("::1/128".parse().unwrap())),
            ("principal:oauth:https://i#a", W::Principal("oauth:https://i#a".into())),
            ("principal:token:ci", W::Principal("token:ci".into())),
        ] {
            assert_eq!(WhoPattern::parse(text), Ok(pattern), "{text}");
        }
    }

    #[test]
    fn what_names_nobody_is_a_mistake() {
        use WhoPatternError as E;
        for (text, error) in [
            ("", E::Unknown),
            ("everyone", E::Unknown),
            ("Anyone", E::Unknown),
            ("user:alice", E::Unknown),
            ("group:", E::Empty),
            ("group:*", E::Star),
            ("sub:al*", E::Star),
            ("group:a\nb", E::Hidden),
            ("group: a", E::Hidden),
            ("sub:a ", E::Hidden),
            ("cert:a\u{fe0f}", E::Hidden),
            ("principal:token:a\u{e0100}", E::Hidden),
            ("cert:", E::Empty),
            ("cert:a*", E::CertificateStar),
            ("cert:*example.com", E::CertificateStar),
            ("cert:*.", E::CertificateStar),
            ("cert:*.*.example.com", E::CertificateStar),
            ("address:10.0.0.0/33", E::Network),
            ("address:host", E::Network),
            ("principal:stdio", E::Principal),
            ("principal:oauth:alice", E::Principal),
            ("principal:token:", E::Principal),
        ] {
            assert_eq!(WhoPattern::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_star_in_a_certificates_name_stands_for_labels_of_dns() {
        let below = CertificatePattern::parse("*.example.com").unwrap();
        for (subject, fits) in [
            ("a.example.com", true),
            ("A.Example.COM", true),
            ("a.b.example.com", true),
            ("example.com", false),
            (".example.com", false),
            ("*.example.com", false),
            ("bob@a.example.com", false),
            ("spiffe://x/a.example.com", false),
            ("a.example.com.evil.test", false),
            ("aexample.com", false),
            ("é.example.com", false),
        ] {
            assert_eq!(below.matches(subject), fits, "{subject}");
        }
        assert!(CertificatePattern::parse("alice").unwrap().matches("alice"));
        assert!(!CertificatePattern::parse("alice").unwrap().matches("Alice"));
    }
}
