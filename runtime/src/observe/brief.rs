//! The beginning of a text that someone else may have made as long as he liked.

use std::fmt::{self, Write as _};

/// What is formatted, as far as `most` bytes; no more than that is ever in memory.
pub(crate) fn brief(most: usize, text: fmt::Arguments<'_>) -> String {
    let mut brief = Brief { text: String::new(), most };
    if brief.write_fmt(text).is_err() {
        brief.text.push('…');
    }
    brief.text
}

struct Brief {
    text: String,
    most: usize,
}

impl fmt::Write for Brief {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        let room = self.most - self.text.len();
        let kept = piece.floor_char_boundary(room.min(piece.len()));
        self.text.push_str(piece.get(..kept).unwrap_or_default());
        if kept < piece.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_it_is_too_long() {
        assert_eq!(brief(5, format_args!("{}", "abcde")), "abcde");
        assert_eq!(brief(5, format_args!("ab{}{}", "cdé", "f")), "abcd…");
        assert_eq!(brief(0, format_args!("a")), "…");
    }
}
