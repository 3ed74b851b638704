//! The grant `http`: requests to hosts. `"https://*.example.com"`, `"GET https://api.example.org:8443"`,
//! `"http://127.0.0.1:9000"`; on the command line `http=PATTERN`. With `{ pattern = PATTERN, trace = true }`, requests
//! to the host carry the trace context.
//!
//! A pattern is parsed once, and requests are compared with the parsed values. A granted name allows the public
//! addresses of that name; a granted address allows that address in any network. So the owner of a name can never
//! redirect it into a private network.

#[cfg(test)]
mod read_tests;
mod uri_host;

use std::fmt;
use std::net::IpAddr;
use std::path::Path;

use toml::de::DeValue;
pub use uri_host::{Host, HostParseError};

use crate::capability::grant_trait::{
    Grant, GrantContext, GrantError, GrantOption, GrantSentence, Import, list,
};
use crate::toml_reader::{TomlEntry, TomlReader};

/// Methods that can be granted. A pattern without methods grants all of these. `CONNECT` and `TRACE` are never sent.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// The scheme of a URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
}

/// One pattern; it allows the requests that match it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpGrant {
    /// The allowed methods; if empty, all of [`METHODS`].
    methods: Vec<&'static str>,
    scheme: Scheme,
    host: HostPattern,
    port: u16,
    /// Whether requests to the host carry the trace context.
    trace: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Exactly(Host),
    /// Every name that ends with this name, preceded by one or more labels.
    Below(String),
}

/// Why a pattern cannot be granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpGrantError {
    /// An unknown method.
    #[error(
        "`{0}` is no method; write one or more of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, such as `GET,HEAD https://example.com`"
    )]
    Method(String),
    /// The pattern begins neither with `https://` nor with `http://`.
    #[error("begin with https:// or http://, such as `https://example.com`")]
    Scheme,
    /// The pattern has something after the host and the port, or before the host.
    #[error("leave out everything after the host and port; a path, a query or a user cannot be granted")]
    More,
    /// The host is invalid.
    #[error("{0}")]
    Host(#[from] HostParseError),
    /// A star that is not the first label of a name of two or more labels.
    #[error(
        "write `*.` before a name of two labels or more, such as `https://*.example.com`; a star stands for nothing else"
    )]
    Star,
    /// The name ends with a dot.
    #[error("leave out the dot at the end of the name")]
    Dot,
    /// A name of this machine.
    #[error("write 127.0.0.1 or [::1] instead of `localhost`; this machine is granted by its address")]
    Localhost,
    /// An address that stands for no single host, such as 0.0.0.0.
    #[error("{0} does not stand for a single host; grant the address of the host that is meant")]
    NoHost(IpAddr),
    /// The port is not valid.
    #[error("a port is a number from 1 to 65535")]
    Port,
}

impl Scheme {
    /// The default port of the scheme.
    #[must_use]
    pub const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

impl HttpGrant {
    /// Parses a pattern: optional methods; a scheme; a host, or `*.` and a name; an optional port.
    ///
    /// # Errors
    /// When the pattern is invalid. The error says what to write instead.
    pub fn parse(text: &str) -> Result<Self, HttpGrantError> {
        let (methods, uri) = match text.split_once(' ') {
            None => (Vec::new(), text),
            Some((methods, uri)) => (read_methods(methods)?, uri),
        };
        let (scheme, rest) = if let Some(rest) = uri.strip_prefix("https://") {
            (Scheme::Https, rest)
        } else if let Some(rest) = uri.strip_prefix("http://") {
            (Scheme::Http, rest)
        } else {
            return Err(HttpGrantError::Scheme);
        };
        if rest.contains(['/', '?', '#', '@', '\\', ' ']) {
            return Err(HttpGrantError::More);
        }
        let (host, port) = split_port(rest)?;
        let host = read_host(host)?;
        Ok(Self { methods, scheme, host, port: port.unwrap_or(scheme.port()), trace: false })
    }

    /// Reads one element of the array `http`. Returns `None` if it is invalid, after reporting the mistake.
    fn read(entry: TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        if !matches!(entry.value, DeValue::Table(_)) {
            return Self::read_pattern(&entry, reader);
        }
        let (key, span) = (entry.key.clone(), entry.span.clone());
        let mut table = entry.table(reader)?;
        let pattern = table.take("pattern");
        let trace = table.take("trace").and_then(|entry| entry.boolean(reader)).unwrap_or_default();
        table.finish(reader, &["pattern", "trace"]);
        let Some(pattern) = pattern else {
            reader.report(span, &key, "needs `pattern`, such as \"https://api.example.com\"");
            return None;
        };
        Self::read_pattern(&pattern, reader).map(|grant| Self { trace, ..grant })
    }

