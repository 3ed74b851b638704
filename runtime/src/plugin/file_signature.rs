//! Detached signatures of minisign for plugin files.
//!
//! Verification is a function over bytes, so that the verified bytes are the ones that were read and are compiled. A
//! signature proves who signed the bytes. It does not say under which name they may be served, or that they are the
//! newest; approval does that.

use std::time::SystemTime;

use minisign_verify::{Error, Signature};

use crate::config::{KeyId, SignatureKeys};
use crate::observe::truncate;

/// Longest trusted comment that is stored, bytes. minisign itself writes a time and a name there.
const COMMENT: usize = 256;

/// Who signed a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// The key.
    pub key: KeyId,
    /// The signed comment, cut where it is long. It is still untrusted text.
    pub comment: String,
}

/// Why a file is rejected for its signature. Each is about the signature's file and says what to do.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SignatureError {
    /// There is no signature.
    #[error("is not there, and `require_signature` asks for it; sign the plugin with `minisign -Sm`")]
    Missing,
    /// Not a signature, or damaged.
    #[error(
        "is no signature of minisign, or is damaged; copy it again, or sign the plugin with `minisign -Sm`"
    )]
    Malformed,
    /// A signature of the bytes themselves instead of their hash.
    #[error(
        "has the old format without hashing; sign the plugin again, without `-l`, or with an old minisign with `-H`"
    )]
    Legacy,
    /// Made with a key that is not configured.
    #[error(
        "was made with the key {0}, which is not one of `trusted_keys`; add the key only if you trust its owner"
    )]
    UnknownKey(KeyId),
    /// Made with a key that is not trusted any more.
    #[error(
        "was made with the key {key}, which was accepted until {until}; sign the plugin with a newer key"
    )]
    Expired {
        /// The key.
        key: KeyId,
        /// From when on it is rejected, in UTC.
        until: String,
    },
    /// A signature of other bytes.
    #[error(
        "does not fit the plugin: one of the two was changed; get both again, from the owner of the key {0}"
    )]
    Mismatch(KeyId),
}

/// The signer of these bytes. `None`: no signature is required, and there is none or no key to verify it.
///
/// If keys are configured, a signature that exists must verify, also where none is required: a wrong signature never
/// counts as a missing one.
///
/// # Errors
/// When the signature is required and missing, or not valid.
pub fn check(
    bytes: &[u8],
    signature: Option<&[u8]>,
    keys: &SignatureKeys,
    required: bool,
    now: SystemTime,
) -> Result<Option<Signer>, SignatureError> {
    if keys.is_empty() && !required {
        return Ok(None);
    }
    let Some(signature) = signature else {
        return if required { Err(SignatureError::Missing) } else { Ok(None) };
    };
    let (signature, id) = decode(signature).ok_or(SignatureError::Malformed)?;
    let trusted = keys.find(id).ok_or(SignatureError::UnknownKey(id))?;
    if let Some(until) = trusted.until.filter(|_| !trusted.is_valid_at(now)) {
        let until = humantime::format_rfc3339_seconds(until).to_string();
        return Err(SignatureError::Expired { key: id, until });
    }
    // The algorithm is not part of the signed bytes. If both were accepted, a signature of a file would also be valid
    // for a file with the 64 bytes of its hash.
    trusted.key.verify(bytes, &signature, false).map_err(|error| match error {
        Error::UnexpectedAlgorithm => SignatureError::Legacy,
        _ => SignatureError::Mismatch(id),
    })?;
    let comment = truncate(COMMENT, format_args!("{}", signature.trusted_comment().replace('\t', " ")));
    Ok(Some(Signer { key: id, comment }))
}

/// The key that a signature names, without verification.
#[must_use]
pub fn claimed_key(signature: &[u8]) -> Option<KeyId> {
    decode(signature).map(|(_, id)| id)
}

