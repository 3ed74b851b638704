//! Compares the URI in a proof (`htu`) with that of the request.
//!
//! Equivalent spellings are equal (RFC 3986, 6.2.2 and 6.2.3): scheme and host in upper or lower case, the scheme's
//! default port or none, an empty path or `/`. A trailing slash is ignored, as it is for the routes. Query and fragment
//! are not compared (RFC 9449, 4.3). The rest of the path is compared byte by byte.

use http::Uri;

/// The parts of a URI that are compared.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TargetUri {
    is_secure: bool,
    host: String,
    port: u16,
    path: String,
}

impl TargetUri {
    /// Parses an absolute URI with the scheme `http` or `https`. A URI with a user is an error.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
        let scheme = uri.scheme_str()?;
        let is_secure = scheme.eq_ignore_ascii_case("https");
        if !is_secure && !scheme.eq_ignore_ascii_case("http") {
            return None;
        }
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            // The authority has something after the host that is not a port.
            None if authority.as_str() != authority.host() => return None,
            None if is_secure => 443,
            None => 80,
        };
        let host = authority.host().to_ascii_lowercase();
        let path = uri.path();
        let path = path.strip_suffix('/').unwrap_or(path).to_owned();
        Some(Self { is_secure, host, port, path })
    }

    /// Whether one of these URIs equals this one.
    pub(super) fn is_one_of(&self, uris: &[String]) -> bool {
        uris.iter().any(|uri| Self::parse(uri).as_ref() == Some(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(text: &str) -> bool {
        let uris = ["https://tools.example.com/mcp".to_owned(), "https://tools.example.com".to_owned()];
        TargetUri::parse(text).is_some_and(|uri| uri.is_one_of(&uris))
    }

    #[test]
    fn spellings_of_one_uri_are_equal() {
        for same in [
            "https://tools.example.com/mcp",
            "HTTPS://Tools.Example.COM/mcp",
            "https://tools.example.com:443/mcp",
            "https://tools.example.com/mcp/",
            "https://tools.example.com/mcp?a=b",
            "https://tools.example.com/mcp#a",
            "https://tools.example.com/",
            "https://tools.example.com",
        ] {
            assert!(is(same), "{same}");
        }
    }

    #[test]
    fn another_uri_is_another() {
        for other in [
            "http://tools.example.com/mcp",
            "https://tools.example.com:444/mcp",
            "https://tools.example.com:/mcp",
            "https://tools.example.com:80/mcp",
            "https://tools.example.com:65979/mcp",
            "https://tools.example.com.evil.test/mcp",
            "https://tools.example.com@evil.test/mcp",
            "https://ada@tools.example.com/mcp",
            "https://tools.example.com/MCP",
            "https://tools.example.com/mcp//",
            "https://tools.example.com/mcp2",
            "https://tools.example.com/x/../mcp",
            "https://tools.example.com/mc%70",
            "wss://tools.example.com/mcp",
            "//tools.example.com/mcp",
            "tools.example.com/mcp",
            "/mcp",
            "*",
            "",
            "https://tools.example.com/m cp",
        ] {
            assert!(!is(other), "{other}");
        }
    }
}
