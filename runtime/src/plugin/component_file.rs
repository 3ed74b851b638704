//! Reads a component and the signature beside it.
//!
//! The file is opened once, must be a regular file, and is read up to a bound. The same bytes are digested, verified
//! and compiled, so exchanging the file in between has no effect.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::other_host::OtherHost;
use crate::safe_open::{self, OpenError, Symlinks};

/// A component's bytes and where they came from.
#[derive(Debug, Clone)]
pub struct ComponentFile {
    /// The file that was read.
    pub path: PathBuf,
    /// SHA-256 of the bytes, as lower-case hex.
    pub digest: String,
    /// The component.
    pub bytes: Vec<u8>,
    /// The signature that lay beside it, not verified yet.
    pub signature: Option<Vec<u8>>,
}

/// Why a file is not a component. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ComponentFileError {
    /// The system cannot read it.
    #[error("cannot be read; check that it exists and may be read")]
    Unreadable(#[source] std::io::Error),
    /// A link, where links are not followed.
    #[error("is a symbolic link; copy the file itself into the folder")]
    Link,
    /// A directory, device, socket or pipe.
    #[error("is not a regular file; put a compiled .wasm file in its place")]
    NotAFile,
    /// Beyond `wasm_mib`.
    #[error(
        "is larger than {0} MiB (limit `wasm_mib`); build it for release and strip it, or raise the limit"
    )]
    TooLarge(u64),
    /// The signature beside it cannot be read.
    #[error("has a signature that cannot be used, {file}")]
    Signature {
        /// Its name.
        file: String,
        /// What is wrong with it.
        source: OpenError,
    },
    /// No bytes at all.
    #[error("is empty; build or copy it again")]
    Empty,
    /// The magic number is missing.
    #[error("is not WebAssembly; put a component built for wasm32-wasip2 in its place")]
    NotWasm,
    /// Fewer bytes than a header.
    #[error("is truncated: it ends inside its header; copy it again")]
    Truncated,
    /// A module where a component is needed.
    #[error(
        "is a core WebAssembly module, not a component; build it for the target wasm32-wasip2, or wrap it with \
         `wasm-tools component new`"
    )]
    CoreModule,
    /// A module for another host.
    #[error("{}", .0.in_words())]
    OtherHost(OtherHost),
    /// A later or earlier binary format.
    #[error("has an unknown binary format (version {0:#010x}); rebuild it with a current toolchain")]
    UnknownVersion(u32),
}

impl ComponentFileError {
    /// Whether reading the same file may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        let lasts = |error: &std::io::Error| {
            let kind = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied);
            kind || error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
        };
        matches!(self, Self::Unreadable(error) if !lasts(error))
    }
}

const MAGIC: &[u8; 4] = b"\0asm";
const CORE_VERSION: u32 = 0x0000_0001;
const COMPONENT_VERSION: u32 = 0x0001_000d;

/// Longest signature, bytes. minisign's own have some 300.
const SIGNATURE: u64 = 16 << 10;

impl ComponentFile {
    /// Reads a file of at most `max_mib` MiB and checks its header. The path comes from the command line and may be a
    /// link; then the signature lies beside the link.
    ///
    /// # Errors
    /// When it is not a readable, regular file of that size that begins like a component.
    pub fn read(path: &Path, max_mib: u64) -> Result<Self, ComponentFileError> {
        let file = Self::open(path, max_mib, Symlinks::Followed)?;
        file.check()?;
        Ok(file)
    }

    /// Reads a file of the plugin folder without checking its header, since a rejected file has a digest too. It may
    /// not be a link.
    ///
    /// # Errors
    /// When it is not a readable, regular file of that size.
    pub fn read_any(path: &Path, max_mib: u64) -> Result<Self, ComponentFileError> {
        Self::open(path, max_mib, Symlinks::Rejected)
    }

    fn open(path: &Path, max_mib: u64, links: Symlinks) -> Result<Self, ComponentFileError> {
        let bytes = safe_open::read(path, max_mib << 20, links).map_err(|why| match why {
            OpenError::Unreadable(error) => ComponentFileError::Unreadable(error),
            OpenError::Link => ComponentFileError::Link,
            OpenError::NotAFile => ComponentFileError::NotAFile,
            OpenError::TooLarge(_) => ComponentFileError::TooLarge(max_mib),
        })?;
        let signature = read_signature(path)?;
        Ok(Self { path: path.to_owned(), digest: sha256(&bytes), bytes, signature })
    }

    /// Checks its header.
    ///
    /// # Errors
    /// When it does not begin like a component.
    pub fn check(&self) -> Result<(), ComponentFileError> {
        check_header(&self.bytes)
    }
}

/// The file that holds the signature of the file at `path`: `tool.wasm.minisig`.
#[must_use]
pub fn signature_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".minisig");
    PathBuf::from(name)
}

