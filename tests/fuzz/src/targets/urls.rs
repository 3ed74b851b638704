//! A grant of HTTP follows the URL standard: for every URL of the `url` crate, the grant compares the scheme, host and
//! port that this crate reads, like a naive reader of docs/grants.md. An accepted host is the host that the standard
//! reads in the same text, so no spelling of an address passes for a name.

use std::net::IpAddr;

use plugport::config::{Host, HttpGrant, Scheme};
use url::Url;

use crate::Target;
use crate::split_input::Fields;

pub(crate) const TARGET: Target = Target {
    name: "urls",
    check,
    words: &[
        "\x1f",
        "https://",
        "http://",
        "GET ",
        "GET,HEAD ",
        "GET",
        "POST",
        "CONNECT",
        "*.",
        "example.com",
        "a.example.com",
        "localhost",
        "127.0.0.1",
        "0x7f.1",
        "0177.1",
        "2130706433",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[fe80::1%25eth0]",
        ":80",
        ":443",
        ":8443",
        ":0",
        "@",
        "\\",
        "%2e",
        "%41",
        "xn--",
        "\u{3002}",
        "\u{ff0e}",
        "\u{ad}",
        "\u{df}",
        "\t",
        "#",
        "?",
        "/",
        ";",
    ],
};

/// A pattern, a method, a URL, and the host of a URI as a guest may write it.
fn check(input: &[u8]) {
    let mut fields = Fields::new(input);
    let (pattern, method, url, host) = (fields.text(), fields.text(), fields.text(), fields.text());
    a_host_is_what_the_standard_reads(&host);
    let Ok(grant) = HttpGrant::parse(&pattern) else { return };
    let shown = grant.to_string();
    assert_eq!(HttpGrant::parse(&shown).as_ref(), Ok(&grant), "{pattern:?} is shown as {shown:?}");
    let reference = ReferencePattern::read(&pattern);
    let Some(asked) = Url::parse(&url).ok().as_ref().and_then(UrlParts::read) else { return };
    // The runtime never connects to a host that it does not accept.
    let Ok(host) = Host::parse(&asked.written) else { return };
    let scheme = if asked.scheme == "https" { Scheme::Https } else { Scheme::Http };
    let allowed = grant.allows(&method, scheme, &host, asked.port);
    assert_eq!(
        allowed,
        reference.allows(&method, &asked),
        "{pattern:?} for {method} {url:?}, which is {asked:?}"
    );
}

/// Only names in Punycode may be accepted here and not there: the standard also checks the decoded name.
fn a_host_is_what_the_standard_reads(text: &str) {
    let Ok(host) = Host::parse(text) else { return };
    let read = Url::parse(&format!("http://{text}/"));
    let Ok(url) = read else {
        assert!(text.to_ascii_lowercase().contains("xn--"), "{text:?} is {host:?}, and no host in a URL");
        return;
    };
    let same = match (&host, url.host()) {
        (Host::Address(IpAddr::V4(own)), Some(url::Host::Ipv4(theirs))) => *own == theirs,
        (Host::Address(IpAddr::V6(own)), Some(url::Host::Ipv6(theirs))) => *own == theirs,
        (Host::Name(own), Some(url::Host::Domain(theirs))) => own == theirs.trim_end_matches('.'),
        _ => false,
    };
    assert!(same, "{text:?} is {host:?} here and {:?} in a URL", url.host());
    assert!(
        url.path() == "/" && url.username().is_empty() && url.port().is_none(),
        "{text:?} is more than a host"
    );
    assert_eq!(Host::parse(&host.to_string()).as_ref(), Ok(&host), "{text:?} is shown as {host}");
}

/// The scheme, host and port of a URL.
#[derive(Debug)]
struct UrlParts {
    scheme: String,
    written: String,
    /// Without a dot at its end.
    host: String,
    port: u16,
}

impl UrlParts {
    fn read(url: &Url) -> Option<Self> {
        let scheme = url.scheme();
        let written = url.host_str()?.to_owned();
        let host = written.strip_suffix('.').unwrap_or(&written).to_owned();
        let known = matches!(scheme, "http" | "https");
        known.then_some(Self { scheme: scheme.to_owned(), written, host, port: url.port_or_known_default()? })
    }
}

/// A pattern, read with the `url` crate.
#[derive(Debug)]
struct ReferencePattern {
    methods: String,
    below: bool,
    asked: UrlParts,
}

impl ReferencePattern {
    fn read(pattern: &str) -> Self {
        let (methods, uri) =
            pattern.split_once(' ').unwrap_or(("GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS", pattern));
        let url = Url::parse(&uri.replacen("://*.", "://", 1));
        let punycode = uri.to_ascii_lowercase().contains("xn--");
        let asked = match url.as_ref().ok().and_then(UrlParts::read) {
            Some(asked) => asked,
            None if punycode => {
                UrlParts { scheme: String::new(), written: String::new(), host: String::new(), port: 0 }
            }
            None => panic!("{pattern:?} is granted and is no URL"),
        };
        let here = asked.host == "localhost" || asked.host.ends_with(".localhost");
        let nowhere = matches!(asked.host.as_str(), "0.0.0.0" | "[::]");
        assert!(
            !here && !nowhere && !uri.replacen("://*.", "://", 1).contains('*'),
            "{pattern:?} is granted"
        );
        Self { methods: methods.to_owned(), below: uri.contains("://*."), asked }
    }

    fn allows(&self, method: &str, asked: &UrlParts) -> bool {
        let host = match self.below {
            true => asked.host.ends_with(&format!(".{}", self.asked.host)) && !asked.host.starts_with('.'),
            false => asked.host == self.asked.host,
        };
        let method = !method.is_empty() && self.methods.split(',').any(|known| known == method);
        host && method && asked.scheme == self.asked.scheme && asked.port == self.asked.port
    }
}
