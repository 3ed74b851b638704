//! The host of a URI: an address or a name. A text that a resolver could read as another host is rejected.
//!
//! Resolvers read `0x7f.1`, `0177.1` and `2130706433` as addresses. Here an address has exactly one spelling and is
//! compared as an address. Any other text that looks like an address is rejected, so it reaches no resolver. As in the
//! URL standard, a text whose last label is a number looks like an address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Maximum length of a DNS name.
const LONGEST_NAME: usize = 253;

/// Maximum length of a label.
const LONGEST_LABEL: usize = 63;

/// The host of a URI.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A literal address.
    Address(IpAddr),
    /// A name in lower case, without a dot at its end.
    Name(String),
}

/// Why a text is not a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HostParseError {
    /// The text is empty.
    #[error("name a host, such as example.com")]
    Empty,
    /// The name has letters that are not ASCII.
    #[error("write an international name in its ASCII form, which begins with xn--")]
    NotAscii,
    /// The text looks like an address and is not written in the usual form.
    #[error("write an address in its usual form, such as 127.0.0.1 or [::1]")]
    Address,
    /// A label that is invalid in DNS.
    #[error("a host is made of letters, digits and hyphens with dots between them, at most 253 characters")]
    Name,
}

impl Host {
    /// Parses the host of a URI: `example.com`, `192.0.2.1` or `[2001:db8::1]`. Capitals and one dot at the end of a
    /// name make no difference.
    ///
    /// # Errors
    /// When it is neither a name nor an address in its canonical form.
    pub fn parse(text: &str) -> Result<Self, HostParseError> {
        if text.is_empty() {
            return Err(HostParseError::Empty);
        }
        if !text.is_ascii() {
            return Err(HostParseError::NotAscii);
        }
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(HostParseError::Address)?;
            let address: Ipv6Addr = inner.parse().map_err(|_| HostParseError::Address)?;
            // Only the canonical spelling is accepted. An IPv4-mapped address must be written as its IPv4 address.
            let canonical = address.to_string() == inner.to_ascii_lowercase();
            return match canonical && address.to_ipv4_mapped().is_none() {
                true => Ok(Self::Address(address.into())),
                false => Err(HostParseError::Address),
            };
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        name(text).map(Self::Name)
    }

    /// Whether the host is this machine: a loopback address, or `localhost` (RFC 6761, 6.3).
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Address(address) => address.is_loopback(),
            Self::Name(name) => name == "localhost",
        }
    }
}

fn name(text: &str) -> Result<String, HostParseError> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or_default();
    if is_number(last) {
        return Err(HostParseError::Address);
    }
    if name.len() > LONGEST_NAME || !name.split('.').all(is_label) {
        return Err(HostParseError::Name);
    }
    Ok(name)
}

/// Whether some resolver could read a label as a number of an address: decimal, octal or hexadecimal.
fn is_number(label: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits(label) || label.strip_prefix("0x").is_some_and(hexadecimal)
}

/// Whether a text is a label of a name in lower case. Host names have no underscores by the standard, but some real
/// hosts do.
fn is_label(label: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    !label.is_empty()
        && label.len() <= LONGEST_LABEL
        && label.bytes().all(|byte| inner(byte) || byte == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        for text in ["127.0.0.1", "8.8.8.8", "[::1]", "[2606:4700::1111]", "[fd00:ec2::254]"] {
            assert_eq!(Host::parse(text).map(|host| host.to_string()).as_deref(), Ok(text));
        }
        for text in [
            "2130706433",
            "0x7f.1",
            "0x7f000001",
            "0X7F.0.0.1",
            "0177.1",
            "0177.0.0.01",
            "127.1",
            "127.0.0.1.",
            "127.0.0.256",
            "1.2.3.4.5",
            "example.0x",
            "example.1",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[0:0:0:0:0:0:0:1]",
            "[::0001]",
            "[fe80::1%eth0]",
            "[::1",
            "[127.0.0.1]",
            "[]",
        ] {
            assert_eq!(Host::parse(text), Err(HostParseError::Address), "{text}");
        }
    }

    #[test]
    fn a_name_is_compared_without_capitals_and_final_dot() {
        let same = Host::Name("www.example.com".to_owned());
        for text in ["www.example.com", "WWW.Example.COM", "www.example.com."] {
            assert_eq!(Host::parse(text).as_ref(), Ok(&same), "{text}");
        }
        assert!(Host::parse("my_bucket.xn--bcher-kva.example").is_ok());
    }

    #[test]
    fn what_dns_does_not_allow_is_no_name() {
        let long = "a".repeat(64);
        let longest = ["a".repeat(63).as_str(); 4].join(".");
        for text in [
            ".", "..", "a..b", ".a", "a..", "-a.b", "a-.b", "a b", "a/b", "a@b", "a%41", "*.b", &long,
            &longest,
        ] {
            assert_eq!(Host::parse(text), Err(HostParseError::Name), "{text}");
        }
        assert_eq!(Host::parse(""), Err(HostParseError::Empty));
        assert_eq!(Host::parse("bücher.example"), Err(HostParseError::NotAscii));
        assert_eq!(Host::parse("１２７.0.0.1"), Err(HostParseError::NotAscii));
    }
}
