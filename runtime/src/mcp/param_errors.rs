//! Which field of a client's parameters is wrong, and why.
//!
//! Parameters are read where their form is known, as a piece of the message. A line and a column in that piece say
//! nothing to whoever wrote the message, so the field is named instead. It is looked for only once something is known
//! to be wrong.

use serde::Deserialize;

/// How much is told of names and values, which are the client's own, bytes.
const LONGEST: usize = 256;

/// What is wrong with `text`, found at `root`, which was no `T` because of `error`.
pub(super) fn describe<'t, T: Deserialize<'t>>(
    root: &str,
    text: &'t str,
    error: &serde_json::Error,
) -> String {
    let mut json = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(&mut json) {
        Err(found) => {
            let path = found.path().to_string();
            let below = if path == "." { String::new() } else { format!(".{}", cut(&path)) };
            format!("`{root}{below}`: {}", reason(found.inner()))
        }
        // A piece of a message that was read has nothing behind it.
        Ok(_) => format!("`{root}`: {}", reason(error)),
    }
}

/// The words of an error without the place in the text.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let words = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    cut(words.strip_suffix(&place).unwrap_or(&words)).to_owned()
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::value::RawValue;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Params<'a> {
        #[expect(dead_code, reason = "only whether it can be read matters")]
        name: &'a str,
        #[serde(borrow, default)]
        #[expect(dead_code, reason = "only whether it can be read matters")]
        raw: Option<&'a RawValue>,
        #[serde(default)]
        #[expect(dead_code, reason = "only whether it can be read matters")]
        inner: BTreeMap<String, Vec<u8>>,
    }

    fn of(text: &str) -> String {
        let error = serde_json::from_str::<Params<'_>>(text).unwrap_err();
        describe::<Params<'_>>("params", text, &error)
    }

    #[test]
    fn the_field_is_named_and_no_place_in_the_text() {
        for (text, told) in [
            ("{}", "`params`: missing field `name`"),
            (
                r#"{"raw":{"a":[1]},"name":5}"#,
                "`params.name`: invalid type: integer `5`, expected a borrowed string",
            ),
            (r#"{"name":"a","inner":{"b":[1,{}]}}"#, "`params.inner.b[1]`: invalid type: map, expected u8"),
        ] {
            assert_eq!(of(text), told);
        }
        let long = of(&format!(r#"{{"inner":{{"{}":5}}}}"#, "ü".repeat(1_000)));
        assert!(long.len() < 3 * LONGEST && long.starts_with("`params.inner.ü"), "{long}");
    }
}
