//! Quotes the words of commands that messages tell the operator to type: a folder may have a space in its
//! name, and an untrusted file any character at all.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use crate::is_deceptive;

/// A word quoted so that a shell reads exactly this word.
pub fn shell_quote(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+:@%,=".contains(byte);
    let is_harmless = |text: &&str| !text.chars().any(is_deceptive);
    match word.to_str().filter(is_harmless) {
        Some(text) if !text.is_empty() && text.as_bytes().iter().all(is_plain) => text.to_owned(),
        Some(text) => format!("'{}'", text.replace('\'', r"'\''")),
        None => format!("$'{}'", escape_bytes(word.as_bytes())),
    }
}

/// Text for `$'...'`, with hexadecimal escapes for all bytes but printable ASCII.
fn escape_bytes(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes {
        match byte {
            b'\'' | b'\\' => out.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => out.push(char::from(*byte)),
            // Writing to a string does not fail.
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_very_word() {
        for (word, written) in [
            (&b"/a/b-c_1.wasm"[..], "/a/b-c_1.wasm"),
            (b"", "''"),
            (b"a b", "'a b'"),
            (b"$(id); it's", r"'$(id); it'\''s'"),
            ("\u{fc}".as_bytes(), "'\u{fc}'"),
            (b"a\nb'\\\xff", r"$'a\x0ab\'\\\xff'"),
            ("\u{202e}".as_bytes(), r"$'\xe2\x80\xae'"),
        ] {
            assert_eq!(shell_quote(OsStr::from_bytes(word)), written);
        }
    }
}
