//! Valid URIs: absolute, and only with characters of RFC 3986. Nothing is fetched, and clients read a URI by its exact
//! bytes.
//!
//! To find the owner of a URI, URIs that programs or people could confuse are compared in a canonical form, which is
//! not shown. The canonical form of a URI's beginning is a beginning of the URI's canonical form, so the literal
//! beginnings of templates are compared too.

use super::published_name;
use crate::config::fixed_limits::URI_BYTES;

/// Why a text is not a URI that may be listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum UriError {
    /// No scheme, or nothing after it.
    #[error("the URI is not absolute; begin it with a scheme, such as `notes:`")]
    Relative,
    /// A character that a URI cannot have.
    #[error("the URI has the character {}; percent-encode it", .0.escape_unicode())]
    Character(char),
    /// A `%` without two hexadecimal digits.
    #[error("the URI has a `%` that two hexadecimal digits do not follow; write it as %25")]
    Percent,
    /// Beyond [`URI_BYTES`].
    #[error("the URI is longer than {URI_BYTES} bytes")]
    TooLong,
}

/// Checks a URI.
pub(super) fn check(uri: &str) -> Result<(), UriError> {
    if uri.len() > URI_BYTES {
        return Err(UriError::TooLong);
    }
    if let Some(character) = uri.chars().find(|c| !u8::try_from(*c).is_ok_and(allows)) {
        return Err(UriError::Character(character));
    }
    let rest = scheme(uri.as_bytes()).ok_or(UriError::Relative)?;
    if rest.is_empty() {
        return Err(UriError::Relative);
    }
    let hex = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    for (at, _) in uri.bytes().enumerate().filter(|(_, byte)| *byte == b'%') {
        let bytes = uri.as_bytes();
        if !hex(bytes.get(at + 1)) || !hex(bytes.get(at + 2)) {
            return Err(UriError::Percent);
        }
    }
    Ok(())
}

/// What follows the scheme and its colon.
pub(super) fn scheme(uri: &[u8]) -> Option<&[u8]> {
    let colon = uri.iter().position(|byte| *byte == b':')?;
    let (scheme, rest) = uri.split_at_checked(colon)?;
    let later = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let valid = scheme.first().is_some_and(u8::is_ascii_alphabetic) && scheme.iter().all(later);
    if valid { rest.get(1..) } else { None }
}

/// Whether a byte may stand in a URI as it is.
pub(super) fn allows(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}')
}

/// Schemes that say how something is accessed, and not who owns it. A plugin with such a name does not own the scheme.
const COMMON: [&str; 9] = ["data", "file", "ftp", "git", "http", "https", "skill", "ui", "urn"];

/// A name or URI in the form in which keys are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Canonical {
    /// Equal for URIs that could be confused.
    pub(super) text: String,
    /// Skeletons of the parts that can name a plugin; the first that names one decides.
    pub(super) names: Vec<String>,
}

/// The canonical form of a URI: scheme and host in lower case, visible characters not percent-encoded, no user, no
/// default port, no dots at the end of the host, no empty or dotted segments, and then the skeleton.
pub(super) fn canonical(uri: &str) -> Canonical {
    canonicalize(uri, true)
}

/// The same for the literal beginning of a template. Its last part may go on, so it names no plugin, and is removed
/// where it could become something else.
pub(super) fn canonical_prefix(literal: &str) -> Canonical {
    let cut = literal.rfind('%').filter(|at| at + 3 > literal.len());
    canonicalize(literal.get(..cut.unwrap_or(literal.len())).unwrap_or_default(), false)
}

fn canonicalize(uri: &str, whole: bool) -> Canonical {
    let plain = decoded(uri);
    let (scheme, rest) = plain.split_once(':').unwrap_or((&plain, ""));
    let is_common = COMMON.iter().any(|common| scheme.eq_ignore_ascii_case(common));
    let scheme = published_name::skeleton(scheme);
    let mut names: Vec<String> = (!is_common).then(|| scheme.clone()).into_iter().collect();
    let mut text = format!("{scheme}:");
    let mut path = rest;
    if let Some(after) = rest.strip_prefix("//") {
        let end = after.find(['/', '?', '#']);
        let (authority, tail) = after.split_at(end.unwrap_or(after.len()));
        text.push_str("//");
        path = tail;
        if end.is_some() || whole {
            let host = host(authority);
            text.push_str(&published_name::skeleton(&host));
            // A host with dots is a DNS name.
            let label = host.split(':').next().unwrap_or_default();
            names
                .extend((!label.is_empty() && !label.contains('.')).then(|| published_name::skeleton(label)));
        }
    }
    text.push_str(&published_name::skeleton(&shortened(path, whole)));
    Canonical { text, names }
}

