//! The names of principals, groups and clients, whether they come from the configuration, an issuer or a certificate.
//!
//! They stand in the audit and in roles, where people compare them by eye. So one rule holds for all of them: each
//! character of a name can be seen. Different characters that look alike are not told apart.

use crate::observe::is_deceptive;

/// Maximum length of a name, in bytes.
pub const MAX_PRINCIPAL_NAME: usize = 256;

/// Whether a principal, a group or a client may have this name.
#[must_use]
pub fn is_principal_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_PRINCIPAL_NAME && is_readable(text)
}

/// Whether people can read each character of a text, also those at its ends.
pub(super) fn is_readable(text: &str) -> bool {
    !text.contains(hides) && text.trim() == text
}

/// Whether nothing shows a character, or it only changes how the one before looks, or it looks like a plain space. The
/// wide space of East Asian names is visible.
fn hides(character: char) -> bool {
    is_deceptive(character)
        || matches!(character, '\u{2800}' | '\u{fe0e}' | '\u{fe0f}')
        || (character.is_whitespace() && !matches!(character, ' ' | '\u{3000}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_any_language_are_names() {
        for name in
            ["ada", "Ada Lovelace <ada@example.com>", "/team/a:b", "é", "山田\u{3000}太郎", "O'Brien", "👩"]
        {
            assert!(is_principal_name(name), "{name}");
        }
        assert!(is_principal_name(&"a".repeat(MAX_PRINCIPAL_NAME)));
        assert!(!is_principal_name(&"a".repeat(MAX_PRINCIPAL_NAME + 1)) && !is_principal_name(""));
    }

    #[test]
    fn a_name_has_no_character_that_nobody_sees() {
        let selectors = ('\u{fe00}'..='\u{fe0f}').chain('\u{e0100}'..='\u{e01ef}');
        let others = "\0\n\t\u{7f}\u{85}\u{a0}\u{ad}\u{34f}\u{180b}\u{2003}\u{200b}\u{200d}\u{202e}\u{2028}\u{202f}\
                      \u{2060}\u{2800}\u{3164}\u{feff}\u{ffa0}\u{e0041}";
        for hidden in selectors.chain(others.chars()) {
            for name in [format!("a{hidden}da"), format!("ada{hidden}"), format!("{hidden}ada")] {
                assert!(!is_principal_name(&name), "{}", name.escape_unicode());
            }
        }
    }

    #[test]
    fn a_name_neither_begins_nor_ends_with_a_space() {
        for name in [" ada", "ada ", " ", "\u{3000}ada", "ada\u{3000}"] {
            assert!(!is_principal_name(name), "{}", name.escape_unicode());
        }
    }
}
