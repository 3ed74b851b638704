//! Verifies the signature of a file and describes the result, for `plugport inspect`.

use std::time::SystemTime;

use serde_json::{Value, json};

use crate::config::SignatureKeys;
use crate::plugin::{ComponentFile, SignatureError, Signer, check_signature, claimed_key};

/// The signature of one file.
pub(super) enum SignatureReport {
    /// There is none, and none is required.
    Absent,
    /// There is one, and no key to verify it with. The signature names this key.
    Unverified(Option<String>),
    /// It is verified.
    Good(Signer),
    /// A server with this configuration would reject the file.
    Rejected(Option<String>, SignatureError),
}

impl SignatureReport {
    pub(super) fn of(artifact: &ComponentFile, keys: &SignatureKeys, required: bool) -> Self {
        let signature = artifact.signature.as_deref();
        let claimed = || signature.and_then(claimed_key).map(|key| key.to_string());
        match check_signature(&artifact.bytes, signature, keys, required, SystemTime::now()) {
            Ok(Some(signed)) => Self::Good(signed),
            Ok(None) if signature.is_none() => Self::Absent,
            Ok(None) => Self::Unverified(claimed()),
            Err(error) => Self::Rejected(claimed(), error),
        }
    }

    pub(super) fn as_json(&self) -> Value {
        match self {
            Self::Absent => Value::Null,
            Self::Unverified(key) => json!({ "verified": null, "key": key }),
            Self::Good(signed) => {
                json!({ "verified": true, "key": signed.key.to_string(), "comment": signed.comment })
            }
            Self::Rejected(key, error) => {
                json!({ "verified": false, "key": key, "reason": error.to_string() })
            }
        }
    }

    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Absent => "no signature".to_owned(),
            Self::Unverified(Some(key)) => {
                format!(
                    "a signature that says it is of the key {key}; --config with `trusted_keys` verifies it"
                )
            }
            Self::Unverified(None) => "a signature that is not minisign's, or is damaged".to_owned(),
            Self::Good(Signer { key, comment }) => format!("signed by the key {key}: {comment}"),
            Self::Rejected(_, error) => format!("would be rejected: its signature {error}"),
        }
    }
}
