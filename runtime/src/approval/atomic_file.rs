//! A file that is replaced whole or not at all.
//!
//! After a crash or with a full disk the file has its old contents or all of the new ones. One writer at a time locks
//! the folder; such a lock leaves no file behind, and the system frees it when the writer is killed.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How long to wait for another writer, which takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Time between two attempts to lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Age from which an unfinished file counts as abandoned by its writer.
const ABANDONED: Duration = Duration::from_secs(60);

/// A file that no other writer replaces until this is dropped.
pub(super) struct LockedFile {
    file: PathBuf,
    folder: PathBuf,
    /// The locked folder.
    opened: File,
}

impl LockedFile {
    /// Waits until no other writer has the lock. Follows links. Blocks.
    pub(super) fn new(file: &Path) -> io::Result<Self> {
        let file = target(file)?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).to_owned();
        let opened = File::open(&folder)?;
        let begun = Instant::now();
        loop {
            match opened.try_lock() {
                Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_TIMEOUT => {
                    std::thread::sleep(RETRY_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::other("another program has locked its folder; try again"));
                }
                // Some network file systems lock no folders. There, only the comparison before writing protects the
                // file.
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(Self { file, folder, opened }),
            }
        }
    }

    /// Writes a file beside this one, and renames it to this one.
    pub(super) fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        self.remove_temp_files(&name);
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let unfinished = self.folder.join(format!(".{name}.{:016x}", u64::from_le_bytes(random)));
        let mut out = File::create_new(&unfinished)?;
        let written = same_mode(&self.file, &out)
            .and_then(|()| out.write_all(bytes))
            .and_then(|()| out.sync_all())
            .and_then(|()| fs::rename(&unfinished, &self.file));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written?;
        // The file is replaced. Not every file system can sync a folder, so an error is ignored.
        let _ = self.opened.sync_all();
        Ok(())
    }

    /// Removes unfinished files of writers that were killed, as far as possible.
    fn remove_temp_files(&self, name: &str) {
        let prefix = format!(".{name}.");
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let file_name = entry.file_name();
            let suffix = file_name.to_str().and_then(|name| name.strip_prefix(&prefix));
            if suffix.is_some_and(is_random) && is_abandoned(&entry.path()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// The file to which links lead. A link that leads nowhere is an error; otherwise the link itself would be replaced
/// unnoticed.
fn target(file: &Path) -> io::Result<PathBuf> {
    match file.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match file.is_symlink() {
            true => {
                Err(io::Error::other("it is a link that leads nowhere; remove it, or make what it leads to"))
            }
            false => Ok(file.to_owned()),
        },
        target => target,
    }
}

/// Whether the name of an unfinished file ends like this.
fn is_random(suffix: &str) -> bool {
    suffix.len() == 16 && suffix.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_abandoned(path: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    let age = metadata.modified().ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
    metadata.is_file() && age.is_some_and(|age| age > ABANDONED)
}

/// Gives the new file the mode of the old one.
fn same_mode(file: &Path, new: &File) -> io::Result<()> {
    match fs::metadata(file) {
        Ok(old) => new.set_permissions(old.permissions()),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
        LockedFile::new(file)?.replace(bytes)
    }

    #[test]
    fn a_write_that_fails_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lock");
        replace(&file, b"one").unwrap();
        replace(&file, b"two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        // A folder cannot be replaced by a file.
        let taken = dir.path().join("taken");
        fs::create_dir_all(taken.join("inner")).unwrap();
        assert!(replace(&taken, b"x").is_err());
        assert!(replace(&dir.path().join("none/lock"), b"x").is_err());
        assert_eq!(dir.path().read_dir().unwrap().count(), 2);
    }

    #[test]
    fn a_link_and_a_mode_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        fs::write(&target, "old").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("target", &link).unwrap();
        replace(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        for target in ["nowhere", "link"] {
            symlink(target, &link).unwrap();
            assert!(replace(&link, b"x").is_err());
            assert!(link.is_symlink() && dir.path().read_dir().unwrap().count() == 1);
            fs::remove_file(&link).unwrap();
        }
    }

    #[test]
    fn what_killed_writers_left_is_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - 2 * ABANDONED;
        let make = |name: &str, time: SystemTime| {
            File::create(dir.path().join(name)).unwrap().set_modified(time).unwrap();
        };
        make(".lock.0123456789abcdef", old);
        let kept =
            [".lock.fedcba9876543210", ".lock.notes", ".other.0123456789abcdef", ".lock.0123456789abcdeF"];
        make(kept[0], SystemTime::now());
        kept[1..].iter().for_each(|name| make(name, old));
        replace(&dir.path().join("lock"), b"x").unwrap();
        let mut left: Vec<_> =
            dir.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.retain(|name| !kept.iter().any(|kept| name == *kept));
        assert_eq!(left, ["lock"]);
        assert!(kept.iter().all(|name| dir.path().join(name).exists()));
    }

    #[test]
    fn writers_take_turns() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lock");
        fs::write(&file, "0").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let locked = LockedFile::new(&file).unwrap();
                        let count: u32 = fs::read_to_string(&file).unwrap().parse().unwrap();
                        locked.replace((count + 1).to_string().as_bytes()).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(&file).unwrap(), "20", "one wrote over what another had just written");
    }
}
