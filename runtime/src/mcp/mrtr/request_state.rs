//! `requestState`: the token of one suspended call, with an expiry. Only this process can make it.
//!
//! The call itself stays in this process. The token contains a random id, its expiry and a MAC over both, with a key
//! that exists as long as the process. The owner and the request of the call are stored with the call and not in the
//! token.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::mcp::random_tokens;

/// The id of one suspended call, until the call is resumed or suspended again.
pub(crate) type SuspendedId = [u8; 16];

const ID_BYTES: usize = 16;
const EXPIRY_BYTES: usize = 8;

/// The MAC key.
pub(crate) struct RequestStateKey(Hmac<Sha256>);

/// The contents of a token that this process signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VerifiedState {
    pub(crate) id: SuspendedId,
    pub(crate) expired: bool,
}

impl RequestStateKey {
    /// A new key; `None` when the system has no randomness.
    pub(crate) fn new() -> Option<Self> {
        let key = [random_tokens::bits()?, random_tokens::bits()?].concat();
        Hmac::new_from_slice(&key).ok().map(Self)
    }

    /// Makes a token for a suspended call; the token expires after `max_wait`.
    pub(crate) fn sign(&self, id: SuspendedId, max_wait: Duration) -> String {
        let expiry = now().saturating_add(max_wait).as_millis();
        let expiry = u64::try_from(expiry).unwrap_or(u64::MAX).to_le_bytes();
        let mut token = [id.as_slice(), &expiry].concat();
        let mac = self.0.clone().chain_update(&token).finalize().into_bytes();
        token.extend_from_slice(&mac);
        BASE64URL_NOPAD.encode(&token)
    }

    /// Parses a token that this process signed; `None` for anything else.
    pub(crate) fn verify(&self, token: &str) -> Option<VerifiedState> {
        let bytes = BASE64URL_NOPAD.decode(token.as_bytes()).ok()?;
        let (signed, mac) = bytes.split_at_checked(ID_BYTES + EXPIRY_BYTES)?;
        self.0.clone().chain_update(signed).verify_slice(mac).ok()?;
        let (id, expiry) = signed.split_at_checked(ID_BYTES)?;
        let expiry = u64::from_le_bytes(expiry.try_into().ok()?);
        Some(VerifiedState { id: id.try_into().ok()?, expired: now().as_millis() >= u128::from(expiry) })
    }
}

impl std::fmt::Debug for RequestStateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RequestStateKey")
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_token_that_was_signed_here_is_valid() {
        let key = RequestStateKey::new().unwrap();
        let token = key.sign([7; 16], Duration::from_secs(60));
        assert_eq!(key.verify(&token), Some(VerifiedState { id: [7; 16], expired: false }));
        assert_eq!(RequestStateKey::new().unwrap().verify(&token), None);
        for at in 0..token.len() {
            let mut forged = token.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(key.verify(std::str::from_utf8(&forged).unwrap()), None, "{at}");
        }
        for forged in [String::new(), "x".to_owned(), format!("{token}-TAMPERED"), token[..20].to_owned()] {
            assert_eq!(key.verify(&forged), None);
        }
    }

    #[test]
    fn time_runs_out() {
        let key = RequestStateKey::new().unwrap();
        assert!(key.verify(&key.sign([7; 16], Duration::ZERO)).unwrap().expired);
    }
}
