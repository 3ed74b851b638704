//! Decides which requests are accepted at all, by `Host`, `Origin` and `Sec-Fetch-Site`.
//!
//! A web page can send requests to a server on the browser's machine, and with DNS rebinding it can even read the
//! responses. But a page cannot choose these headers. An IP address as host is always accepted, because rebinding needs
//! a name.
//!
//! `Origin` names the page that sends a request. Browsers send it with every POST, and with every request whose
//! response a script could read. They omit it where the page cannot read the response: for an image, a script, a frame
//! or a link, and for `fetch` with `no-cors`. Such a GET would still open a stream and take a permit, and only
//! `Sec-Fetch-Site` distinguishes it from a GET of a program. The other `Sec-Fetch` headers are not checked: Node.js
//! sends `Sec-Fetch-Mode` too, and a page must not open a stream by navigation either. A browser from before 2023, or
//! one that uses plain HTTP to another machine, sends none of these headers. With such a browser, a page can only open
//! a stream that it cannot read; it cannot POST, because a form cannot send JSON.

use std::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};

use super::content_types::PlainRejection;
use crate::config::{Host, ServerConfig};

/// The hosts and origins that are allowed besides loopback.
#[derive(Debug)]
pub(in crate::transport) struct OriginCheck {
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// What kind of host an allowed `Host` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::transport) enum HostName {
    /// `localhost`, or a loopback address.
    Loopback,
    /// Another address, or a name that the operator allowed.
    Other,
}

const BAD_HOST: PlainRejection = (
    StatusCode::FORBIDDEN,
    "this Host is not allowed; add it to `allowed_hosts` under [server] in plugport.toml\n",
);
const BAD_ORIGIN: PlainRejection = (
    StatusCode::FORBIDDEN,
    "this Origin is not allowed; add it to `allowed_origins` under [server] in plugport.toml\n",
);
const BAD_SITE: PlainRejection = (
    StatusCode::FORBIDDEN,
    "a page of another origin sent this request without naming itself (Sec-Fetch-Site without Origin); send it with \
     `EventSource`, or with `fetch` in CORS mode\n",
);

/// Where the page that sends a request comes from, relative to this server: `same-origin`, `same-site` or `cross-site`;
/// `none` if the user caused the request.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

impl OriginCheck {
    pub(in crate::transport) fn new(settings: &ServerConfig) -> Self {
        let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self { hosts: lower(&settings.allowed_hosts), origins: lower(&settings.allowed_origins) }
    }

    /// Checks the three headers.
    ///
    /// # Errors
    /// With 403 when a header occurs twice, is malformed, or names a host or an origin that is not allowed.
    pub(in crate::transport) fn check(&self, headers: &HeaderMap) -> Result<HostName, PlainRejection> {
        let host = self.check_host(headers)?;
        match single_value(headers, &header::ORIGIN).map_err(|()| BAD_ORIGIN)? {
            Some(origin) if self.origin_allowed(origin) => Ok(host),
            Some(_) => Err(BAD_ORIGIN),
            // No page sent the request, or a page of this server did. Every other value, even an unknown one, stands
            // for a page of another origin that sends no `Origin`.
            None => match single_value(headers, &FETCH_SITE).map_err(|()| BAD_SITE)? {
                None | Some("none" | "same-origin") => Ok(host),
                Some(_) => Err(BAD_SITE),
            },
        }
    }

    /// Checks only `Host`, which is enough for a GET that changes nothing and whose response no foreign page can read.
    ///
    /// # Errors
    /// With 403 when `Host` is missing, occurs twice, is malformed, or names a host that is not allowed.
    pub(in crate::transport) fn check_host(&self, headers: &HeaderMap) -> Result<HostName, PlainRejection> {
        let host = single_value(headers, &header::HOST).map_err(|()| BAD_HOST)?;
        host.and_then(|host| self.host_name(host)).ok_or(BAD_HOST)
    }

    /// Returns the origin of the page that sends a request, if the origin is allowed.
    pub(super) fn allowed_origin<'h>(&self, headers: &'h HeaderMap) -> Option<&'h HeaderValue> {
        let origin = single_value(headers, &header::ORIGIN).ok().flatten()?;
        if self.origin_allowed(origin) { headers.get(header::ORIGIN) } else { None }
    }

    /// Returns the kind of an allowed host; `None` for any other host.
    fn host_name(&self, host: &str) -> Option<HostName> {
        if is_plain_loopback(host) {
            return Some(HostName::Loopback);
        }
        self.parsed_host_name(host)
    }

    /// Like `host_name`, for a host that has to be parsed.
    fn parsed_host_name(&self, host: &str) -> Option<HostName> {
        let authority = host.parse::<Authority>().ok()?;
        let bare = authority.as_str() == authority.host();
        if authority.as_str().contains('@') || !(bare || authority.port_u16().is_some()) {
            return None;
        }
        let name = authority.host().to_ascii_lowercase();
        if is_loopback(&name) {
            return Some(HostName::Loopback);
        }
        let is_allowed = is_address(&name)
            || self.hosts.contains(&name)
            || self.hosts.contains(&host.to_ascii_lowercase());
        is_allowed.then_some(HostName::Other)
    }

    fn origin_allowed(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        if self.origins.contains(&origin) {
            return true;
        }
        let Ok(uri) = origin.parse::<Uri>() else {
            return false;
        };
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(is_loopback)
    }
}

/// Whether a host is this machine in a spelling that needs no parsing. It must never accept what the parser would
/// reject.
fn is_plain_loopback(host: &str) -> bool {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) => name,
        _ => host,
    };
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

