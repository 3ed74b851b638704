//! `resource`: the canonical URI of this server, as its clients know it.

use std::fmt;

use http::Uri;

use crate::config::Host;
use crate::toml_reader::{TomlEntry, TomlReader};

/// Longest URI, bytes.
const MAX_URI: usize = 2_048;

/// The canonical URI of an MCP server (MCP "Authorization", "Resource Parameter Implementation"): `https`, without
/// query, fragment and trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceUri {
    text: String,
    /// The length of scheme and authority.
    origin: usize,
}

/// Why a text is no canonical URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResourceUriError {
    /// Not a URI with scheme and host.
    #[error(
        "is no URI; write the address under which clients reach this server, such as https://tools.example.com/mcp"
    )]
    NoUri,
    /// Tokens would be sent in the open.
    #[error(
        "must begin with https://; http:// is possible only for this machine, such as http://127.0.0.1:7584/mcp"
    )]
    Insecure,
    /// More than scheme, host, port and path.
    #[error("must have no query, no fragment, no user and no slash at the end")]
    More,
}

impl ResourceUri {
    /// Parses a URI. Scheme and host become lower case.
    ///
    /// # Errors
    /// When it is not canonical, or tokens would be sent in the open.
    pub fn parse(text: &str) -> Result<Self, ResourceUriError> {
        let uri: Uri = text.parse().map_err(|_| ResourceUriError::NoUri)?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(ResourceUriError::NoUri);
        };
        if text.len() > MAX_URI || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ResourceUriError::NoUri);
        }
        let is_more = text.contains(['?', '#']) || authority.as_str().contains('@') || text.ends_with('/');
        if is_more {
            return Err(ResourceUriError::More);
        }
        match scheme {
            "https" => {}
            "http" if Host::parse(authority.host()).is_ok_and(|host| host.is_loopback()) => {}
            _ => return Err(ResourceUriError::Insecure),
        }
        let origin = format!("{scheme}://{}", authority.as_str().to_ascii_lowercase());
        let path = uri.path().trim_end_matches('/');
        Ok(Self { origin: origin.len(), text: format!("{origin}{path}") })
    }

    pub(super) fn read(entry: &TomlEntry<'_>, reader: &mut TomlReader<'_>) -> Option<Self> {
        let parsed = Self::parse(&entry.string(reader)?);
        if let Err(error) = &parsed {
            reader.report(entry.span.clone(), &entry.key, error.to_string());
        }
        parsed.ok()
    }

    /// The whole URI.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.text.get(..self.origin).unwrap_or_default()
    }

    /// The path; empty for the root.
    #[must_use]
    pub fn path(&self) -> &str {
        self.text.get(self.origin..).unwrap_or_default()
    }

    /// The URI of another endpoint of the same server: the last segment of the path is `segment`.
    #[must_use]
    pub fn sibling(&self, segment: &str) -> String {
        let prefix = self.path().rsplit_once('/').map_or("", |(prefix, _)| prefix);
        format!("{}{prefix}/{segment}", self.origin())
    }
}

impl fmt::Display for ResourceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canonical_uri_is_taken_apart() {
        let uri = ResourceUri::parse("HTTPS://Tools.Example.com/team/mcp").unwrap();
        assert_eq!(uri.as_str(), "https://tools.example.com/team/mcp");
        assert_eq!((uri.origin(), uri.path()), ("https://tools.example.com", "/team/mcp"));
        assert_eq!(uri.sibling("sse"), "https://tools.example.com/team/sse");
        let root = ResourceUri::parse("https://tools.example.com").unwrap();
        assert_eq!((root.path(), root.sibling("sse").as_str()), ("", "https://tools.example.com/sse"));
    }

    #[test]
    fn what_is_not_canonical_is_rejected() {
        for (text, error) in [
            ("tools.example.com", ResourceUriError::NoUri),
            ("/mcp", ResourceUriError::NoUri),
            ("", ResourceUriError::NoUri),
            ("http://tools.example.com/mcp", ResourceUriError::Insecure),
            ("http://127.0.0.1.example.com/mcp", ResourceUriError::Insecure),
            ("ftp://localhost/mcp", ResourceUriError::Insecure),
            ("https://tools.example.com/mcp/", ResourceUriError::More),
            ("https://tools.example.com/mcp?a", ResourceUriError::More),
            ("https://tools.example.com/mcp#a", ResourceUriError::More),
            ("https://ada@tools.example.com/mcp", ResourceUriError::More),
        ] {
            assert_eq!(ResourceUri::parse(text), Err(error), "{text}");
        }
        for good in ["http://127.0.0.1:7584/mcp", "http://[::1]:1/mcp", "http://localhost/mcp"] {
            assert!(ResourceUri::parse(good).is_ok(), "{good}");
        }
    }
}
