//! The format of a cache file: the code, then its key and its MAC.
//!
//! The MAC covers the code and the key, so a file is rejected if any bit changed or if it has the name of another file.
//! The code comes first, so that the file can be mapped directly. The MAC of a mapped file is computed piece by piece:
//! otherwise a server with a thousand plugins would have all their code in memory at each start.

use std::fmt::Write as _;
use std::hash::{Hash as _, Hasher};
use std::io::{self, BufRead as _, BufReader, Read};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use wasmtime::Engine;

/// Follows the code in every file. Change it when the format changes.
const MAGIC: [u8; 16] = *b"plugport code 2\n";

const KEY: usize = 32;
const MAC: usize = 32;

/// The number of bytes after the code.
pub(super) const TAIL: usize = MAGIC.len() + KEY + MAC;

/// How many bytes of a file are in memory while its MAC is computed.
const PIECE: usize = 64 << 10;

/// The key of compiled code: a digest of everything that the code depends on, which is the component, the compiler with
/// its settings, and this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Key([u8; KEY]);

/// A `Hasher` that uses SHA-256, because its digest is longer than the 64 bits of [`Hasher::finish`].
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
    /// The key of the code that this engine runs for the component with this digest.
    pub(in super::super) fn of(engine: &Engine, digest: &str) -> Self {
        let mut hash = Sha256Hasher(Sha256::new());
        MAGIC.hash(&mut hash);
        env!("CARGO_PKG_VERSION").hash(&mut hash);
        // This hash includes wasmtime's version, the processor's features and every setting that affects code.
        engine.precompile_compatibility_hash().hash(&mut hash);
        digest.hash(&mut hash);
        Self(hash.0.finalize().into())
    }

    /// The name of the file.
    pub(super) fn file(&self) -> String {
        self.hex() + super::SUFFIX
    }

    /// The key as hexadecimal text.
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
    /// Derives the MAC's key from `secret` and from `file_identity`, which says which file the secret is in.
    pub(super) fn new(secret: &[u8], file_identity: &[u8]) -> Option<Self> {
        let derived =
            Hmac::<Sha256>::new_from_slice(secret).ok()?.chain_update(file_identity).finalize().into_bytes();
        Hmac::new_from_slice(&derived).ok().map(Self)
    }

    /// Starts the MAC of code with this length; the code itself is to follow.
    fn begin(&self, key: &Key, length: u64) -> Hmac<Sha256> {
        self.0.clone().chain_update(MAGIC).chain_update(key.0).chain_update(length.to_le_bytes())
    }

    fn over(&self, key: &Key, code: &[u8]) -> Hmac<Sha256> {
        self.begin(key, code.len() as u64).chain_update(code)
    }

    /// Returns the bytes that follow the code.
    pub(super) fn tail(&self, key: &Key, code: &[u8]) -> Vec<u8> {
        let mac = self.over(key, code).finalize().into_bytes();
        [MAGIC.as_slice(), &key.0, &mac].concat()
    }

    /// Returns the code in a whole file, if its key and MAC are valid.
    pub(super) fn open<'f>(&self, key: &Key, file: &'f [u8]) -> Option<&'f [u8]> {
        let (code, tail) = file.split_at_checked(file.len().checked_sub(TAIL)?)?;
        has_valid_tail(self.over(key, code), key, tail).then_some(code)
    }

    /// Whether the key and the MAC of a file of `length` bytes are valid. Reads the file once, from its start.
    ///
    /// # Errors
    /// When the file cannot be read, or is shorter.
    pub(super) fn check(&self, key: &Key, file: impl Read, length: u64) -> io::Result<bool> {
        let Some(mut remaining) = length.checked_sub(TAIL as u64) else { return Ok(false) };
        let (mut mac, mut file) = (self.begin(key, remaining), BufReader::with_capacity(PIECE, file));
        while remaining > 0 {
            let piece = file.fill_buf()?;
            let size = usize::try_from(remaining).unwrap_or(usize::MAX).min(piece.len());
            let code = piece.get(..size).filter(|code| !code.is_empty());
            mac.update(code.ok_or(io::ErrorKind::UnexpectedEof)?);
            file.consume(size);
            remaining -= size as u64;
        }
        let mut tail = [0; TAIL];
        file.read_exact(&mut tail)?;
        Ok(has_valid_tail(mac, key, &tail))
    }
}

/// Whether `tail`, the bytes after the code, contains this key and the computed MAC.
fn has_valid_tail(computed: Hmac<Sha256>, key: &Key, tail: &[u8]) -> bool {
    let named = tail.strip_prefix(&MAGIC).and_then(|tail| tail.split_at_checked(KEY));
    named.is_some_and(|(named, mac)| named == key.0 && computed.verify_slice(mac).is_ok())
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
        for (secret, file_identity) in [([2; 32], b"here"), ([1; 32], b"away")] {
            assert!(FileMac::new(&secret, file_identity).unwrap().open(&key, &file).is_none());
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

    #[test]
    fn a_file_that_is_read_in_pieces_is_checked_like_a_whole_one() {
        let (mac, key) = (FileMac::new(&[1; 32], b"here").unwrap(), Key::test(7));
        for length in [0, 1, PIECE - TAIL, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE] {
            let code = vec![5; length];
            let file = [code.clone(), mac.tail(&key, &code)].concat();
            let check = |key: &Key, file: &[u8]| mac.check(key, file, file.len() as u64).unwrap();
            assert!(check(&key, &file), "{length}");
            assert!(!check(&Key::test(8), &file), "another's name");
            for at in [0, file.len() / 2, file.len() - TAIL, file.len() - 1] {
                let mut changed = file.clone();
                changed[at] ^= 1;
                assert!(!check(&key, &changed), "bit of byte {at} of {length}");
            }
            for cut in [&file[1..], &file[..file.len() - 1], &file[..TAIL - 1]] {
                assert!(!check(&key, cut), "{} of {length}", cut.len());
                assert!(mac.check(&key, cut, file.len() as u64).is_err(), "shorter than it was said to be");
            }
        }
    }
}
