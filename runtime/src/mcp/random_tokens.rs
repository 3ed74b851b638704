//! Random tokens that cannot be guessed.

use std::fmt::Write as _;

/// Returns 128 random bits; `None` when the system has no randomness.
pub(crate) fn bits() -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns 128 random bits in visible ASCII; `None` when the system has no randomness.
#[must_use]
pub fn token() -> Option<String> {
    Some(bits()?.iter().fold(String::with_capacity(32), |mut token, byte| {
        let _ = write!(token, "{byte:02x}");
        token
    }))
}
