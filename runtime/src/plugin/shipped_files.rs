//! The files that a plugin ships in its component. They are read once, when the plugin is loaded, before anything of it
//! runs, and are kept with their digests: reading one never starts the guest.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use plugport_common::{ShippedFilesError, shipped_files};
use sha2::{Digest as _, Sha256};

/// A file of a component. Clones share the contents.
#[derive(Debug, Clone)]
pub struct ShippedFile {
    /// Its path, such as `skills/review/SKILL.md`.
    pub path: Arc<str>,
    /// Its contents.
    pub contents: FileContents,
    /// `sha256:` and the digest of its bytes, as lower-case hex.
    pub digest: Arc<str>,
}

/// The contents of a file.
#[derive(Debug, Clone)]
pub enum FileContents {
    /// UTF-8.
    Text(Arc<str>),
    /// Anything else.
    Bytes(Arc<[u8]>),
}

impl FileContents {
    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(_) => None,
        }
    }
}

impl ShippedFile {
    /// A file with these contents.
    #[must_use]
    pub fn new(path: &str, contents: &[u8]) -> Self {
        let digest = format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(contents))).into();
        let contents = match std::str::from_utf8(contents) {
            Ok(text) => FileContents::Text(text.into()),
            Err(_) => FileContents::Bytes(contents.into()),
        };
        Self { path: path.into(), contents, digest }
    }

    /// The files of a component, by path. Takes a while for large ones.
    pub(super) fn all_of(component: &[u8]) -> Result<Arc<[Self]>, ShippedFilesError> {
        Ok(shipped_files(component)?.iter().map(|file| Self::new(file.path, file.contents)).collect())
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.contents.as_bytes().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_text_if_it_can_be() {
        let text = ShippedFile::new("ui/a.html", "ä".as_bytes());
        assert_eq!((text.contents.as_text(), text.size()), (Some("ä"), 2));
        let abc = ShippedFile::new("ui/a.html", b"abc").digest;
        assert_eq!(&*abc, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let bytes = ShippedFile::new("ui/a.png", &[0xff, 0]);
        assert_eq!((bytes.contents.as_text(), bytes.contents.as_bytes()), (None, &[0xff, 0][..]));
    }
}
