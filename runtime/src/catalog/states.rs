//! How many states a regular expression has, about: what a search for it costs at worst for each byte of the text.
//!
//! The engine is linear in the text, but a search whose states do not fit its cache follows all of them at once. They are
//! counted from the text of the pattern, so that a search is charged for before it is begun.

use std::iter::Peekable;
use std::str::Chars;

/// States of a class: the characters beyond ASCII are several bytes each.
const CLASS: u64 = 8;

/// States of a class of Unicode, such as that of all letters.
const PROPERTY: u64 = 300;

/// States of a pattern.
pub(super) fn states(pattern: &str) -> u64 {
    let mut groups: Vec<u64> = Vec::new();
    // Of the group that is open, and of what is repeated if a repetition follows.
    let (mut sum, mut last) = (0_u64, 0_u64);
    let mut rest = pattern.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '(' => {
                groups.push(sum);
                (sum, last) = (0, 0);
                continue;
            }
            ')' => {
                last = sum.max(1);
                sum = groups.pop().unwrap_or_default();
            }
            '{' => {
                // What was counted once already.
                let more = times(&mut rest).saturating_sub(1);
                sum = sum.saturating_add(last.saturating_mul(more));
                last = last.saturating_mul(more.saturating_add(1));
                continue;
            }
            '*' | '+' | '?' => continue,
            '[' => last = class(&mut rest),
            '\\' => last = escaped(&mut rest),
            '.' => last = CLASS,
            _ => last = character.len_utf8() as u64,
        }
        sum = sum.saturating_add(last);
    }
    groups.into_iter().fold(sum, u64::saturating_add).max(1)
}

/// The largest number of a repetition, after its opening brace.
fn times(rest: &mut Peekable<Chars<'_>>) -> u64 {
    let (mut most, mut number) = (1_u64, 0_u64);
    while let Some(character) = rest.next_if(|next| next.is_ascii_digit() || matches!(next, ',' | '}')) {
        match character.to_digit(10) {
            Some(digit) => number = number.saturating_mul(10).saturating_add(u64::from(digit)),
            None => (most, number) = (most.max(number), 0),
        }
        if character == '}' {
            break;
        }
    }
    most.max(number)
}

/// A class of ASCII is one state.
fn class(rest: &mut Peekable<Chars<'_>>) -> u64 {
    let mut states = if rest.next_if_eq(&'^').is_some() { CLASS } else { 1 };
    while let Some(character) = rest.next() {
        match character {
            '\\' => states = states.max(escaped(rest)),
            ']' => break,
            character if character.is_ascii() => {}
            _ => states = states.max(CLASS),
        }
    }
    states
}

fn escaped(rest: &mut Peekable<Chars<'_>>) -> u64 {
    match rest.next() {
        Some('p' | 'P') => {
            // Its name is no repetition.
            if rest.next_if_eq(&'{').is_some() {
                while rest.next().is_some_and(|next| next != '}') {}
            }
            PROPERTY
        }
        Some(upper) if upper.is_ascii_uppercase() => CLASS,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::states;

    #[test]
    fn repetitions_count_as_often_as_they_may_repeat() {
        for (pattern, expected) in [
            ("", 1),
            ("^abc$", 5),
            ("a{100}", 100),
            ("(ab{10}){10,20}", 220),
            ("((a{50}){50}){50}", 125_000),
            ("[0-9a-f]{8}-[0-9a-f]{4}", 13),
            (r"\p{L}{3}", 900),
            (r"[^a][\]\p{L}]", 308),
            (r"\{3\}", 3),
            ("(a|b", 3),
            ("a{,3}b{", 4),
        ] {
            assert_eq!(states(pattern), expected, "{pattern}");
        }
        assert_eq!(states(&"(".repeat(1_000)), 1);
        assert_eq!(states(&"(a{1000}){1000}".repeat(9)), 9_000_000);
    }
}
