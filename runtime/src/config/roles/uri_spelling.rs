//! One spelling for URIs that a plugin may read as the same, so that no other spelling gets around a rule.
//!
//! A template gives a plugin decoded variables, and plugins join them to paths. So `%2F`, `\` and `//` count as `/`,
//! and visible characters count as if they were not percent-encoded. `.` and `..` are not resolved, since only the
//! plugin knows what they begin at: the policy finds such a URI with [`has_dot_segment`] and allows it by no URI.

/// Characters between which `.` and `..` may mean a folder: a variable may begin after any of them.
const SEPARATORS: [char; 9] = ['/', ':', '?', '#', '=', '&', ';', ',', '!'];

/// The spelling in which URIs are compared.
pub(crate) fn comparable_uri(uri: &str) -> String {
    let mut text = String::with_capacity(uri.len());
    let mut rest = uri;
    while let Some((before, after)) = rest.split_once('%') {
        push_all(&mut text, before);
        let code = after.get(..2).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        rest = if byte.is_some() { after.get(2..).unwrap_or_default() } else { after };
        match byte {
            Some(byte) if byte.is_ascii_graphic() => push(&mut text, char::from(byte)),
            Some(byte) => text.push_str(&format!("%{byte:02X}")),
            None => text.push('%'),
        }
    }
    push_all(&mut text, rest);
    text
}

fn push_all(text: &mut String, part: &str) {
    part.chars().for_each(|character| push(text, character));
}

fn push(text: &mut String, character: char) {
    match character {
        '/' | '\\' if text.ends_with('/') => {}
        '\\' => text.push('/'),
        character => text.push(character),
    }
}

/// Whether a URI in the spelling of [`comparable_uri`] has `.` or `..` where it may mean a folder.
pub(crate) fn has_dot_segment(uri: &str) -> bool {
    uri.split(SEPARATORS).any(|segment| matches!(segment, "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_uri_are_compared_as_one() {
        for (uri, spelling) in [
            ("notes:a", "notes:a"),
            ("notes:%61%2fb", "notes:a/b"),
            ("notes:a%5Cb", "notes:a/b"),
            ("file:///etc//passwd", "file:/etc/passwd"),
            ("notes:%c3%a9%20x", "notes:%C3%A9%20x"),
            ("notes:100%", "notes:100%"),
            ("notes:%zz%2", "notes:%zz%2"),
            ("notes:%252e", "notes:%2e"),
            ("notes:%+1", "notes:%+1"),
            ("notes:%é", "notes:%é"),
        ] {
            assert_eq!(comparable_uri(uri), spelling, "{uri}");
        }
    }

    #[test]
    fn dots_that_may_lead_to_another_folder_are_found() {
        for uri in ["file:///a/../b", "notes:..", "notes:%2E%2e%2Fx", "x:a?path=..", "x:a/.", "x:a;b=./c"] {
            assert!(has_dot_segment(&comparable_uri(uri)), "{uri}");
        }
        for uri in ["file:///a.b/c..d", "notes:.hidden", "x:a?v=1.2", "x:..."] {
            assert!(!has_dot_segment(&comparable_uri(uri)), "{uri}");
        }
    }
}
