//! A URL of an authorization server: `https`, or `http` to this machine alone.
//!
//! Keys and introspection decide who may call, so nobody on the way may change them. The type cannot hold another URL:
//! the configuration and the documents of authorization servers are read into it, and a request is made of its parts.

use std::fmt;

use http::Uri;

use crate::config::url_authority::{MAX_URL, host_and_port};
use crate::config::{Host, Scheme};

/// Where a request to an authorization server goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    scheme: Scheme,
    host: Host,
    port: u16,
    /// With the query.
    path: String,
}

/// Why a text is no URL of an authorization server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Not a URL, or one that could be read in two ways.
    #[error("is no URL; write one such as https://idp.example.com, without a user and without a fragment")]
    NoUrl,
    /// A machine on the way could change the response.
    #[error(
        "must begin with https://; http:// is possible only for this machine, such as http://127.0.0.1:9000"
    )]
    Insecure,
}

impl Endpoint {
    /// Parses a URL.
    ///
    /// # Errors
    /// When it is no URL, or is not protected on the way.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        let is_text = text.len() <= MAX_URL && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_text || text.contains(['#', '\\']) {
            return Err(EndpointError::NoUrl);
        }
        let uri: Uri = text.parse().map_err(|_| EndpointError::NoUrl)?;
        let scheme = match uri.scheme_str() {
            Some("https") => Scheme::Https,
            Some("http") => Scheme::Http,
            Some(_) => return Err(EndpointError::Insecure),
            None => return Err(EndpointError::NoUrl),
        };
        let (host, port) = host_and_port(&uri, scheme).ok_or(EndpointError::NoUrl)?;
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let endpoint = Self { scheme, host, port, path: format!("{}{query}", uri.path()) };
        match scheme {
            Scheme::Http if !endpoint.host.is_loopback() => Err(EndpointError::Insecure),
            Scheme::Http | Scheme::Https => Ok(endpoint),
        }
    }

    /// How requests are sent.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The path and the query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The host, and the port where it is not the scheme's own.
    #[must_use]
    pub fn authority(&self) -> String {
        let Self { scheme, host, port, .. } = self;
        if *port == scheme.port() { host.to_string() } else { format!("{host}:{port}") }
    }

    /// Another path of the same server.
    #[must_use]
    pub fn with_path(&self, path: String) -> Self {
        Self { path, ..self.clone() }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        for (text, shown) in [
            ("https://IdP.example.com", "https://idp.example.com/"),
            ("https://idp.example.com:443/keys?v=1", "https://idp.example.com/keys?v=1"),
            ("https://idp.example.com?v=1", "https://idp.example.com/?v=1"),
            ("https://192.0.2.1:8443/a/b/", "https://192.0.2.1:8443/a/b/"),
            ("http://127.0.0.1:9000/keys", "http://127.0.0.1:9000/keys"),
            ("http://[::1]:9000/keys", "http://[::1]:9000/keys"),
            ("http://localhost/keys", "http://localhost/keys"),
        ] {
            assert_eq!(Endpoint::parse(text).unwrap().to_string(), shown);
        }
        let endpoint = Endpoint::parse("https://idp.example.com:8443/a").unwrap();
        assert_eq!(endpoint.with_path("/b".to_owned()).to_string(), "https://idp.example.com:8443/b");
    }

    #[test]
    fn what_is_not_protected_on_the_way_is_rejected() {
        for text in
            ["http://idp.example.com/", "http://192.0.2.1/", "http://localhost.example.com/", "ftp://a/"]
        {
            assert_eq!(Endpoint::parse(text), Err(EndpointError::Insecure), "{text}");
        }
        for text in [
            "",
            "idp.example.com",
            "/keys",
            "https://",
            "https://ada@idp.example.com/",
            "https://idp.example.com:0/",
            "https://idp.example.com:70000/",
            "https://idp.example.com/#a",
            "https://idp.example.com/a b",
            "https://2130706433/",
            "https://idp.example.com\\@evil.test/",
        ] {
            assert_eq!(Endpoint::parse(text), Err(EndpointError::NoUrl), "{text}");
        }
    }
}
