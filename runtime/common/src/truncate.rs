//! Formats text up to a maximum length, and holds no more than that in memory.

use std::fmt::{self, Write as _};

/// The first `max_bytes` of the formatted text, with `…` if it is cut; no more than that is ever in memory.
pub fn truncate(max_bytes: usize, text: fmt::Arguments<'_>) -> String {
    let mut truncated = Truncated { text: String::new(), max_bytes };
    if truncated.write_fmt(text).is_err() {
        truncated.text.push('…');
    }
    truncated.text
}

struct Truncated {
    text: String,
    max_bytes: usize,
}

impl fmt::Write for Truncated {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        let free = self.max_bytes - self.text.len();
        let fitting = piece.floor_char_boundary(free.min(piece.len()));
        self.text.push_str(piece.get(..fitting).unwrap_or_default());
        if fitting < piece.len() { Err(fmt::Error) } else { Ok(()) }
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
