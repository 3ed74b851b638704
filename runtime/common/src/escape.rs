//! Escapes untrusted text for a terminal and a log.

use std::fmt;

/// Text with an escape for every character that could forge a line, move a cursor or hide text: control characters, and
/// format characters that reorder text or are invisible.
#[derive(Debug, Clone, Copy)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(is_deceptive) {
            let (plain, tail) = rest.split_at(at);
            f.write_str(plain)?;
            let mut characters = tail.chars();
            if let Some(character) = characters.next() {
                write!(f, "{}", character.escape_unicode())?;
            }
            rest = characters.as_str();
        }
        f.write_str(rest)
    }
}

/// Whether a character must be escaped: control characters; those that Unicode calls `Default_Ignorable_Code_Point`
/// (bidi controls, zero-width characters, fillers, the tag block); line and paragraph separators. The two variation
/// selectors that choose how an emoji looks pass.
#[must_use]
pub fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_deceive_is_spelled_out() {
        assert_eq!(Escaped("plain ünïcode ✓").to_string(), "plain ünïcode ✓");
        assert_eq!(Escaped("a\nb\x1b[31m").to_string(), "a\\u{a}b\\u{1b}[31m");
        assert_eq!(Escaped("x\u{202e}y\u{e0041}").to_string(), "x\\u{202e}y\\u{e0041}");
    }
}
