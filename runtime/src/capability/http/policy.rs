//! To which host a request goes, and whether a grant allows it: pure functions of the request's method, its URI and the
//! grants.

use std::net::IpAddr;

use http::Uri;

use super::grant::{Host, HttpGrant, Scheme};

/// The method of a request, and the scheme, host and port to which it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) method: String,
    pub(crate) scheme: Scheme,
    pub(crate) host: Host,
    pub(crate) port: u16,
}

/// Why the target of a request cannot be determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetError {
    /// The method cannot be granted.
    Method,
    /// The scheme is neither `http` nor `https`.
    Scheme,
    /// The URI names no host, or it is ambiguous.
    Uri,
}

impl Target {
    /// Whether a grant allows the request.
    pub(crate) fn is_granted(&self, grants: &[HttpGrant]) -> bool {
        self.allowed(grants, &self.host)
    }

    /// Whether a grant that allows the request also allows sending the host the trace context.
    pub(crate) fn is_traced(&self, grants: &[HttpGrant]) -> bool {
        self.granting(grants).any(HttpGrant::is_traced)
    }

    /// The host as the operator wrote it in the grant. If only `*.NAME` allows the request, the result is `*.NAME`,
    /// because the guest chooses the labels before NAME.
    pub(crate) fn granted_host(&self, grants: &[HttpGrant]) -> String {
        // `None` sorts first, so a grant that names the host takes precedence.
        match (self.granting(grants).map(HttpGrant::parent_name).min().flatten(), &self.host) {
            (Some(parent), _) => format!("*.{parent}"),
            (None, Host::Address(address)) => address.to_string(),
            (None, Host::Name(name)) => name.clone(),
        }
    }

    /// The grants that allow the request.
    fn granting<'g>(&self, grants: &'g [HttpGrant]) -> impl Iterator<Item = &'g HttpGrant> {
        let allows = move |grant: &&HttpGrant| grant.allows(&self.method, self.scheme, &self.host, self.port);
        grants.iter().filter(allows)
    }

    /// Whether a grant allows the same request to `host` instead of the target's own host.
    pub(super) fn allowed(&self, grants: &[HttpGrant], host: &Host) -> bool {
        grants.iter().any(|grant| grant.allows(&self.method, self.scheme, host, self.port))
    }

    /// The host, followed by the port if that is not the scheme's default.
    pub(crate) fn authority(&self) -> String {
        let Self { scheme, host, port, .. } = self;
        if *port == scheme.port() { host.to_string() } else { format!("{host}:{port}") }
    }

    /// The grant that allows exactly this request.
    pub(crate) fn pattern(&self) -> String {
        format!("{} {}://{}", self.method, self.scheme, self.authority())
    }

    /// The grant that an operator can write to allow this request. This machine can only be granted by its address, so
    /// a name such as `localhost` becomes 127.0.0.1.
    pub(crate) fn missing_grant(&self) -> String {
        match &self.host {
            Host::Name(name) if name == "localhost" || name.ends_with(".localhost") => {
                self.pattern_at(IpAddr::from([127, 0, 0, 1]))
            }
            _ => self.pattern(),
        }
    }

    /// The line of configuration with [`Self::missing_grant`].
    pub(crate) fn missing_line(&self) -> String {
        format!("http = [\"{}\"]", self.missing_grant())
    }

    /// The grant that allows exactly this request if it goes to this address.
    pub(crate) fn pattern_at(&self, address: IpAddr) -> String {
        Self { host: Host::Address(address), ..self.clone() }.pattern()
    }
}

/// Determines the target of a request. A URI that other code could parse differently is an error.
pub(super) fn target(method: &str, uri: &Uri) -> Result<Target, TargetError> {
    if !HttpGrant::is_method(method) {
        return Err(TargetError::Method);
    }
    let scheme = match uri.scheme_str() {
        Some("https") => Scheme::Https,
        Some("http") => Scheme::Http,
        _ => return Err(TargetError::Scheme),
    };
    let authority = uri.authority().ok_or(TargetError::Uri)?;
    let host = Host::parse(authority.host()).map_err(|_| TargetError::Uri)?;
    // The authority must end with the host or with a plain port number; a user before the host is rejected.
    let rest = authority.as_str().strip_prefix(authority.host()).ok_or(TargetError::Uri)?;
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => scheme.port(),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0') => {
            digits.parse().map_err(|_| TargetError::Uri)?
        }
        _ => return Err(TargetError::Uri),
    };
    Ok(Target { method: method.to_owned(), scheme, host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_goes_where_its_uri_says_and_nowhere_else() {
        let read = |uri: &str| target("GET", &uri.parse().unwrap()).map(|target| target.pattern());
        for (uri, pattern) in [
            ("https://Example.COM/x?y", "GET https://example.com"),
            ("https://example.com.:443/", "GET https://example.com"),
            ("http://example.com:8080", "GET http://example.com:8080"),
            ("http://127.0.0.1/", "GET http://127.0.0.1"),
            ("http://[::1]:9000/", "GET http://[::1]:9000"),
        ] {
            assert_eq!(read(uri).unwrap(), pattern, "{uri}");
        }
        for uri in [
            "https://user@example.com/",
            "https://example.com@evil.test/",
            "https://user:pass@example.com/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://[::ffff:127.0.0.1]/",
            "http://example.com:/",
            "http://example.com:080/",
            "http://example.com:0/",
            "http://example.com:65536/",
            "http://exa_mple..com/",
            "/only/a/path",
            "*",
            "ftp://example.com/",
        ] {
            let Ok(uri) = uri.parse::<Uri>() else { continue };
            assert!(target("GET", &uri).is_err(), "{uri}");
        }
        for method in ["CONNECT", "TRACE", "PROPFIND", "get"] {
            assert!(target(method, &"http://example.com/".parse().unwrap()).is_err(), "{method}");
        }
    }

    #[test]
    fn the_line_that_would_grant_a_request_can_be_written() {
        let line = |uri: &str| target("GET", &uri.parse().unwrap()).unwrap().missing_line();
        assert_eq!(line("https://a.test/x?y"), r#"http = ["GET https://a.test"]"#);
        assert_eq!(line("http://localhost:9000/"), r#"http = ["GET http://127.0.0.1:9000"]"#);
        assert_eq!(line("http://a.localhost/"), r#"http = ["GET http://127.0.0.1"]"#);
    }

    #[test]
    fn a_host_is_recorded_as_the_operator_wrote_it() {
        let grants = ["https://*.example.com", "https://api.example.com", "http://[::1]:9000"];
        let grants = grants.map(|pattern| HttpGrant::parse(pattern).unwrap());
        let recorded = |uri: &str| target("GET", &uri.parse().unwrap()).unwrap().granted_host(&grants);
        assert_eq!(recorded("https://api.example.com/"), "api.example.com");
        assert_eq!(recorded("https://c4n4ry.example.com/"), "*.example.com");
        assert_eq!(recorded("http://[::1]:9000/"), "::1");
    }
}