    fn read_pattern(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        let text = entry.string(reader)?;
        match Self::parse(&text) {
            Ok(grant) => Some(grant),
            Err(error) => {
                reader.report(entry.span.clone(), &entry.key, format!("cannot grant `{text}`: {error}"));
                None
            }
        }
    }

    /// Whether requests with this method can be granted at all.
    #[must_use]
    pub fn is_method(name: &str) -> bool {
        METHODS.contains(&name)
    }

    /// Whether requests to the host carry the trace context.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.trace
    }

    /// The NAME of a pattern with `*.NAME`; `None` if the pattern names its host.
    pub(crate) fn parent_name(&self) -> Option<&str> {
        match &self.host {
            HostPattern::Exactly(_) => None,
            HostPattern::Below(parent) => Some(parent),
        }
    }

    /// Whether this pattern allows requests with this method to this host and port.
    #[must_use]
    pub fn allows(&self, method: &str, scheme: Scheme, host: &Host, port: u16) -> bool {
        let method =
            if self.methods.is_empty() { Self::is_method(method) } else { self.methods.contains(&method) };
        method && self.scheme == scheme && self.port == port && self.host.fits(host)
    }
}

/// The patterns of one plugin.
pub(crate) type Granted = Vec<HttpGrant>;

impl Grant for Granted {
    const KEYS: &'static [&'static str] = &["http"];
    const FORMS: &'static [&'static str] = &["http=PATTERN"];
    const IMPORTS: &'static [Import] = &[
        Import::new("wasi:http/", "outgoing HTTP"),
        Import::new("plugport:plugin/http-client", "outgoing HTTP"),
    ];

    fn read(&mut self, _: &str, entry: TomlEntry<'_>, _: GrantContext<'_>, reader: &mut TomlReader<'_>) {
        for entry in entry.array(reader) {
            self.extend(HttpGrant::read(entry, reader));
        }
    }

    fn add(&mut self, option: GrantOption<'_>, _: GrantContext<'_>) -> Result<(), GrantError> {
        self.push(HttpGrant::parse(option.value).map_err(|error| option.error(error.to_string()))?);
        Ok(())
    }

    fn describe(&self, _: &dyn Fn(&Path) -> String, sentences: &mut Vec<GrantSentence>) {
        let shown = self.iter().map(|grant| match grant.trace {
            true => format!("{grant} (with trace context)"),
            false => grant.to_string(),
        });
        sentences.extend(list("http", "send HTTP requests:", shown));
    }

    fn is_subset_of(&self, other: &Self) -> bool {
        self.iter().all(|grant| other.contains(grant))
    }
}

impl HostPattern {
    fn fits(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Exactly(this), host) => this == host,
            (Self::Below(parent), Host::Name(name)) => name
                .strip_suffix(parent.as_str())
                .is_some_and(|below| below.len() > 1 && below.ends_with('.')),
            (Self::Below(_), Host::Address(_)) => false,
        }
    }
}

impl fmt::Display for HttpGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.methods.is_empty() {
            write!(f, "{} ", self.methods.join(","))?;
        }
        match &self.host {
            HostPattern::Exactly(host) => write!(f, "{}://{host}", self.scheme)?,
            HostPattern::Below(parent) => write!(f, "{}://*.{parent}", self.scheme)?,
        }
        if self.port == self.scheme.port() { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

fn read_methods(text: &str) -> Result<Vec<&'static str>, HttpGrantError> {
    let known = |name: &str| METHODS.into_iter().find(|method| *method == name);
    text.split(',').map(|name| known(name).ok_or_else(|| HttpGrantError::Method(name.to_owned()))).collect()
}

/// Splits an authority without a user into its host and its port.
fn split_port(authority: &str) -> Result<(&str, Option<u16>), HttpGrantError> {
    let colon = match authority.rfind(']') {
        Some(end) => authority.get(end..).and_then(|tail| tail.find(':')).map(|at| end + at),
        None => authority.find(':'),
    };
    let Some((host, port)) = colon.and_then(|at| authority.split_at_checked(at)) else {
        return Ok((authority, None));
    };
    let digits = port.strip_prefix(':').unwrap_or_default();
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    let port = digits.parse().ok().filter(|_| plain);
    port.map(|port| (host, Some(port))).ok_or(HttpGrantError::Port)
}

