//! Finds a URI template's variables in a URI: RFC 6570 backwards.
//!
//! The macro has taken the template apart; here its pieces are laid along the URI, from left to right, each as long as it
//! can be. What led nowhere is remembered, and a URI that was made to cost much is given up.

use std::collections::BTreeSet;

/// A piece of a template.
#[derive(Debug, Clone, Copy)]
pub enum Piece {
    /// Text as it stands.
    Literal(&'static str),
    /// One variable.
    Value {
        /// Its name.
        name: &'static str,
        /// What stands before it. A variable with a prefix may be left out together with that.
        prefix: &'static str,
        /// Whether it may hold `/`, `?` and `#`.
        reserved: bool,
    },
    /// `?a=1&b=2`, each of these or none, in any order.
    Query {
        /// The names.
        names: &'static [&'static str],
        /// `?` or `&`.
        prefix: char,
    },
}

type Values = Vec<(String, String)>;

/// How many beginnings of what is left of a URI are looked at. No sensible URI needs a tenth of it, and one that was made
/// to cost much costs a small part of a call.
const MOST_TRIES: usize = 10_000;

/// The values of the variables, if this is a URI of the template.
pub fn matched(pieces: &[Piece], uri: &str) -> Option<Values> {
    let mut search = Search::default();
    let mut values = Vec::new();
    search.from(pieces, uri, &mut values).then_some(values)
}

#[derive(Default)]
struct Search {
    /// Numbers of pieces and of bytes left where the rest was found not to fit.
    dead: BTreeSet<(usize, usize)>,
    tries: usize,
}

impl Search {
    fn from(&mut self, pieces: &[Piece], rest: &str, values: &mut Values) -> bool {
        let place = (pieces.len(), rest.len());
        self.tries += 1;
        if self.tries > MOST_TRIES || self.dead.contains(&place) {
            return false;
        }
        let fits = match pieces.split_first() {
            None => rest.is_empty(),
            Some((Piece::Literal(text), pieces)) => {
                rest.strip_prefix(text).is_some_and(|rest| self.from(pieces, rest, values))
            }
            Some((Piece::Value { name, prefix, reserved }, pieces)) => {
                let value = rest.strip_prefix(prefix);
                value.is_some_and(|text| self.value(name, *reserved, pieces, text, values))
                    || (!prefix.is_empty() && self.from(pieces, rest, values))
            }
            Some((Piece::Query { names, prefix }, pieces)) => {
                self.query(names, *prefix, pieces, rest, values)
            }
        };
        if !fits {
            self.dead.insert(place);
        }
        fits
    }

    /// Tries the longest value first.
    fn value(
        &mut self,
        name: &str,
        reserved: bool,
        pieces: &[Piece],
        text: &str,
        values: &mut Values,
    ) -> bool {
        let longest = if reserved { text.len() } else { text.find(['/', '?', '#']).unwrap_or(text.len()) };
        let before = values.len();
        for end in ends(text, longest).into_iter().rev() {
            let Some((value, rest)) = text.split_at_checked(end) else { continue };
            if self.from(pieces, rest, values) {
                values.insert(before, (name.to_owned(), decode(value).unwrap_or_default()));
                return true;
            }
        }
        false
    }

    /// A query ends where the URI or its fragment does, so there is only one way to read it. A long one
    /// counts as much.
    fn query(
        &mut self,
        names: &[&str],
        prefix: char,
        pieces: &[Piece],
        rest: &str,
        values: &mut Values,
    ) -> bool {
        let Some(query) = rest.strip_prefix(prefix) else { return self.from(pieces, rest, values) };
        let (query, after) = query.split_at(query.find('#').unwrap_or(query.len()));
        self.tries += query.len();
        let before = values.len();
        let fits = query.split('&').all(|pair| match pair.split_once('=') {
            Some((name, value)) if names.contains(&name) => {
                decode(value).map(|value| values.push((name.to_owned(), value))).is_some()
            }
            _ => false,
        });
        let fits = fits && self.from(pieces, after, values);
        if !fits {
            values.truncate(before);
        }
        fits
    }
}

/// Where a value may end: behind each letter, and never inside of one or of `%41`. What cannot be decoded is in no value.
fn ends(text: &str, longest: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while let Some(size) = text.get(at..longest).and_then(letter) {
        at += size;
        ends.push(at);
    }
    ends
}

/// How many bytes the first letter takes.
fn letter(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    if first != '%' {
        return Some(first.len_utf8());
    }
    (1..=4).map(|bytes| bytes * "%41".len()).find(|size| text.get(..*size).and_then(decode).is_some())
}

