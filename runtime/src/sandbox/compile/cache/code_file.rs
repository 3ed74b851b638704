//! One file of the cache: the code, its key, its MAC.
//!
//! The MAC covers the code and the key, so a file fails the check when a bit changed or when it has the name of another
//! file. The code comes first, so that the file can be mapped as it is.

use std::fmt::Write as _;
use std::hash::{Hash as _, Hasher};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use wasmtime::Engine;

/// Comes after the code in every file. Change it when the format changes.
const MAGIC: [u8; 16] = *b"plugport code 2\n";

const KEY: usize = 32;
const MAC: usize = 32;

/// Bytes after the code.
pub(super) const TAIL: usize = MAGIC.len() + KEY + MAC;

/// What compiled code depends on: the component, the compiler and its settings, and this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Key([u8; KEY]);

/// Feeds what is hashed to SHA-256, whose digest is longer than the 64 bits of [`Hasher::finish`].
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

impl Key {
    /// The key of the code that this engine runs for a component of this digest.
    pub(in super::super) fn of(engine: &Engine, digest: &str) -> Self {
        let mut hash = Sha256Hasher(Sha256::new());
        MAGIC.hash(&mut hash);
        env!("CARGO_PKG_VERSION").hash(&mut hash);
        // Wasmtime's version, the processor's features and every setting that matters to code.
        engine.precompile_compatibility_hash().hash(&mut hash);
        digest.hash(&mut hash);
        Self(hash.0.finalize().into())
    }

    /// The file's name.
    pub(super) fn file(&self) -> String {
        self.hex() + super::SUFFIX
    }

    /// The key as text.
    pub(super) fn hex(&self) -> String {
        self.0.iter().fold(String::with_capacity(2 * KEY + super::SUFFIX.len()), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    #[cfg(test)]
    pub(super) fn test(byte: u8) -> Self {
        Self([byte; KEY])
    }
}

/// Makes and checks the MACs of files.
pub(super) struct FileMac(Hmac<Sha256>);

impl FileMac {
    /// Derives the MAC's key from `secret` and from `binding`, which is different for each file with a secret.
    pub(super) fn new(secret: &[u8], binding: &[u8]) -> Option<Self> {
        let derived =
            Hmac::<Sha256>::new_from_slice(secret).ok()?.chain_update(binding).finalize().into_bytes();
        Hmac::new_from_slice(&derived).ok().map(Self)
    }

    fn over(&self, key: &Key, code: &[u8]) -> Hmac<Sha256> {
        let length = (code.len() as u64).to_le_bytes();
        self.0.clone().chain_update(MAGIC).chain_update(key.0).chain_update(length).chain_update(code)
    }

    /// The bytes after the code.
    pub(super) fn tail(&self, key: &Key, code: &[u8]) -> Vec<u8> {
        let mac = self.over(key, code).finalize().into_bytes();
        [MAGIC.as_slice(), &key.0, &mac].concat()
    }

    /// The code of a whole file, if its key and its MAC are right.
    pub(super) fn open<'f>(&self, key: &Key, file: &'f [u8]) -> Option<&'f [u8]> {
        let (code, tail) = file.split_at_checked(file.len().checked_sub(TAIL)?)?;
        let (named, mac) = tail.strip_prefix(&MAGIC)?.split_at_checked(KEY)?;
        if named != key.0 {
            return None;
        }
        self.over(key, code).verify_slice(mac).ok()?;
        Some(code)
    }
}

impl std::fmt::Debug for FileMac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FileMac")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_signed_here_under_this_name_opens() {
        let mac = FileMac::new(&[1; 32], b"here").unwrap();
        let key = Key::test(7);
        let file = [b"some code".to_vec(), mac.tail(&key, b"some code")].concat();
        assert_eq!(mac.open(&key, &file), Some(&b"some code"[..]));
        assert!(mac.open(&Key::test(8), &file).is_none(), "another's name");
        for (secret, binding) in [([2; 32], b"here"), ([1; 32], b"away")] {
            assert!(FileMac::new(&secret, binding).unwrap().open(&key, &file).is_none());
        }
        for at in 0..file.len() {
            let mut changed = file.clone();
            changed[at] ^= 1;
            assert!(mac.open(&key, &changed).is_none(), "bit of byte {at}");
            assert!(mac.open(&key, &file[..at]).is_none(), "cut at {at}");
            assert!(mac.open(&key, &file[at + 1..]).is_none(), "without its first {at}");
        }
        assert!(mac.open(&key, &[file, vec![0]].concat()).is_none(), "grown");
    }
}
