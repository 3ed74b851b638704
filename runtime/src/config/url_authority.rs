//! The host and the port of a URL to which this server connects.
//!
//! All such URLs in the configuration are read by one rule, so that no program on the way reads another host: there is
//! no user before the host, and a port is a plain number.

use http::Uri;

use crate::config::{Host, Scheme};

/// Longest URL, bytes.
pub(super) const MAX_URL: usize = 2_048;

/// The host, and the port or that of the scheme. `None`: it is no URL, or one that could be read in two ways.
pub(super) fn host_and_port(uri: &Uri, scheme: Scheme) -> Option<(Host, u16)> {
    let authority = uri.authority()?;
    let host = Host::parse(authority.host()).ok()?;
    // A user before the host leaves a remainder that does not begin with the host.
    let rest = authority.as_str().strip_prefix(authority.host())?;
    let port = match rest.strip_prefix(':') {
        Some(digits) => read_port(digits)?,
        None if rest.is_empty() => scheme.port(),
        None => return None,
    };
    Some((host, port))
}

fn read_port(digits: &str) -> Option<u16> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| is_plain)
}