fn read_host(text: &str) -> Result<HostPattern, HttpGrantError> {
    if text.ends_with('.') {
        return Err(HttpGrantError::Dot);
    }
    let (below, text) = match text.strip_prefix("*.") {
        Some(parent) => (true, parent),
        None => (false, text),
    };
    if text.contains('*') {
        return Err(HttpGrantError::Star);
    }
    match Host::parse(text)? {
        Host::Name(name) if name == "localhost" || name.ends_with(".localhost") => {
            Err(HttpGrantError::Localhost)
        }
        Host::Name(name) if below && name.contains('.') => Ok(HostPattern::Below(name)),
        _ if below => Err(HttpGrantError::Star),
        Host::Address(address) if address.is_unspecified() || address.is_multicast() => {
            Err(HttpGrantError::NoHost(address))
        }
        host => Ok(HostPattern::Exactly(host)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(pattern: &str, method: &str, scheme: Scheme, host: &str, port: u16) -> bool {
        HttpGrant::parse(pattern).unwrap().allows(method, scheme, &Host::parse(host).unwrap(), port)
    }

    #[test]
    fn a_pattern_is_exact_in_scheme_host_and_port() {
        assert!(allows("https://example.com", "GET", Scheme::Https, "EXAMPLE.com.", 443));
        for (scheme, host, port) in [
            (Scheme::Http, "example.com", 443),
            (Scheme::Http, "example.com", 80),
            (Scheme::Https, "example.com", 8443),
            (Scheme::Https, "www.example.com", 443),
            (Scheme::Https, "example.com.evil.test", 443),
            (Scheme::Https, "notexample.com", 443),
        ] {
            assert!(!allows("https://example.com", "GET", scheme, host, port), "{scheme} {host} {port}");
        }
        assert!(allows("http://127.0.0.1:9000", "POST", Scheme::Http, "127.0.0.1", 9000));
        assert!(allows("http://[::1]:9000", "POST", Scheme::Http, "[::1]", 9000));
    }

    #[test]
    fn a_star_stands_for_whole_labels() {
        for (host, fits) in [
            ("a.example.com", true),
            ("a.b.example.com", true),
            ("example.com", false),
            ("aexample.com", false),
            ("a.example.com.evil.test", false),
            ("192.0.2.1", false),
        ] {
            assert_eq!(allows("https://*.example.com", "GET", Scheme::Https, host, 443), fits, "{host}");
        }
    }

    #[test]
    fn methods_are_those_that_were_named_and_never_connect() {
        assert!(allows("GET,HEAD https://a.test", "HEAD", Scheme::Https, "a.test", 443));
        assert!(!allows("GET,HEAD https://a.test", "POST", Scheme::Https, "a.test", 443));
        assert!(allows("https://a.test", "DELETE", Scheme::Https, "a.test", 443));
        for method in ["CONNECT", "TRACE", "get", "PROPFIND", ""] {
            assert!(!allows("https://a.test", method, Scheme::Https, "a.test", 443), "{method}");
        }
    }

    #[test]
    fn what_cannot_be_granted_says_what_to_write() {
        use HttpGrantError as E;
        for (text, error) in [
            ("example.com", E::Scheme),
            ("ftp://example.com", E::Scheme),
            ("https://example.com/", E::More),
            ("https://example.com?x", E::More),
            ("https://user@example.com", E::More),
            ("GET  https://example.com", E::Scheme),
            ("GET https://example.com x", E::More),
            ("https://*", E::Star),
            ("https://*.com", E::Star),
            ("https://a.*.com", E::Star),
            ("https://*example.com", E::Star),
            ("https://*.*.example.com", E::Star),
            ("https://*.127.0.0.1", E::Star),
            ("https://example.com.", E::Dot),
            ("https://", E::Host(HostParseError::Empty)),
            ("https://bücher.example", E::Host(HostParseError::NotAscii)),
            ("https://a_-.example", E::Host(HostParseError::Name)),
            ("http://0x7f.1", E::Host(HostParseError::Address)),
            ("http://[::ffff:127.0.0.1]", E::Host(HostParseError::Address)),
            ("http://localhost:9000", E::Localhost),
            ("http://a.localhost", E::Localhost),
            ("http://0.0.0.0", E::NoHost("0.0.0.0".parse().unwrap())),
            ("http://224.0.0.1", E::NoHost("224.0.0.1".parse().unwrap())),
            ("https://example.com:", E::Port),
            ("https://example.com:0", E::Port),
            ("https://example.com:080", E::Port),
            ("https://example.com:+80", E::Port),
            ("https://example.com:65536", E::Port),
            ("http://::1", E::Port),
            ("get https://example.com", E::Method("get".to_owned())),
            ("CONNECT https://example.com", E::Method("CONNECT".to_owned())),
        ] {
            assert_eq!(HttpGrant::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_pattern_is_shown_as_it_would_be_written() {
        for text in
            ["https://*.example.com", "GET,HEAD https://a.test:8443", "http://[::1]:9000", "http://10.0.0.1"]
        {
            assert_eq!(HttpGrant::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(HttpGrant::parse("https://A.test:443").unwrap().to_string(), "https://a.test");
    }
}
