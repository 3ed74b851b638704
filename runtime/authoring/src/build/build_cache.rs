//! The components that this user has built, by the digest of what they were built of.
//!
//! Builders that put the image of a started interpreter into a component make another one each time: the image has
//! random numbers and times of the build. Another component has another digest, and every server compiles it again. So
//! a build of the same inputs takes the component that was built of them first.
//!
//! The cache belongs to the user and is in no project: a project that came from somebody else could bring a component
//! of theirs with it, as if it were built of the sources beside it. A folder that others may write to is not used, and
//! none is made in the folder of somebody else: `sudo` may leave `HOME` as it was.

mod private_folder;

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

use super::error::BuildError;
use super::known_inputs::KnownInputs;
use super::not_reproducible::NotReproducible;
use crate::atomic_write::{atomic_write, is_unfinished};

/// Its folder in the user's cache.
const FOLDER: &str = "builds";

/// Maximum bytes of all components. Those that were not used for longest are removed.
const MAX_BYTES: u64 = 256 << 20;

/// The length of a SHA-256, which is in front of each component.
const DIGEST: usize = 32;

/// A component from a tool.
pub(super) struct MadeComponent {
    pub(super) bytes: Vec<u8>,
    /// Whether an earlier build has made it.
    pub(super) is_cached: bool,
}

/// The components of this user.
#[derive(Debug, Clone)]
pub(super) struct BuildCache {
    /// `None` if the environment names no cache.
    folder: Option<PathBuf>,
    max_bytes: u64,
}

impl BuildCache {
    pub(super) fn new(user_cache: Option<PathBuf>) -> Self {
        Self { folder: user_cache.map(|cache| cache.join(FOLDER)), max_bytes: MAX_BYTES }
    }

    /// Checks that components can be kept; otherwise nobody needs a digest.
    pub(super) fn check(&self) -> Result<(), NotReproducible> {
        let folder = self.folder.as_deref().ok_or(NotReproducible::NoCache)?;
        private_folder::make(folder).map_err(|error| NotReproducible::NotKept(folder.to_owned(), error))
    }

    /// What a tool has made of these inputs, or makes of them now. If that cannot be kept, the author is told why.
    pub(super) async fn component(
        &self,
        inputs: Result<KnownInputs, NotReproducible>,
        make: impl Future<Output = Result<Vec<u8>, BuildError>>,
    ) -> Result<MadeComponent, BuildError> {
        let inputs = match inputs {
            Ok(inputs) => inputs,
            Err(why) => {
                let bytes = make.await?;
                why.tell();
                return Ok(MadeComponent { bytes, is_cached: false });
            }
        };
        let (cache, digest) = (self.clone(), inputs.digest.clone());
        if let Ok(Some(bytes)) = spawn_blocking(move || cache.get(&digest)).await {
            return Ok(MadeComponent { bytes, is_cached: true });
        }
        let bytes = Arc::new(make.await?);
        let (cache, component) = (self.clone(), bytes.clone());
        let kept = spawn_blocking(move || {
            inputs.check()?;
            cache.put(&inputs.digest, &component)
        });
        if let Err(why) = kept.await.unwrap_or_else(|error| Err(error.into())) {
            why.tell();
        }
        Ok(MadeComponent { bytes: Arc::unwrap_or_clone(bytes), is_cached: false })
    }

    /// The component that was made of inputs with this digest.
    fn get(&self, inputs: &str) -> Option<Vec<u8>> {
        let folder = self.folder.as_deref()?;
        private_folder::check(folder).ok()?;
        let path = folder.join(inputs);
        let max_bytes = self.max_bytes.saturating_add(DIGEST as u64);
        // Opening anything but a regular file may block for ever.
        std::fs::symlink_metadata(&path).ok().filter(|about| about.is_file() && about.len() <= max_bytes)?;
        let file = File::open(path).ok()?;
        let mut bytes = Vec::new();
        (&file).take(max_bytes).read_to_end(&mut bytes).ok()?;
        let (digest, component) = bytes.split_first_chunk::<DIGEST>()?;
        if *digest != <[u8; DIGEST]>::from(Sha256::digest(component)) {
            return None;
        }
        // If this fails, it counts as used less recently.
        let _ = file.set_modified(SystemTime::now());
        Some(component.to_vec())
    }

    /// Keeps a component.
    fn put(&self, inputs: &str, component: &[u8]) -> Result<(), NotReproducible> {
        let folder = self.folder.as_deref().ok_or(NotReproducible::NoCache)?;
        self.put_into(folder, inputs, component)
            .map_err(|error| NotReproducible::NotKept(folder.to_owned(), error))
    }

    fn put_into(&self, folder: &Path, inputs: &str, component: &[u8]) -> io::Result<()> {
        if component.len() as u64 > self.max_bytes {
            return Err(io::Error::new(ErrorKind::FileTooLarge, "it is larger than all that is kept"));
        }
        private_folder::make(folder)?;
        atomic_write(&folder.join(inputs), &[Sha256::digest(component).as_slice(), component].concat())?;
        let left = self.max_bytes.saturating_sub(component.len() as u64);
        remove_unused(folder, inputs, left)
    }
}

/// Removes what was not used for longest, until all but the component `newest` has so many bytes at most. What has
/// another name than this program gives is left alone.
fn remove_unused(folder: &Path, newest: &str, max_bytes: u64) -> io::Result<()> {
    let (mut files, now) = (Vec::new(), SystemTime::now());
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| is_digest(name) || is_unfinished(name));
        // Another build may have removed it meanwhile.
        let Some(about) = entry.metadata().ok().filter(|about| is_ours && about.is_file()) else { continue };
        if name != newest {
            files.push((about.modified()?.min(now), about.len(), entry.path()));
        }
    }
    files.sort_by(|one, other| other.cmp(one));
    let mut total = 0_u64;
    for (_, bytes, path) in files {
        total = total.saturating_add(bytes.saturating_sub(DIGEST as u64));
        if total > max_bytes {
            let _ = std::fs::remove_file(path);
        }
    }
    Ok(())
}

/// Whether a name is one that `Inputs::digest` returns.
fn is_digest(name: &str) -> bool {
    name.len() == 2 * DIGEST && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests;