/// Returns the value of a header; an error if the header occurs twice or is not text.
fn single_value<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, ()> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().map(|value| value.to_str().map_err(|_| ())).transpose()?;
    if values.next().is_some() { Err(()) } else { Ok(value) }
}

fn address(name: &str) -> Option<IpAddr> {
    name.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn is_address(name: &str) -> bool {
    address(name).is_some()
}

fn is_loopback(name: &str) -> bool {
    Host::parse(name).is_ok_and(|host| host.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(origin_check: &OriginCheck, pairs: &[(HeaderName, &str)]) -> u16 {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value.parse().unwrap());
        }
        origin_check.check(&headers).map_or_else(|(status, _)| status.as_u16(), |_| 200)
    }

    #[test]
    fn names_that_could_be_rebound_are_rejected() {
        let settings =
            ServerConfig { allowed_hosts: vec!["Tools.example".into()], ..ServerConfig::default() };
        let origin_check = OriginCheck::new(&settings);
        for good in
            ["localhost", "localhost:7584", "127.0.0.1:7584", "[::1]:7584", "10.0.0.5", "tools.example:80"]
        {
            assert_eq!(status(&origin_check, &[(header::HOST, good)]), 200, "{good}");
        }
        for bad in ["evil.example", "localhost.evil.example", "", "a@localhost", "localhost:x"] {
            assert_eq!(status(&origin_check, &[(header::HOST, bad)]), 403, "{bad}");
        }
        assert_eq!(status(&origin_check, &[]), 403);
        assert_eq!(status(&origin_check, &[(header::HOST, "localhost"), (header::HOST, "localhost")]), 403);
    }

    #[test]
    fn a_host_says_whether_it_names_this_machine() {
        let settings =
            ServerConfig { allowed_hosts: vec!["tools.example".into()], ..ServerConfig::default() };
        let host_name = |host: &str| OriginCheck::new(&settings).host_name(host);
        for host in ["localhost", "LOCALHOST:7584", "127.0.0.1:7584", "127.9.9.9", "[::1]", "[::1]:7584"] {
            assert_eq!(host_name(host), Some(HostName::Loopback), "{host}");
        }
        for host in ["tools.example", "10.0.0.5"] {
            assert_eq!(host_name(host), Some(HostName::Other), "{host}");
        }
        assert_eq!(host_name("evil.example"), None);
    }

    #[test]
    fn what_needs_no_parsing_would_be_parsed_as_the_same() {
        let check = OriginCheck::new(&ServerConfig::default());
        let names = [
            "",
            "localhost",
            "LOCALHOST",
            "localhost.",
            " localhost",
            "me@localhost",
            "localhost/",
            "127.0.0.1",
            "127.0.0.1.",
            "[::1]",
            "[::1",
            "::1]",
            "::1",
            "[::1%25lo]",
            "[]",
            "localhost:80",
            "[::1]:80",
        ];
        let ports =
            ["", ":", ":0", ":80", ":00080", ":65535", ":65536", ":99999999", ":+80", ":-1", ":x", ":80 "];
        let mut plain = 0;
        for host in names.iter().flat_map(|name| ports.map(|port| format!("{name}{port}"))) {
            if is_plain_loopback(&host) {
                plain += 1;
                assert_eq!(check.parsed_host_name(&host), Some(HostName::Loopback), "{host}");
            }
        }
        // Five of the ports with each of the three names, and two names that have a port already.
        assert_eq!(plain, 3 * 5 + 2);
    }

    #[test]
    fn pages_from_elsewhere_are_rejected() {
        let settings =
            ServerConfig { allowed_origins: vec!["https://app.example".into()], ..ServerConfig::default() };
        let origin_check = OriginCheck::new(&settings);
        let origin =
            |value: &str| status(&origin_check, &[(header::HOST, "localhost"), (header::ORIGIN, value)]);
        for good in ["http://localhost:3000", "http://127.0.0.1", "https://[::1]:9", "https://app.example"] {
            assert_eq!(origin(good), 200, "{good}");
        }
        for bad in [
            "http://evil.example",
            "null",
            "http://localhost.evil.example",
            "file://localhost",
            "http://10.0.0.5",
        ] {
            assert_eq!(origin(bad), 403, "{bad}");
        }
    }

    #[test]
    fn a_page_of_another_site_has_to_say_which() {
        let origin_check = OriginCheck::new(&ServerConfig::default());
        let site = |value: &str, more: &[(HeaderName, &str)]| {
            let pairs = [(header::HOST, "localhost"), (FETCH_SITE, value)];
            status(&origin_check, &[&pairs[..], more].concat())
        };
        // A request of the user, one of this server's own pages, and programs that send only other `Sec-Fetch` headers.
        for good in ["none", "same-origin"] {
            assert_eq!(site(good, &[]), 200, "{good}");
        }
        let mode = HeaderName::from_static("sec-fetch-mode");
        assert_eq!(status(&origin_check, &[(header::HOST, "localhost"), (mode.clone(), "cors")]), 200);
        for bad in ["cross-site", "same-site", "Same-Origin", "", "something-new", "none, cross-site"] {
            for how in ["no-cors", "navigate", "cors"] {
                assert_eq!(site(bad, &[(mode.clone(), how)]), 403, "{bad} {how}");
            }
            assert_eq!(site(bad, &[(header::ORIGIN, "http://localhost:3000")]), 200, "{bad}");
            for origin in ["null", "http://evil.example"] {
                assert_eq!(site(bad, &[(header::ORIGIN, origin)]), 403, "{bad} {origin}");
            }
        }
        assert_eq!(site("none", &[(FETCH_SITE, "none")]), 403, "given twice");
        assert_eq!(site("none", &[(header::ORIGIN, "null")]), 403);
    }
}
