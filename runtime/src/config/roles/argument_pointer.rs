//! Pointers into arguments, such as `/path` or `/files/0/name`.
//!
//! A [`JsonPointer`] as `[auth]` has them, split into its parts: arguments are read as a stream, in which one part
//! after the other is found, and never as a whole value.

use crate::config::auth::JsonPointer;

/// Longest pointer, bytes.
const MAX_BYTES: usize = 256;

/// Most parts: each is one step deeper into the arguments.
const MAX_TOKENS: usize = 16;

/// Where a value stands in the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ArgumentPointer {
    text: Box<str>,
    tokens: Box<[Box<str>]>,
}

/// Why a text is no pointer. The sentences follow the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentPointerError {
    /// Not a pointer of RFC 6901 that leads below the root.
    #[error(
        "is no JSON pointer to an argument; begin with a slash, such as `/path`; within a name, ~1 stands for / and ~0 \
         for ~"
    )]
    Syntax,
    /// A character that no name of an argument has.
    #[error("has a control character")]
    Control,
    /// Beyond the bounds.
    #[error("is too long; a pointer may have {MAX_BYTES} bytes and {MAX_TOKENS} parts")]
    TooLong,
}

impl ArgumentPointer {
    /// Parses a pointer to a part of the arguments.
    ///
    /// # Errors
    /// With what to write instead.
    pub fn parse(text: &str) -> Result<Self, ArgumentPointerError> {
        if text.len() > MAX_BYTES {
            return Err(ArgumentPointerError::TooLong);
        }
        let pointer = JsonPointer::parse(text).ok_or(ArgumentPointerError::Syntax)?;
        if text.contains(char::is_control) {
            return Err(ArgumentPointerError::Control);
        }
        // The first slash ends an empty part, which is the root.
        let tokens: Box<[Box<str>]> = pointer.as_str().split('/').skip(1).map(unescaped).collect();
        if tokens.len() > MAX_TOKENS {
            return Err(ArgumentPointerError::TooLong);
        }
        Ok(Self { text: text.into(), tokens })
    }

    /// The names and indexes on the way to the value; at least one.
    #[must_use]
    pub fn tokens(&self) -> &[Box<str>] {
        &self.tokens
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// In this order, so that `~01` is `~1` and no slash.
fn unescaped(token: &str) -> Box<str> {
    token.replace("~1", "/").replace("~0", "~").into_boxed_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_read_as_rfc_6901_says() {
        use ArgumentPointerError as E;
        let tokens = |text: &str| ArgumentPointer::parse(text).map(|pointer| pointer.tokens().join("|"));
        for (text, expected) in
            [("/path", "path"), ("/a/0/b", "a|0|b"), ("/a~1b/~0~01", "a/b|~~1"), ("/", ""), ("/a/", "a|")]
        {
            assert_eq!(tokens(text).as_deref(), Ok(expected), "{text}");
        }
        for (text, error) in [
            ("", E::Syntax),
            ("path", E::Syntax),
            ("/a~", E::Syntax),
            ("/~2", E::Syntax),
            ("/a\n", E::Control),
        ] {
            assert_eq!(tokens(text), Err(error), "{text}");
        }
        assert_eq!(tokens(&"/a".repeat(MAX_TOKENS + 1)), Err(E::TooLong));
        assert_eq!(tokens(&format!("/{}", "a".repeat(MAX_BYTES))), Err(E::TooLong));
    }
}
