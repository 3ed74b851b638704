//! Values of frontmatter that stand on one line.
//!
//! Hosts read the same text with their own parsers of YAML, some of version 1.1 and some of 1.2. What these read
//! differently is rejected with the advice to quote it.

use serde_json::{Number, Value};

use super::fault::Fault;

/// Maximum number of digits of a number: a double holds each of them.
const MAX_DIGITS: usize = 15;

/// What YAML 1.1 reads as a truth value, besides `true` and `false`.
const YAML_1_1: [&str; 8] = ["y", "n", "yes", "no", "on", "off", "<<", "="];

/// Reads a value: a plain or quoted scalar, or a list in brackets.
pub(super) fn value(text: &str) -> Result<Value, Fault> {
    match text.strip_prefix('[') {
        Some(rest) => list(rest),
        None => scalar(text),
    }
}

/// Reads a plain or quoted scalar.
pub(super) fn scalar(text: &str) -> Result<Value, Fault> {
    let (value, rest) = match text.as_bytes().first() {
        Some(b'"') => double_quoted(text)?,
        Some(b'\'') => single_quoted(text)?,
        _ => return plain(text),
    };
    if rest.is_empty() { Ok(Value::String(value)) } else { Err(Fault::Rest) }
}

/// Reads the items of a list after `[`.
fn list(mut rest: &str) -> Result<Value, Fault> {
    let mut items = Vec::new();
    rest = rest.trim_start();
    if rest == "]" {
        return Ok(Value::Array(items));
    }
    loop {
        let (item, after) = match rest.as_bytes().first() {
            Some(b'"') => double_quoted(rest).map(|(text, after)| (Value::String(text), after))?,
            Some(b'\'') => single_quoted(rest).map(|(text, after)| (Value::String(text), after))?,
            _ => {
                let end = rest.find([',', ']']).ok_or(Fault::List)?;
                let (item, after) = rest.split_at_checked(end).ok_or(Fault::List)?;
                if item.contains(['[', '{', '}']) {
                    return Err(Fault::List);
                }
                (plain(item.trim_end())?, after)
            }
        };
        items.push(item);
        match after.trim_start().split_at_checked(1) {
            Some((",", after)) => rest = after.trim_start(),
            Some(("]", "")) => return Ok(Value::Array(items)),
            _ => return Err(Fault::List),
        }
    }
}

/// Reads a text in double quotes; the value, and what follows.
fn double_quoted(text: &str) -> Result<(String, &str), Fault> {
    let mut value = String::new();
    let mut rest = text.get(1..).unwrap_or_default();
    loop {
        let mut chars = rest.chars();
        match chars.next().ok_or(Fault::Quote)? {
            '"' => return Ok((value, chars.as_str())),
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some(escaped @ ('"' | '\\' | '/')) => value.push(escaped),
                _ => return Err(Fault::Escape),
            },
            other => value.push(other),
        }
        rest = chars.as_str();
    }
}

/// Reads a text in single quotes; the value, and what follows.
fn single_quoted(text: &str) -> Result<(String, &str), Fault> {
    let mut value = String::new();
    let mut rest = text.get(1..).unwrap_or_default();
    loop {
        let (before, after) = rest.split_once('\'').ok_or(Fault::Quote)?;
        value.push_str(before);
        match after.strip_prefix('\'') {
            Some(more) => {
                value.push('\'');
                rest = more;
            }
            None => return Ok((value, after)),
        }
    }
}

/// Reads a plain scalar.
pub(super) fn plain(text: &str) -> Result<Value, Fault> {
    check_plain(text)?;
    Ok(match text {
        "null" | "Null" | "NULL" | "~" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        text if is_number(text) => number(text).ok_or(Fault::Ambiguous)?,
        text if YAML_1_1.contains(&text.to_ascii_lowercase().as_str()) || is_almost_number(text) => {
            return Err(Fault::Ambiguous);
        }
        text => Value::String(text.to_owned()),
    })
}

