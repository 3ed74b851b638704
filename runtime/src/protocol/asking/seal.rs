//! `requestState`: a handle on a parked call that cannot be forged, with the time until which it holds.
//!
//! The state itself stays in this process; what travels is a random handle, its expiry and a MAC over both under a key
//! that lives as long as the process. To whom a handle belongs is kept beside the parked call and not in here.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::super::random;

/// Names one parked call for one retry.
pub(crate) type Handle = [u8; 16];

const HANDLE: usize = 16;
const EXPIRY: usize = 8;

/// The key.
pub(crate) struct Seal(Hmac<Sha256>);

/// A handle that this process sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) handle: Handle,
    pub(crate) expired: bool,
}

impl Seal {
    /// A fresh key. Without randomness nothing is ever sealed or opened.
    pub(crate) fn new() -> Option<Self> {
        let key = [random::bits()?, random::bits()?].concat();
        Hmac::new_from_slice(&key).ok().map(Self)
    }

    /// Seals a handle for this long.
    pub(crate) fn close(&self, handle: Handle, lasts: Duration) -> String {
        let expiry = now().saturating_add(lasts).as_millis();
        let expiry = u64::try_from(expiry).unwrap_or(u64::MAX).to_le_bytes();
        let mut sealed = [handle.as_slice(), &expiry].concat();
        let mac = self.0.clone().chain_update(&sealed).finalize().into_bytes();
        sealed.extend_from_slice(&mac);
        BASE64URL_NOPAD.encode(&sealed)
    }

    /// Opens what this process sealed; `None` for anything else.
    pub(crate) fn open(&self, sealed: &str) -> Option<Opened> {
        let bytes = BASE64URL_NOPAD.decode(sealed.as_bytes()).ok()?;
        let (said, mac) = bytes.split_at_checked(HANDLE + EXPIRY)?;
        self.0.clone().chain_update(said).verify_slice(mac).ok()?;
        let (handle, expiry) = said.split_at_checked(HANDLE)?;
        let expiry = u64::from_le_bytes(expiry.try_into().ok()?);
        Some(Opened { handle: handle.try_into().ok()?, expired: now().as_millis() >= u128::from(expiry) })
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_sealed_here_opens() {
        let seal = Seal::new().unwrap();
        let sealed = seal.close([7; 16], Duration::from_secs(60));
        assert_eq!(seal.open(&sealed), Some(Opened { handle: [7; 16], expired: false }));
        assert_eq!(Seal::new().unwrap().open(&sealed), None);
        for at in 0..sealed.len() {
            let mut forged = sealed.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(seal.open(std::str::from_utf8(&forged).unwrap()), None, "{at}");
        }
        for forged in [String::new(), "x".to_owned(), format!("{sealed}-TAMPERED"), sealed[..20].to_owned()] {
            assert_eq!(seal.open(&forged), None);
        }
    }

    #[test]
    fn time_runs_out() {
        let seal = Seal::new().unwrap();
        assert!(seal.open(&seal.close([7; 16], Duration::ZERO)).unwrap().expired);
    }
}
