//! The arguments of a call as the audit has them: their beginning if the operator wants them, and else their digest.
//!
//! The digest of short arguments is left to the audit's thread, with the line of their call. Longer ones would have to
//! be copied for that, and would make one thread work for all callers.

use std::fmt;

use data_encoding::HEXLOWER;
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// Longest arguments that the audit has whole, bytes; the rest is cut.
const MAX_WHOLE: usize = 16 << 10;

/// Longest arguments whose digest is left to the audit's thread, bytes.
const MAX_DIGEST_LATER: usize = 1 << 10;

/// The arguments of one call.
pub(super) enum AuditedArguments {
    /// What the line has.
    Ready(String),
    /// Arguments of which the line has the digest.
    DigestLater(String),
}

impl AuditedArguments {
    /// The arguments themselves if the audit includes them `whole`.
    pub(super) fn new(arguments: &str, whole: bool) -> Self {
        if whole {
            let end = arguments.floor_char_boundary(MAX_WHOLE);
            return Self::Ready(arguments.get(..end).unwrap_or_default().to_owned());
        }
        if arguments.len() <= MAX_DIGEST_LATER {
            return Self::DigestLater(arguments.to_owned());
        }
        Self::Ready(ArgumentsDigest(arguments).to_string())
    }

    /// What it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Ready(text) | Self::DigestLater(text) => text.len(),
        }
    }
}

impl fmt::Debug for AuditedArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text may be here only for its digest, and is for no log.
        f.debug_struct("AuditedArguments").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

impl Serialize for AuditedArguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ready(text) => serializer.serialize_str(text),
            Self::DigestLater(arguments) => serializer.collect_str(&ArgumentsDigest(arguments)),
        }
    }
}

/// Displays the digest of arguments, which the line of each call has.
struct ArgumentsDigest<'a>(&'a str);

impl fmt::Display for ArgumentsDigest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = Sha256::digest(self.0);
        write!(f, "sha256:{}", HEXLOWER.encode_display(&digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(arguments: &str, whole: bool) -> String {
        match serde_json::to_value(AuditedArguments::new(arguments, whole)) {
            Ok(serde_json::Value::String(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_line_says_the_digest_however_long_the_arguments_are() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(written("", false), empty);
        for length in [MAX_DIGEST_LATER - 1, MAX_DIGEST_LATER, MAX_DIGEST_LATER + 1, 1 << 20] {
            let arguments = "a".repeat(length);
            assert_eq!(written(&arguments, false), ArgumentsDigest(&arguments).to_string());
        }
    }

    #[test]
    fn a_log_never_shows_them() {
        for whole in [true, false] {
            let shown = format!("{:?}", AuditedArguments::new("hunter2", whole));
            assert_eq!(shown, "AuditedArguments { bytes: 7, .. }");
        }
    }

    #[test]
    fn whole_arguments_are_cut_between_characters() {
        assert_eq!(written("{\"a\":1}", true), "{\"a\":1}");
        assert_eq!(written(&"ä".repeat(MAX_WHOLE), true).len(), MAX_WHOLE);
        assert_eq!(written(&"€".repeat(MAX_WHOLE), true).len(), MAX_WHOLE / 3 * 3);
    }
}
