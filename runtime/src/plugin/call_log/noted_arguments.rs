//! The arguments of a call as the audit has them: their beginning if the operator wants them, and else their digest.
//!
//! The digest of short arguments is left to the audit's thread, with the line of their call. Longer ones would have to
//! be copied for that, and would make one thread work for all callers.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::plugin::component_file::sha256;

/// Longest arguments that the audit has whole, bytes; the rest is cut.
const MAX_WHOLE: usize = 16 << 10;

/// Longest arguments whose digest is left to the audit's thread, bytes.
const MAX_UNDIGESTED: usize = 1 << 10;

/// The arguments of one call.
pub(super) enum NotedArguments {
    /// What the line says.
    Written(String),
    /// The line says their digest.
    Undigested(String),
}

impl NotedArguments {
    /// Notes arguments: the text itself if the audit includes them `whole`.
    pub(super) fn new(arguments: &str, whole: bool) -> Self {
        if whole {
            let end = arguments.floor_char_boundary(MAX_WHOLE);
            return Self::Written(arguments.get(..end).unwrap_or_default().to_owned());
        }
        if arguments.len() <= MAX_UNDIGESTED {
            return Self::Undigested(arguments.to_owned());
        }
        Self::Written(digest(arguments))
    }

    /// What it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Written(text) | Self::Undigested(text) => text.len(),
        }
    }
}

impl fmt::Debug for NotedArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text may be here only for its digest, and is for no log.
        f.debug_struct("NotedArguments").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

impl Serialize for NotedArguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Written(text) => serializer.serialize_str(text),
            Self::Undigested(arguments) => serializer.serialize_str(&digest(arguments)),
        }
    }
}

fn digest(arguments: &str) -> String {
    format!("sha256:{}", sha256(arguments.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(arguments: &str, whole: bool) -> String {
        match serde_json::to_value(NotedArguments::new(arguments, whole)) {
            Ok(serde_json::Value::String(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_line_says_the_digest_however_long_the_arguments_are() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(written("", false), empty);
        for length in [MAX_UNDIGESTED - 1, MAX_UNDIGESTED, MAX_UNDIGESTED + 1, 1 << 20] {
            let arguments = "a".repeat(length);
            assert_eq!(written(&arguments, false), digest(&arguments));
        }
    }

    #[test]
    fn a_log_never_shows_them() {
        for whole in [true, false] {
            let shown = format!("{:?}", NotedArguments::new("hunter2", whole));
            assert_eq!(shown, "NotedArguments { bytes: 7, .. }");
        }
    }

    #[test]
    fn whole_arguments_are_cut_between_characters() {
        assert_eq!(written("{\"a\":1}", true), "{\"a\":1}");
        assert_eq!(written(&"ä".repeat(MAX_WHOLE), true).len(), MAX_WHOLE);
        assert_eq!(written(&"€".repeat(MAX_WHOLE), true).len(), MAX_WHOLE / 3 * 3);
    }
}
