//! What a URI may look like here: absolute, and only characters that RFC 3986 knows. Nothing is fetched and nothing is
//! normalised; two URIs are the same when their bytes are.

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
    /// Beyond `uri_bytes`.
    #[error("the URI is longer than {0} bytes (limit `uri_bytes`)")]
    TooLong(u64),
}

/// Checks a URI.
pub(super) fn check(uri: &str, longest: u64) -> Result<(), UriError> {
    if uri.len() as u64 > longest {
        return Err(UriError::TooLong(longest));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_uris_of_plain_characters_pass() {
        for good in ["notes:all", "test://static-text", "file:///a%20b", "x+y-1.z:/?q=[1]#f", "a:b"] {
            assert_eq!(check(good, 2_048), Ok(()), "{good}");
        }
        for relative in ["", "all", "/etc/passwd", ":x", "1a:b", "a b:c", "notes:"] {
            let fault = check(relative, 2_048);
            assert!(
                matches!(fault, Err(UriError::Relative | UriError::Character(' '))),
                "{relative}: {fault:?}"
            );
        }
        assert_eq!(check("a:b\u{202e}", 99), Err(UriError::Character('\u{202e}')));
        assert_eq!(check("a:b\n", 99), Err(UriError::Character('\n')));
        assert_eq!(check("a:{x}", 99), Err(UriError::Character('{')));
        assert_eq!(check("a:%2", 99), Err(UriError::Percent));
        assert_eq!(check("a:bcd", 4), Err(UriError::TooLong(4)));
    }
}
