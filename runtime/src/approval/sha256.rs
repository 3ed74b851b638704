//! Digests as the lockfile and messages have them.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

/// The digest of some bytes.
pub(super) fn sha256(bytes: &[u8]) -> String {
    with_algorithm(&HEXLOWER.encode(&Sha256::digest(bytes)))
}

/// A digest in hex, with the name of its algorithm.
pub(super) fn with_algorithm(digest: &str) -> String {
    format!("sha256:{digest}")
}
