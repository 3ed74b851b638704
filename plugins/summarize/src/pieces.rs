//! Cuts a text where it hurts least.

/// Cuts `text` into pieces of at most `most` bytes: between paragraphs if that leaves a good piece, else between
/// sentences, words, or characters.
pub(crate) fn cut(text: &str, most: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while rest.len() > most {
        let (piece, after) = rest.split_at(end(rest, most));
        pieces.push(piece.trim_end());
        rest = after.trim_start();
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

/// Where the first piece ends, which is after at least half of what fits.
fn end(text: &str, most: usize) -> usize {
    let limit = text.floor_char_boundary(most).max(1);
    let window = text.get(..limit).unwrap_or(text);
    let good = |at: usize| at > limit / 2;
    for separator in ["\n\n", ". ", "\n", " "] {
        if let Some(at) = window.rfind(separator).map(|at| at + separator.len()).filter(|at| good(*at)) {
            return at;
        }
    }
    window.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_and_no_piece_is_too_long() {
        let text = "One sentence. Another one! \n\nA paragraph with many words in it, and more.\nA line. "
            .repeat(30);
        for most in [20, 64, 500] {
            let pieces = cut(&text, most);
            assert!(pieces.iter().all(|piece| piece.len() <= most && !piece.is_empty()), "{most}");
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            assert_eq!(letters(&pieces.concat()), letters(&text));
        }
    }

    #[test]
    fn paragraphs_are_kept_together_when_they_fit() {
        let text = format!("{}\n\n{}", "a".repeat(60), "b".repeat(60));
        assert_eq!(cut(&text, 100), ["a".repeat(60), "b".repeat(60)]);
    }

    #[test]
    fn text_without_spaces_is_cut_between_characters() {
        let text = "é".repeat(50);
        assert!(cut(&text, 7).iter().all(|piece| piece.len() == 6 || piece.len() == 4));
    }
}