fn decode(signature: &[u8]) -> Option<(Signature, KeyId)> {
    let text = std::str::from_utf8(signature).ok()?;
    let decoded = Signature::decode(text).ok()?;
    let id = KeyId::in_line(text.lines().nth(1)?)?;
    Some((decoded, id))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Config;

    /// The key and the signatures of the four bytes `test` in the documentation of `minisign-verify`.
    const KEY: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    const HASHED: &str = "untrusted comment: signature from minisign secret key\n\
        RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n\
        trusted comment: timestamp:1633700835\tfile:test\tprehashed\n\
        wLMDjy9FLAuxZ3q4NlEvkgtyhrr0gtTu6KC4KBJdITbbOeAi1zBIYo0v4iTgt8jJpIidRJnp94ABQkJAgAooBQ==";
    const LEGACY: &str = "untrusted comment: signature from minisign secret key\n\
        RWQf6LRCGA9i59SLOFxz6NxvASXDJeRtuZykwQepbDEGt87ig1BNpWaVWuNrm73YiIiJbq71Wi+dP9eKL8OC351vwIasSSbXxwA=\n\
        trusted comment: timestamp:1555779966\tfile:test\n\
        QtKMXWyYcwdpZAlPF7tE2ENJkRd1ujvKjlj1m9RtHTBnZPa5WKU5uWRs5GoP5M/VqE81QFuMKI5k/SfNQUaOAA==";

    fn keys(written: &str) -> SignatureKeys {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plugport.toml");
        std::fs::write(&file, format!("[server]\ntrusted_keys = [{written}]\n")).unwrap();
        (*Config::read(&file, "plugins".into()).unwrap().server.trusted_keys).clone()
    }

    fn ours() -> SignatureKeys {
        keys(&format!("{{ key = {KEY:?}, until = 2030-01-01 }}"))
    }

    /// At some time in 2026.
    fn checked(
        bytes: &[u8],
        signature: Option<&str>,
        required: bool,
    ) -> Result<Option<Signer>, SignatureError> {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_780_000_000);
        check(bytes, signature.map(str::as_bytes), &ours(), required, now)
    }

    fn id() -> KeyId {
        KeyId::in_line(KEY).unwrap()
    }

    #[test]
    fn a_good_signature_tells_who_made_it() {
        let signed = checked(b"test", Some(HASHED), true).unwrap().unwrap();
        assert_eq!(signed.key.to_string(), "E7620F1842B4E81F");
        assert_eq!(signed.comment, "timestamp:1633700835 file:test prehashed");
        assert_eq!(checked(b"test", Some(HASHED), false), Ok(Some(signed)));
    }

    #[test]
    fn what_is_wrong_is_rejected_whether_or_not_a_signature_is_required() {
        let comment = HASHED.replace("file:test", "file:tset");
        let other = HASHED.replace("RUQf6LRC", "RUQf6LRD");
        for required in [false, true] {
            let rejected =
                |bytes: &[u8], signature: &str| checked(bytes, Some(signature), required).unwrap_err();
            assert_eq!(rejected(b"tesT", HASHED), SignatureError::Mismatch(id()));
            assert_eq!(rejected(b"test", &comment), SignatureError::Mismatch(id()));
            assert_eq!(rejected(b"test", LEGACY), SignatureError::Legacy);
            assert!(matches!(rejected(b"test", &other), SignatureError::UnknownKey(_)));
            for malformed in
                ["", "\n\n\n\n", "RUQf6LRCGA9i5", HASHED.get(..200).unwrap(), &HASHED.replace("trusted", "t")]
            {
                assert_eq!(rejected(b"test", malformed), SignatureError::Malformed, "{malformed}");
            }
        }
        let late = SystemTime::UNIX_EPOCH + Duration::from_secs(1_893_456_000);
        let expired = check(b"test", Some(HASHED.as_bytes()), &ours(), false, late).unwrap_err();
        assert!(
            expired.to_string().contains("E7620F1842B4E81F, which was accepted until 2030-01-01T00:00:00Z")
        );
        assert_eq!(check(b"test", Some(b"\xff"), &ours(), false, late), Err(SignatureError::Malformed));
    }

    #[test]
    fn without_a_signature_it_depends_on_whether_one_is_required() {
        assert_eq!(checked(b"test", None, true), Err(SignatureError::Missing));
        assert_eq!(checked(b"test", None, false), Ok(None));
        let (none, now) = (SignatureKeys::default(), SystemTime::now());
        assert_eq!(check(b"test", Some(b"garbage"), &none, false, now), Ok(None), "nobody asked");
        assert_eq!(check(b"test", None, &none, true, now), Err(SignatureError::Missing));
        let rejected = check(b"test", Some(HASHED.as_bytes()), &none, true, now);
        assert_eq!(rejected, Err(SignatureError::UnknownKey(id())));
    }
}