/// Decodes visible characters; other bytes stay percent-encoded.
fn decoded(uri: &str) -> String {
    let mut plain = String::with_capacity(uri.len());
    let mut rest = uri;
    while let Some((before, after)) = rest.split_once('%') {
        plain.push_str(before);
        let (code, tail) = after.split_at_checked(2).unwrap_or((after, ""));
        match u8::from_str_radix(code, 16).ok().filter(u8::is_ascii_graphic) {
            Some(byte) => plain.push(char::from(byte)),
            None => plain.extend(["%", code]),
        }
        rest = tail;
    }
    plain.push_str(rest);
    plain
}

/// The host of an authority, without user and dots at the end, and with the port unless it is 80 or 443.
fn host(authority: &str) -> String {
    let host = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        _ => (host, ""),
    };
    let host = host.trim_end_matches('.');
    match port.trim_start_matches('0') {
        "" | "80" | "443" => host.to_owned(),
        port => format!("{host}:{port}"),
    }
}

/// A path without empty and dotted segments. The last segment of a path that goes on may still become another.
fn shortened(path: &str, whole: bool) -> String {
    let (path, query) = path.split_at(path.find(['?', '#']).unwrap_or(path.len()));
    let ends = whole || !query.is_empty();
    let mut result: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    // The text before the first slash is not a segment.
    let first = segments.next().unwrap_or_default();
    while let Some(segment) = segments.next() {
        let goes_on = segments.peek().is_none() && !ends;
        match segment {
            "" => {}
            "." if !goes_on => {}
            "." | ".." => drop(result.pop()),
            segment => result.push(segment),
        }
    }
    let folder = if path.ends_with('/') && !result.is_empty() { "/" } else { "" };
    let rest: String = result.iter().flat_map(|segment| ["/", segment]).collect();
    format!("{first}{rest}{folder}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_uris_of_plain_characters_pass() {
        for good in ["notes:all", "test://static-text", "file:///a%20b", "x+y-1.z:/?q=[1]#f", "a:b"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for relative in ["", "all", "/etc/passwd", ":x", "1a:b", "a b:c", "notes:"] {
            let fault = check(relative);
            assert!(
                matches!(fault, Err(UriError::Relative | UriError::Character(' '))),
                "{relative}: {fault:?}"
            );
        }
        assert_eq!(check("a:b\u{202e}"), Err(UriError::Character('\u{202e}')));
        assert_eq!(check("a:b\n"), Err(UriError::Character('\n')));
        assert_eq!(check("a:{x}"), Err(UriError::Character('{')));
        assert_eq!(check("a:%2"), Err(UriError::Percent));
        assert_eq!(check(&format!("a:{}", "b".repeat(URI_BYTES))), Err(UriError::TooLong));
    }

    #[test]
    fn uris_that_could_be_taken_for_one_another_look_the_same() {
        for (uri, twin) in [
            ("notes:///plan", "NOTES:///plan"),
            ("notes:///plan", "notes:///%70lan"),
            ("notes:///plan", "notes:%2F%2f/plan"),
            ("https://a.test/x", "https://A.test.:443/./y/..//x"),
            ("https://a.test/", "https://user@a.test"),
            ("n:all", "n:a1l"),
            ("n:a%c3%a9", "n:a%C3%A9"),
        ] {
            assert_eq!(canonical(uri).text, canonical(twin).text, "{uri} {twin}");
        }
        for (uri, other) in
            [("n:a", "n:b"), ("n:///a/b", "n:///a/c"), ("n:x?a=1", "n:x?a=2"), ("http://a:1/", "http://a:2/")]
        {
            assert_ne!(canonical(uri).text, canonical(other).text, "{uri} {other}");
        }
    }

    #[test]
    fn a_scheme_names_somebody_and_so_does_a_host_without_dots() {
        assert_eq!(canonical("Notes:all").names, ["notes"]);
        assert_eq!(canonical("ui://git-hub:8080/x").names, ["glt-hub"]);
        assert_eq!(canonical("memo://all/x").names, [published_name::skeleton("memo"), "all".to_owned()]);
        for nobody in ["https://github.com/x", "file:///x", "urn:isbn:1", "data:,"] {
            assert!(canonical(nobody).names.is_empty(), "{nobody}");
        }
        assert!(canonical_prefix("ui://git").names.is_empty(), "the host may go on");
        assert_eq!(canonical_prefix("ui://git/").names, ["glt"]);
    }

    #[test]
    fn what_begins_like_a_template_looks_as_if_it_did() {
        for (literal, uri) in [
            ("n:", "n:x"),
            ("n:%4", "n:%41"),
            ("n://h/a/", "n://h/a/b"),
            ("n://h/a/.", "n://h/a/./b"),
            ("n://h/a/..", "n://h/a/../b"),
            ("n://h", "n://h2.:80/b"),
            ("n:cor", "n:corn"),
            ("n://h/x?", "n://h/x?a=../b"),
            ("notes:///", "notes:///a"),
        ] {
            let (lead, uri) = (canonical_prefix(literal).text, canonical(uri).text);
            assert!(uri.starts_with(&lead), "{literal}: {uri} does not begin with {lead}");
        }
    }
}