/// The last part of a path, for a message.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn read_signature(path: &Path) -> Result<Option<Vec<u8>>, ComponentFileError> {
    let signature = signature_path(path);
    match safe_open::read(&signature, SIGNATURE, Symlinks::Rejected) {
        Ok(bytes) => Ok(Some(bytes)),
        // If the name is too long for the system, there is no such file.
        Err(OpenError::Unreadable(error))
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidFilename) =>
        {
            Ok(None)
        }
        Err(source) => Err(ComponentFileError::Signature { file: file_name(&signature), source }),
    }
}

fn check_header(bytes: &[u8]) -> Result<(), ComponentFileError> {
    if bytes.is_empty() {
        return Err(ComponentFileError::Empty);
    }
    let magic = bytes.get(..4).unwrap_or(bytes);
    if !MAGIC.starts_with(magic) {
        return Err(ComponentFileError::NotWasm);
    }
    let version =
        bytes.get(4..8).and_then(|version| version.try_into().ok()).ok_or(ComponentFileError::Truncated)?;
    match u32::from_le_bytes(version) {
        COMPONENT_VERSION => Ok(()),
        CORE_VERSION => Err(match OtherHost::of_module(bytes) {
            Some(host) => ComponentFileError::OtherHost(host),
            None => ComponentFileError::CoreModule,
        }),
        other => Err(ComponentFileError::UnknownVersion(other)),
    }
}

/// SHA-256 as lower-case hex.
fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_tells_what_a_file_is() {
        assert!(check_header(b"\0asm\x0d\0\x01\0").is_ok());
        assert!(matches!(check_header(b""), Err(ComponentFileError::Empty)));
        assert!(matches!(check_header(b"\0as"), Err(ComponentFileError::Truncated)));
        assert!(matches!(check_header(b"\0asm\x01\0"), Err(ComponentFileError::Truncated)));
        assert!(matches!(check_header(b"\0asm\x01\0\0\0"), Err(ComponentFileError::CoreModule)));
        let extism =
            wat::parse_str(r#"(module (import "extism:host/env" "free" (func (param i64))))"#).unwrap();
        assert!(matches!(check_header(&extism), Err(ComponentFileError::OtherHost(OtherHost::Extism))));
        assert!(matches!(check_header(b"\x7fELF\x02\x01"), Err(ComponentFileError::NotWasm)));
        assert!(matches!(check_header(b"\0asm\x0e\0\x01\0"), Err(ComponentFileError::UnknownVersion(_))));
    }

    #[test]
    fn folders_devices_and_large_files_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(ComponentFile::read(dir.path(), 1), Err(ComponentFileError::NotAFile)));
        assert!(matches!(ComponentFile::read(Path::new("/dev/zero"), 1), Err(ComponentFileError::NotAFile)));
        let large = dir.path().join("large.wasm");
        std::fs::File::create(&large).unwrap().set_len((1 << 20) + 1).unwrap();
        assert!(matches!(ComponentFile::read(&large, 1), Err(ComponentFileError::TooLarge(1))));
        assert!(matches!(
            ComponentFile::read(&dir.path().join("none"), 1),
            Err(ComponentFileError::Unreadable(_))
        ));
    }

    #[test]
    fn a_link_is_followed_for_a_person_and_rejected_in_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file.wasm"), dir.path().join("link.wasm"));
        std::fs::write(&file, b"\0asm\x0d\0\x01\0").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(
            ComponentFile::read(&link, 1).unwrap().digest,
            ComponentFile::read_any(&file, 1).unwrap().digest
        );
        assert!(matches!(ComponentFile::read_any(&link, 1), Err(ComponentFileError::Link)));
    }

    #[test]
    fn a_signature_is_read_as_carefully_as_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file.wasm");
        std::fs::write(&file, b"\0asm\x0d\0\x01\0").unwrap();
        let signature = || ComponentFile::read_any(&file, 1).map(|file| file.signature);
        assert_eq!(signature().unwrap(), None);
        let beside = signature_path(&file);
        assert_eq!(beside, dir.path().join("file.wasm.minisig"));
        std::fs::write(&beside, "signed").unwrap();
        assert_eq!(signature().unwrap().as_deref(), Some(&b"signed"[..]));
        std::fs::write(&beside, "x".repeat(20 << 10)).unwrap();
        let rejected = signature().unwrap_err();
        assert!(rejected.to_string().ends_with("cannot be used, file.wasm.minisig"), "{rejected}");
        std::fs::remove_file(&beside).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &beside).unwrap();
        let rejected = signature().unwrap_err();
        assert!(
            matches!(rejected, ComponentFileError::Signature { source: OpenError::Link, .. }),
            "{rejected:?}"
        );
        let long = dir.path().join(format!("{}.wasm", "n".repeat(250)));
        std::fs::write(&long, "").unwrap();
        assert_eq!(ComponentFile::read_any(&long, 1).unwrap().signature, None);
    }
}