/// Rejects what has another meaning than its characters.
fn check_plain(text: &str) -> Result<(), Fault> {
    match text.as_bytes() {
        [b'&' | b'*' | b'!', ..] => Err(Fault::Anchor),
        [b'-' | b'?' | b':'] | [b'-' | b'?' | b':', b' ', ..] => Err(Fault::Indicator),
        [] | [b'{' | b'}' | b'[' | b']' | b',' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`', ..] => {
            Err(Fault::Indicator)
        }
        _ if text.contains(": ") || text.ends_with(':') || text.contains(" #") => Err(Fault::Indicator),
        _ => Ok(()),
    }
}

/// Whether every parser reads this as the same number: decimal, without an exponent and needless zeros in front.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    digits(whole)
        && digits(fraction)
        && (whole == "0" || !whole.starts_with('0'))
        && unsigned.len() <= MAX_DIGITS
}

fn number(text: &str) -> Option<Value> {
    match text.contains('.') {
        true => Number::from_f64(text.parse().ok()?).map(Value::Number),
        false => text.parse::<i64>().ok().map(Value::from),
    }
}

/// Whether some parser may read this as a number or a time, such as `012`, `1_000`, `0x1f`, `12:30`, `2026-01-01`.
fn is_almost_number(text: &str) -> bool {
    let unsigned = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    let of_number = |byte: u8| byte.is_ascii_hexdigit() || b"xo_.:+- tz".contains(&byte);
    let begins = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    matches!(unsigned.as_str(), ".inf" | ".nan") || begins && unsigned.bytes().all(of_number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_what_every_parser_reads() {
        for (text, expected) in [
            ("Reviews code", json!("Reviews code")),
            ("it's no. 1, really", json!("it's no. 1, really")),
            ("https://a.test/x?y", json!("https://a.test/x?y")),
            ("2 cats", json!("2 cats")),
            ("-x", json!("-x")),
            ("\"a: \\\"b\\\"\\n\\\\\"", json!("a: \"b\"\n\\")),
            ("'it''s: so'", json!("it's: so")),
            ("''", json!("")),
            ("true", json!(true)),
            ("~", json!(null)),
            ("-7", json!(-7)),
            ("1.50", json!(1.5)),
            ("[]", json!([])),
            ("[Read, \"a, b\" , 3]", json!(["Read", "a, b", 3])),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_parsers_disagree_about_is_rejected() {
        for text in [
            "yes",
            "No",
            "on",
            "Y",
            "012",
            "0o7",
            "0x1F",
            "1_000",
            "1e3",
            "+1",
            ".5",
            "1.",
            ".inf",
            "-.NaN",
            "12:30:45",
            "2026-01-01",
            "2026-01-01T10:00:00Z",
            "1234567890123456",
            "<<",
            "=",
        ] {
            assert_eq!(value(text), Err(Fault::Ambiguous), "{text}");
        }
    }

    #[test]
    fn anchors_tags_and_indicators_are_rejected() {
        for text in ["&a x", "*a", "!!python/object x", "!x"] {
            assert_eq!(value(text), Err(Fault::Anchor), "{text}");
        }
        for text in ["{a: 1}", "a: b", "a:", "x # y", "- a", "? a", "%a", "@a", "`a", "#a", "|", ">", ""] {
            assert_eq!(value(text), Err(Fault::Indicator), "{text}");
        }
        for text in ["[a", "[[a]]", "[a, {b}]", "[a]]", "[a] b", "['a' b]"] {
            assert_eq!(value(text), Err(Fault::List), "{text}");
        }
        assert_eq!(value("[a, *b]"), Err(Fault::Anchor));
        assert_eq!((value("\"a"), value("'a''")), (Err(Fault::Quote), Err(Fault::Quote)));
        assert_eq!((value("\"\\x41\""), value("\"a\" b")), (Err(Fault::Escape), Err(Fault::Rest)));
    }
}
