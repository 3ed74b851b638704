//! The components that this user has built, by the digest of what they were built of.
//!
//! Builders that put the image of a started interpreter into a component make another one each time: the image has
//! random numbers and times of the build. Another component has another digest, and every server compiles it again. So
//! a build of the same inputs takes the component that was built of them first.
//!
//! The cache belongs to the user and is in no project: a project that came from somebody else could bring a component
//! of theirs with it, as if it were built of the sources beside it.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use super::error::BuildError;
use crate::atomic_write::atomic_write;

/// Its folder in the user's cache.
const FOLDER: &str = "builds";

/// Maximum bytes of all components. Those that were not used for longest are removed.
const MAX_BYTES: u64 = 256 << 20;

/// A component from a tool.
pub(super) struct MadeComponent {
    pub(super) bytes: Vec<u8>,
    /// Whether an earlier build has made it.
    pub(super) is_cached: bool,
}

/// The components of this user.
#[derive(Debug)]
pub(super) struct BuildCache {
    /// `None` if the environment names no cache.
    folder: Option<PathBuf>,
    max_bytes: u64,
}

impl BuildCache {
    pub(super) fn new(user_cache: Option<PathBuf>) -> Self {
        Self { folder: user_cache.map(|cache| cache.join(FOLDER)), max_bytes: MAX_BYTES }
    }

    /// What a tool has made of these inputs, or makes of them now. `inputs` computes their digest, if they have one.
    pub(super) async fn component(
        &self,
        inputs: impl Fn() -> Option<String>,
        make: impl Future<Output = Result<Vec<u8>, BuildError>>,
    ) -> Result<MadeComponent, BuildError> {
        let before = self.folder.as_ref().and_then(|_| inputs());
        if let Some(bytes) = before.as_deref().and_then(|before| self.get(before)) {
            return Ok(MadeComponent { bytes, is_cached: true });
        }
        let bytes = make.await?;
        // A file that changed meanwhile may be in the component or not.
        if let Some(before) = before.filter(|before| inputs().as_ref() == Some(before)) {
            self.put(&before, &bytes);
        }
        Ok(MadeComponent { bytes, is_cached: false })
    }

    /// The component that was made of inputs with this digest.
    fn get(&self, inputs: &str) -> Option<Vec<u8>> {
        let folder = self.folder.as_deref().filter(|folder| is_own(folder))?;
        let mut file = File::open(folder.join(inputs)).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let (digest, component) = bytes.split_first_chunk::<32>()?;
        if *digest != <[u8; 32]>::from(Sha256::digest(component)) {
            return None;
        }
        // If this fails, it counts as used less recently.
        let _ = file.set_modified(SystemTime::now());
        Some(component.to_vec())
    }

    /// Keeps a component. If this fails, the next build makes another one.
    fn put(&self, inputs: &str, component: &[u8]) {
        let Some(folder) = &self.folder else { return };
        let bytes = [Sha256::digest(component).as_slice(), component].concat();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        let kept = made
            .and_then(|()| atomic_write(&folder.join(inputs), &bytes))
            .and_then(|()| remove_unused(folder, self.max_bytes));
        if let Err(error) = kept {
            tracing::debug!(folder = %folder.display(), %error, "cannot keep what was built");
        }
    }
}

/// Whether nobody else can write into the folder.
fn is_own(folder: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    folder.metadata().is_ok_and(|about| about.uid() == own && about.mode() & 0o022 == 0)
}

fn remove_unused(folder: &Path, max_bytes: u64) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        files.push((about.modified()?, about.len(), entry.path()));
    }
    files.sort_by(|one, other| other.cmp(one));
    let mut total = 0_u64;
    for (_, bytes, path) in files {
        total = total.saturating_add(bytes);
        if total > max_bytes {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_built_is_there_unless_it_is_damaged_or_may_be_somebody_elses() {
        let dir = tempfile::tempdir().unwrap();
        let cache = BuildCache::new(Some(dir.path().join("cache")));
        assert_eq!(cache.get("a"), None);
        cache.put("a", b"component");
        assert_eq!(cache.get("a").as_deref(), Some(&b"component"[..]));
        assert_eq!(cache.get("b"), None);
        let folder = dir.path().join("cache").join(FOLDER);
        let mode = |mode| std::fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        mode(0o777);
        assert_eq!(cache.get("a"), None, "others could have written it");
        mode(0o700);
        assert!(cache.get("a").is_some());
        for damaged in [&b"short"[..], &[0; 40]] {
            std::fs::write(folder.join("a"), damaged).unwrap();
            assert_eq!(cache.get("a"), None);
        }
        let without = BuildCache::new(None);
        without.put("a", b"component");
        assert_eq!(without.get("a"), None);
    }

    #[test]
    fn what_was_not_used_for_longest_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let cache = BuildCache { folder: Some(dir.path().join(FOLDER)), max_bytes: 2 * (32 + 100) };
        for (name, hours) in [("a", 3), ("b", 2)] {
            cache.put(name, &[0; 100]);
            let file = File::open(dir.path().join(FOLDER).join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(hours * 3_600)).unwrap();
        }
        assert!(cache.get("a").is_some(), "and now it is used");
        cache.put("c", &[0; 100]);
        assert_eq!(["a", "b", "c"].map(|name| cache.get(name).is_some()), [true, false, true]);
    }
}
