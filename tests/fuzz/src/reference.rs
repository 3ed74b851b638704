//! Reference implementations of the rules: slow, obvious, and without code of what they are compared with.

use serde_json::Value;

/// Whether bytes are one JSON text (RFC 8259).
#[must_use]
pub fn is_json(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    value(spaces(text)).is_some_and(|rest| spaces(rest).is_empty())
}

fn spaces(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\r'])
}

/// The text after a value.
fn value(text: &str) -> Option<&str> {
    match text.chars().next()? {
        '{' => items(&text[1..], '}', |text| value(spaces(spaces(string(text)?).strip_prefix(':')?))),
        '[' => items(&text[1..], ']', value),
        '"' => string(text),
        '-' | '0'..='9' => number(text),
        _ => ["true", "false", "null"].iter().find_map(|word| text.strip_prefix(word)),
    }
}

fn items(text: &str, end: char, item: fn(&str) -> Option<&str>) -> Option<&str> {
    let mut rest = spaces(text);
    if let Some(rest) = rest.strip_prefix(end) {
        return Some(rest);
    }
    loop {
        rest = spaces(item(rest)?);
        if let Some(rest) = rest.strip_prefix(end) {
            return Some(rest);
        }
        rest = spaces(rest.strip_prefix(',')?);
    }
}

fn string(text: &str) -> Option<&str> {
    let mut rest = text.strip_prefix('"')?;
    loop {
        let first = rest.chars().next()?;
        rest = &rest[first.len_utf8()..];
        match first {
            '"' => return Some(rest),
            '\\' => rest = escape(rest)?,
            '\0'..='\u{1f}' => return None,
            _ => {}
        }
    }
}

fn escape(text: &str) -> Option<&str> {
    match text.strip_prefix('u') {
        Some(digits) => {
            let four = digits.get(..4).filter(|four| four.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
            digits.strip_prefix(four)
        }
        None => text.strip_prefix(['"', '\\', '/', 'b', 'f', 'n', 'r', 't']),
    }
}

fn number(text: &str) -> Option<&str> {
    let digits = |text: &'_ str| text.bytes().take_while(u8::is_ascii_digit).count();
    let text = text.strip_prefix('-').unwrap_or(text);
    let whole = if text.starts_with('0') { 1 } else { digits(text) };
    let mut rest = text.get(whole..).filter(|_| whole > 0)?;
    if let Some(tail) = rest.strip_prefix('.') {
        rest = tail.get(digits(tail)..).filter(|_| digits(tail) > 0)?;
    }
    if let Some(tail) = rest.strip_prefix(['e', 'E']) {
        let tail = tail.strip_prefix(['+', '-']).unwrap_or(tail);
        rest = tail.get(digits(tail)..).filter(|_| digits(tail) > 0)?;
    }
    Some(rest)
}

/// Every string and name of a JSON text as a client will decode it, also those that a later one of the same name hides.
#[must_use]
pub fn strings(json: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = json;
    while let Some(at) = rest.find('"') {
        let token = &rest[at..];
        let Some(tail) = string(token) else { break };
        let token = &token[..token.len() - tail.len()];
        found.push(serde_json::from_str(token).unwrap_or_default());
        rest = tail;
    }
    found
}

/// How deep a JSON text is nested.
#[must_use]
pub fn depth(json: &str) -> usize {
    let mut deepest = 0;
    let mut depth = 0_usize;
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            '"' => string(rest).unwrap_or_default(),
            _ => &rest[first.len_utf8()..],
        };
        match first {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// A value as text that is the same for all spellings of it.
#[must_use]
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name:?}:{}", canonical(value))).collect();
            fields.sort();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::String(text) => format!("{text:?}"),
        plain => plain.to_string(),
    }
}

/// Whether a character is invisible: Unicode's Default_Ignorable_Code_Point, controls, and characters that reorder the
/// text around them. Exceptions are the two variation selectors of emoji, line breaks and tabs.
#[must_use]
pub fn hides(character: char) -> bool {
    let ignorable = matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    );
    let moves = matches!(character, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}');
    let layout = matches!(character, '\n' | '\r' | '\t' | '\u{fe0e}' | '\u{fe0f}');
    (ignorable || moves || character.is_control()) && !layout
}

/// Panics when a text has a hidden character.
pub fn assert_readable(place: &str, text: &str) {
    if let Some(character) = text.chars().find(|character| hides(*character)) {
        panic!("{place} passed with {}: {text:?}", character.escape_unicode());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_distinguished_from_other_text() {
        for good in ["{}", " [1, -0.5e+3, \"\\u00e9\\n\", true,null,{\"a\" : {}}] ", "0", "\"\u{7f}\""] {
            assert!(is_json(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "01",
            "1.",
            "[1,]",
            "{a:1}",
            "\"\n\"",
            "\"\\x\"",
            "\"\\u12\"",
            "tru",
            "1 2",
            "[",
            "+1",
            "{\"a\"}",
        ] {
            assert!(!is_json(bad.as_bytes()), "{bad}");
        }
        assert!(!is_json(b"\"\xff\""));
    }

    #[test]
    fn every_character_that_hides_is_deceptive_to_the_runtime() {
        let overlooked: Vec<char> =
            ('\0'..=char::MAX).filter(|one| hides(*one) && !plugport::observe::is_deceptive(*one)).collect();
        assert_eq!(overlooked, Vec::<char>::new());
    }

    #[test]
    fn no_string_is_overlooked() {
        assert_eq!(strings(r#"{"a":"x","a":["\u0041\"",1]}"#), ["a", "x", "a", "A\""]);
        assert_eq!((depth(r#"{"a":[[]],"b":"[[[["}"#), depth("1")), (3, 0));
    }

    #[test]
    fn spellings_of_one_value_are_one_text() {
        let text = |json: &str| canonical(&serde_json::from_str(json).unwrap());
        assert_eq!(text(r#"{"b":1,"a":[ 2 ]}"#), text(r#"{"a":[2],"\u0062":1}"#));
        assert_ne!(text(r#"{"a":"1"}"#), text(r#"{"a":1}"#));
    }
}
