//! Says which field of a client's parameters is invalid, and why.
//!
//! Each handler parses its parameters separately from the rest of the message. A line and a column in that part would
//! mean nothing to the author of the message, so the error names the field instead. The field is determined only after
//! parsing has failed.

use serde::Deserialize;

/// How many bytes of names and values from the client an error repeats.
const MAX_BYTES: usize = 256;

/// Describes `error`, which occurred when `text` was parsed as a `T`. `text` is the value at `root` in the message.
pub(super) fn describe<'t, T: Deserialize<'t>>(
    root: &str,
    text: &'t str,
    error: &serde_json::Error,
) -> String {
    let mut json = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(&mut json) {
        Err(error) => {
            let path = error.path().to_string();
            let below = if path == "." { String::new() } else { format!(".{}", cut(&path)) };
            format!("`{root}{below}`: {}", reason(error.inner()))
        }
        // Unreachable: `text` comes from a parsed message, so nothing follows the value.
        Ok(_) => format!("`{root}`: {}", reason(error)),
    }
}

/// Returns the text of an error without its line and column.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    cut(text.strip_suffix(&position).unwrap_or(&text)).to_owned()
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_BYTES)).unwrap_or_default()
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
        for (text, expected) in [
            ("{}", "`params`: missing field `name`"),
            (
                r#"{"raw":{"a":[1]},"name":5}"#,
                "`params.name`: invalid type: integer `5`, expected a borrowed string",
            ),
            (r#"{"name":"a","inner":{"b":[1,{}]}}"#, "`params.inner.b[1]`: invalid type: map, expected u8"),
        ] {
            assert_eq!(of(text), expected);
        }
        let long = of(&format!(r#"{{"inner":{{"{}":5}}}}"#, "ü".repeat(1_000)));
        assert!(long.len() < 3 * MAX_BYTES && long.starts_with("`params.inner.ü"), "{long}");
    }
}
