//! Texts in blocks of frontmatter: `|` keeps lines, `>` folds them, and `-` leaves out the last line break.

use super::fault::Fault;

/// Reads the block with this header below a key that is indented by `parent`. The text, and the number of lines.
pub(super) fn read(header: &str, lines: &[&str], parent: usize) -> Result<(String, usize), Fault> {
    let (folds, ends) = match header {
        "|" => (false, true),
        "|-" => (false, false),
        ">" => (true, true),
        ">-" => (true, false),
        _ => return Err(Fault::Block),
    };
    let indent_of = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let is_blank = |line: &&&str| line.bytes().all(|byte| byte == b' ');
    let taken = lines.iter().take_while(|line| is_blank(line) || indent_of(line) > parent).count();
    let lines = lines.get(..taken).unwrap_or_default();
    let last = lines.iter().rposition(|line| !is_blank(&line)).map_or(0, |last| last + 1);
    let lines = lines.get(..last).unwrap_or_default();
    let Some(first) = lines.first() else { return Ok((String::new(), taken)) };
    if is_blank(&first) {
        return Err(Fault::Block);
    }
    let indent = indent_of(first);
    let mut text = String::new();
    let mut follows_text = false;
    for line in lines {
        let line = match line.get(indent..) {
            Some(rest) if indent_of(line) >= indent => rest,
            None if is_blank(&line) => "",
            _ => return Err(Fault::Block),
        };
        // Where lines are folded, further indentation has rules of its own, and so has white space alone.
        if folds && line.starts_with(' ') || line.trim_end_matches(' ').is_empty() && !line.is_empty() {
            return Err(Fault::Block);
        }
        match (folds, line.is_empty()) {
            (true, true) => {
                text.push('\n');
                follows_text = false;
            }
            (true, false) => {
                if follows_text {
                    text.push(' ');
                }
                text.push_str(line);
                follows_text = true;
            }
            (false, _) => {
                if follows_text {
                    text.push('\n');
                }
                text.push_str(line);
                follows_text = true;
            }
        }
    }
    if ends {
        text.push('\n');
    }
    Ok((text, taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(header: &str, lines: &[&str]) -> Result<String, Fault> {
        read(header, lines, 0).map(|(text, _)| text)
    }

    #[test]
    fn lines_are_kept_or_folded() {
        let lines = ["  a", "  b", "", "  c", ""];
        assert_eq!(text("|", &lines).as_deref(), Ok("a\nb\n\nc\n"));
        assert_eq!(text("|-", &lines).as_deref(), Ok("a\nb\n\nc"));
        assert_eq!(text(">", &lines).as_deref(), Ok("a b\nc\n"));
        assert_eq!(text(">-", &lines).as_deref(), Ok("a b\nc"));
        assert_eq!(text("|", &["  a", "    b"]).as_deref(), Ok("a\n  b\n"));
        assert_eq!(text(">-", &["  a", "", "", "  b"]).as_deref(), Ok("a\n\nb"));
        assert_eq!(text("|", &[]).as_deref(), Ok(""));
    }

    #[test]
    fn a_block_ends_with_its_indentation() {
        assert_eq!(read("|", &["  a", "", "b: c"], 0), Ok(("a\n".to_owned(), 2)));
        assert_eq!(read("|", &["b: c"], 0), Ok((String::new(), 0)));
        assert_eq!(read(">-", &["  a: b # c"], 0), Ok(("a: b # c".to_owned(), 1)));
    }

    #[test]
    fn what_parsers_may_fold_otherwise_is_rejected() {
        for (header, lines) in [
            ("|+", &["  a"][..]),
            ("|2", &["  a"]),
            ("| x", &["  a"]),
            (">", &["  a", "    b"]),
            ("|", &["  a", "     ", "  b"]),
            ("|", &["   a", "  b"]),
            ("|", &["", "  a"]),
        ] {
            assert_eq!(text(header, lines), Err(Fault::Block), "{header} {lines:?}");
        }
    }
}
