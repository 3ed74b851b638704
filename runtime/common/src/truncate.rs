//! Formats text of any length up to a bound, and holds no more than that in memory.

use std::fmt::{self, Write as _};

/// What is formatted, as far as `most` bytes; no more than that is ever in memory.
pub fn truncate(most: usize, text: fmt::Arguments<'_>) -> String {
    let mut truncated = Truncated { text: String::new(), most };
    if truncated.write_fmt(text).is_err() {
        truncated.text.push('…');
    }
    truncated.text
}

struct Truncated {
    text: String,
    most: usize,
}

impl fmt::Write for Truncated {
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
        assert_eq!(truncate(5, format_args!("{}", "abcde")), "abcde");
        assert_eq!(truncate(5, format_args!("ab{}{}", "cdé", "f")), "abcd…");
        assert_eq!(truncate(0, format_args!("a")), "…");
    }
}