/// The text behind `%41`; nothing when this is no UTF-8 or `%` stands alone.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, tail @ ..] = tail else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        bytes.push(digit(*high)? << 4 | digit(*low)?);
        rest = tail;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn value(name: &'static str, prefix: &'static str, reserved: bool) -> Piece {
        Piece::Value { name, prefix, reserved }
    }

    fn found(pieces: &[Piece], uri: &str) -> Option<String> {
        let values = matched(pieces, uri)?;
        Some(values.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_simple_variable_is_one_segment() {
        let template = [Piece::Literal("n://a/"), value("id", "", false), Piece::Literal("/z")];
        assert_eq!(found(&template, "n://a/1/z").as_deref(), Some("id=1"));
        assert_eq!(found(&template, "n://a/a%20%C3%A9/z").as_deref(), Some("id=a é"));
        assert_eq!(found(&template, "n://a/é/z").as_deref(), Some("id=é"));
        for other in ["n://a/1/2/z", "n://a//z", "n://a/1/zz", "n://a/1", "n://a/%4/z", "n://a/%ff/z", ""] {
            assert_eq!(found(&template, other), None, "{other}");
        }
    }

    #[test]
    fn several_variables_share_as_the_literals_say() {
        let template = [value("a", "", false), Piece::Literal(","), value("b", "", false)];
        assert_eq!(found(&template, "1,2").as_deref(), Some("a=1 b=2"));
        assert_eq!(found(&template, "1,2,3").as_deref(), Some("a=1,2 b=3"));
    }

    #[test]
    fn a_reserved_variable_may_hold_anything() {
        let template = [Piece::Literal("f:"), value("path", "", true), Piece::Literal(".md")];
        assert_eq!(found(&template, "f:a/b.md.md").as_deref(), Some("path=a/b.md"));
        assert_eq!(found(&template, "f:.md"), None);
    }

    #[test]
    fn a_variable_with_a_prefix_may_be_left_out() {
        let template = [Piece::Literal("n:x"), value("a", "/", false), value("b", "/", false)];
        assert_eq!(found(&template, "n:x/1/2").as_deref(), Some("a=1 b=2"));
        assert_eq!(found(&template, "n:x/1").as_deref(), Some("a=1"));
        assert_eq!(found(&template, "n:x").as_deref(), Some(""));
        assert_eq!(found(&template, "n:x/1/2/3"), None);
    }

    #[test]
    fn a_query_is_read_in_any_order() {
        let template = [value("id", "", false), Piece::Query { names: &["x", "y"], prefix: '?' }];
        assert_eq!(found(&template, "a?y=2&x=%31").as_deref(), Some("id=a y=2 x=1"));
        assert_eq!(found(&template, "a").as_deref(), Some("id=a"));
        assert_eq!(found(&template, "a?x=").as_deref(), Some("id=a x="));
        assert_eq!(found(&template, "a?z=1"), None);
        assert_eq!(found(&template, "a?"), None);
    }

    #[test]
    fn a_value_ends_behind_a_letter() {
        let together = [value("a", "", false), value("b", "", false)];
        assert_eq!(found(&together, "a%C3%A9").as_deref(), Some("a=a b=é"));
        assert_eq!(found(&together, "😀z").as_deref(), Some("a=😀 b=z"));
        assert_eq!(found(&together, "%A9%A9"), None);
        let parted = [value("a", "", false), Piece::Literal("4"), value("b", "", false)];
        assert_eq!(found(&parted, "%44%41"), None);
    }

    #[test]
    fn a_hostile_uri_is_given_up() {
        let all = value("a", "", true);
        let piece = value("a", "", false);
        let query = |prefix| Piece::Query { names: &["p"], prefix };
        let (dash, last) = (Piece::Literal("-"), Piece::Literal("/b"));
        for (template, uri) in [
            (&[all, all, all, all, all, all, all, all, Piece::Literal("!")][..], "a".repeat(2_048)),
            (&[piece, dash, piece, dash, piece, last], "-".repeat(2_048)),
            (&[piece, dash, piece, dash, piece, last], "%2D-".repeat(512)),
            (&[all, query('?'), all, query('?'), value("z", "#", true), last], "?p=".repeat(680) + "&"),
            (&[all, query('?'), last], "?p=".repeat(340) + &"&p=".repeat(340) + "&"),
        ] {
            assert_eq!(found(template, &uri), None);
            let mut search = Search::default();
            search.from(template, &uri, &mut Vec::new());
            let most = MOST_TRIES + template.len() * uri.len();
            assert!(search.tries <= most, "{} tries", search.tries);
        }
    }
}
