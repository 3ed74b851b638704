//! From a path to the bytes of a component.
//!
//! The file is opened once, must be a regular file and is read to a bound; what was read is what is digested and
//! compiled, so a file that is swapped meanwhile cannot pass one check and fail another.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

/// A component's bytes and where they came from.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The file that was read.
    pub path: PathBuf,
    /// SHA-256 of the bytes, as lower-case hex.
    pub digest: String,
    /// The component.
    pub bytes: Vec<u8>,
}

/// Why a file is not a component. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The system refused.
    #[error("cannot be read; check that it exists and may be read")]
    Unreadable(#[source] std::io::Error),
    /// A directory, device, socket or pipe.
    #[error("is not a regular file; put a compiled .wasm file in its place")]
    NotAFile,
    /// Beyond `wasm_mib`.
    #[error(
        "is larger than {0} MiB (limit `wasm_mib`); build it for release and strip it, or raise the limit"
    )]
    TooLarge(u64),
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
    /// A later or earlier binary format.
    #[error("has an unknown binary format (version {0:#010x}); rebuild it with a current toolchain")]
    UnknownVersion(u32),
}

impl ArtifactError {
    /// Whether the same file may well be read in a while.
    #[must_use]
    pub fn is_passing(&self) -> bool {
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

impl Artifact {
    /// Reads a file of at most `max_mib` MiB and checks its header.
    ///
    /// # Errors
    /// When it is not a readable, regular file of that size that begins like a component.
    pub fn read(path: &Path, max_mib: u64) -> Result<Self, ArtifactError> {
        let artifact = Self::read_any(path, max_mib)?;
        artifact.check()?;
        Ok(artifact)
    }

    /// The same, whatever is in the file: what is refused has a digest too.
    ///
    /// # Errors
    /// When it is not a readable, regular file of that size.
    pub fn read_any(path: &Path, max_mib: u64) -> Result<Self, ArtifactError> {
        // A pipe would otherwise block the open for ever.
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)
            .map_err(ArtifactError::Unreadable)?;
        let metadata = file.metadata().map_err(ArtifactError::Unreadable)?;
        if !metadata.is_file() {
            return Err(ArtifactError::NotAFile);
        }
        let max = max_mib << 20;
        let mut bytes = Vec::new();
        file.take(max + 1).read_to_end(&mut bytes).map_err(ArtifactError::Unreadable)?;
        if bytes.len() as u64 > max {
            return Err(ArtifactError::TooLarge(max_mib));
        }
        Ok(Self { path: path.to_owned(), digest: sha256(&bytes), bytes })
    }

    /// Checks its header.
    ///
    /// # Errors
    /// When it does not begin like a component.
    pub fn check(&self) -> Result<(), ArtifactError> {
        check_header(&self.bytes)
    }
}

fn check_header(bytes: &[u8]) -> Result<(), ArtifactError> {
    if bytes.is_empty() {
        return Err(ArtifactError::Empty);
    }
    let magic = bytes.get(..4).unwrap_or(bytes);
    if !MAGIC.starts_with(magic) {
        return Err(ArtifactError::NotWasm);
    }
    let version =
        bytes.get(4..8).and_then(|version| version.try_into().ok()).ok_or(ArtifactError::Truncated)?;
    match u32::from_le_bytes(version) {
        COMPONENT_VERSION => Ok(()),
        CORE_VERSION => Err(ArtifactError::CoreModule),
        other => Err(ArtifactError::UnknownVersion(other)),
    }
}

/// SHA-256 as lower-case hex.
pub(super) fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_tells_what_a_file_is() {
        assert!(check_header(b"\0asm\x0d\0\x01\0").is_ok());
        assert!(matches!(check_header(b""), Err(ArtifactError::Empty)));
        assert!(matches!(check_header(b"\0as"), Err(ArtifactError::Truncated)));
        assert!(matches!(check_header(b"\0asm\x01\0"), Err(ArtifactError::Truncated)));
        assert!(matches!(check_header(b"\0asm\x01\0\0\0"), Err(ArtifactError::CoreModule)));
        assert!(matches!(check_header(b"\x7fELF\x02\x01"), Err(ArtifactError::NotWasm)));
        assert!(matches!(check_header(b"\0asm\x0e\0\x01\0"), Err(ArtifactError::UnknownVersion(_))));
    }

    #[test]
    fn folders_devices_and_large_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(Artifact::read(dir.path(), 1), Err(ArtifactError::NotAFile)));
        assert!(matches!(Artifact::read(Path::new("/dev/zero"), 1), Err(ArtifactError::NotAFile)));
        let large = dir.path().join("large.wasm");
        std::fs::File::create(&large).unwrap().set_len((1 << 20) + 1).unwrap();
        assert!(matches!(Artifact::read(&large, 1), Err(ArtifactError::TooLarge(1))));
        assert!(matches!(Artifact::read(&dir.path().join("none"), 1), Err(ArtifactError::Unreadable(_))));
    }
}
