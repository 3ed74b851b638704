//! The file of quotas in the state folder.
//!
//! The server appends one line with a checksum for each changed bucket. The last line about a bucket counts. A partial
//! line of a killed server is skipped, which is safe, because the call that waited for this line never ran. When many
//! lines were added, the buckets that are not full are written to a new file, which replaces the old one. Lines have a
//! digest of the caller's id, because the id may be long.
//!
//! A killed server loses no written line, because the operating system has it. Only a new file is flushed to the disk.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use super::QuotaCaller;
use super::gcra::StoredBucket;
use super::usage_table::{BucketKey, RoleUsageKey};
use crate::config::QuotaKind;

/// The name of the file, and of the new file that replaces it.
const FILE: &str = "quotas";
const NEW_FILE: &str = "quotas.new";

/// The name of the lock file, which the server that writes the quotas holds.
const LOCK: &str = "quotas.lock";

/// Maximum length of a file that is read, in bytes.
const MAX_READ: u64 = 256 << 20;

/// The file is replaced after this many added bytes, or after its initial length if that is more.
const MAX_ADDED: usize = 4 << 20;

/// Length of a checksum in bytes. It detects partial lines, and gives no protection against forgery.
const CHECKSUM: usize = 4;

/// The buckets of a file.
pub(super) type StoredBuckets = HashMap<BucketKey, StoredBucket>;

/// The file, which one thread writes.
#[derive(Debug)]
pub(super) struct QuotaFile {
    folder: PathBuf,
    /// All buckets, as they should be in the file.
    buckets: StoredBuckets,
    /// `None` before the first write, and after a failed one.
    opened: Option<OpenedFile>,
    lock: Option<File>,
    /// Whether the log has reported that writing fails.
    has_warned: bool,
}

#[derive(Debug)]
struct OpenedFile {
    file: File,
    /// Its length when it was created, and the bytes that were added since.
    new: usize,
    added: usize,
}

/// Why the file cannot be written.
#[derive(Debug, thiserror::Error)]
enum QuotaFileError {
    #[error("another server writes its quotas to the state folder {}; this server counts by itself and saves nothing", .0.display())]
    InUse(PathBuf),
    #[error(
        "the quotas in the state folder {} cannot be written ({source}), so a restart will forget what callers have \
         used; calls go on, and quotas hold until then",
        folder.display()
    )]
    Unwritable { folder: PathBuf, source: io::Error },
}

impl QuotaFile {
    /// Reads the file. If it cannot be read, there are no buckets, and the log says so.
    pub(super) fn read(folder: PathBuf, now: u64) -> Self {
        let buckets = read(&folder).unwrap_or_else(|error| {
            let folder = folder.display();
            tracing::error!(%error, "the quotas in the state folder {folder} cannot be read; all of them start unused");
            StoredBuckets::new()
        });
        let mut file = Self { folder, buckets, opened: None, lock: None, has_warned: false };
        file.forget_whole(now);
        file
    }

    /// The buckets of the file.
    pub(super) fn buckets(&self) -> &StoredBuckets {
        &self.buckets
    }

    /// Writes these buckets. If that fails, nothing is lost: the next write replaces the whole file.
    pub(super) fn write(&mut self, buckets: StoredBuckets, now: u64) {
        let lines: String = buckets.iter().map(|(key, stored)| line(key, *stored)).collect();
        self.buckets.extend(buckets);
        let written = match &mut self.opened {
            Some(opened) if opened.added < MAX_ADDED.max(opened.new) => opened.add(&lines),
            _ => Err(None),
        };
        let written = match written {
            Ok(()) => Ok(()),
            Err(None) => self.replace(now),
            Err(Some(source)) => Err(QuotaFileError::Unwritable { folder: self.folder.clone(), source }),
        };
        match written {
            Ok(()) if std::mem::take(&mut self.has_warned) => {
                tracing::warn!("the quotas in the state folder are written again");
            }
            Ok(()) => {}
            Err(error) => {
                self.opened = None;
                // Nothing else bounds the buckets that gather while the file cannot be written.
                self.forget_whole(now);
                if !std::mem::replace(&mut self.has_warned, true) {
                    tracing::error!("{error}");
                }
            }
        }
    }

    fn forget_whole(&mut self, now: u64) {
        self.buckets.retain(|_, stored| stored.tat > now);
    }

    /// Writes a new file with all buckets that are not full.
    fn replace(&mut self, now: u64) -> Result<(), QuotaFileError> {
        let folder = self.folder.clone();
        let unwritable = |source| QuotaFileError::Unwritable { folder: folder.clone(), source };
        self.opened = None;
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(unwritable)?;
        if self.lock.is_none() {
            self.lock =
                Some(lock(&folder).map_err(unwritable)?.ok_or(QuotaFileError::InUse(folder.clone()))?);
            // The previous server may have written more since this server read the file.
            for (key, stored) in read(&folder).map_err(unwritable)? {
                let known = self.buckets.entry(key).or_insert(stored);
                *known = stored.max(*known);
            }
        }
        self.forget_whole(now);
        self.opened = Some(self.write_new().map_err(unwritable)?);
        Ok(())
    }

    fn write_new(&self) -> io::Result<OpenedFile> {
        let lines: String = self.buckets.iter().map(|(key, stored)| line(key, *stored)).collect();
        let (path, mut options) = (self.folder.join(NEW_FILE), OpenOptions::new());
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        file.write_all(lines.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(path, self.folder.join(FILE))?;
        Ok(OpenedFile { file, new: lines.len(), added: 0 })
    }
}

impl OpenedFile {
    fn add(&mut self, lines: &str) -> Result<(), Option<io::Error>> {
        self.added = self.added.saturating_add(lines.len());
        self.file.write_all(lines.as_bytes()).map_err(Some)
    }
}

/// Acquires the lock of the file; `None` if another process holds it. On a file system without locks it is assumed that
/// only one server runs.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(folder.join(LOCK))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(file)),
    }
}

fn read(folder: &Path) -> io::Result<StoredBuckets> {
    let file = match File::open(folder.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(StoredBuckets::new()),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    file.take(MAX_READ).read_to_end(&mut bytes)?;
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    Ok(lines.filter_map(parse).collect())
}

/// Formats one line: its checksum, the caller, the key of the quota and its number, the TAT and the role.
fn line(
    BucketKey { entry: RoleUsageKey { caller, role }, kind }: &BucketKey,
    stored: StoredBucket,
) -> String {
    let StoredBucket { tat, value } = stored;
    let body = format!("{} {} {value} {tat} {role}", caller.to_text(), kind.key());
    format!("{} {body}\n", checksum(&body))
}

fn parse(line: &str) -> Option<(BucketKey, StoredBucket)> {
    let (sum, body) = line.split_once(' ')?;
    if sum != checksum(body) {
        return None;
    }
    let mut parts = body.splitn(5, ' ');
    let caller = QuotaCaller::from_text(parts.next()?)?;
    let key = parts.next()?;
    let kind = QuotaKind::ALL.into_iter().find(|kind| kind.key() == key)?;
    let value = parts.next()?.parse().ok()?;
    let tat = parts.next()?.parse().ok()?;
    let role = parts.next()?.into();
    Some((BucketKey { entry: RoleUsageKey { caller, role }, kind }, StoredBucket { tat, value }))
}

fn checksum(body: &str) -> String {
    HEXLOWER.encode(Sha256::digest(body.as_bytes()).get(..CHECKSUM).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(caller: &str, role: &str) -> BucketKey {
        let entry = RoleUsageKey { caller: QuotaCaller::principal(caller), role: role.into() };
        BucketKey { entry, kind: QuotaKind::CallsPerDay }
    }

    fn stored(tat: u64) -> StoredBucket {
        StoredBucket { tat, value: 3 }
    }

    fn of(pairs: &[(&BucketKey, u64)]) -> StoredBuckets {
        pairs.iter().map(|(key, at)| ((*key).clone(), stored(*at))).collect()
    }

    #[test]
    fn the_last_line_about_a_bucket_holds_and_a_torn_one_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state");
        let (ada, bob) = (key("token:ada", "a"), key("token:bob", "a.b-c"));
        let mut file = QuotaFile::read(folder.clone(), 0);
        file.write(of(&[(&ada, 10), (&bob, 20)]), 0);
        file.write(of(&[(&ada, 30)]), 0);
        drop(file);
        let text = std::fs::read_to_string(folder.join(FILE)).unwrap();
        assert_eq!((text.lines().count(), text.contains("ada")), (3, false), "{text}");
        for cut in 1..40 {
            std::fs::write(folder.join(FILE), &text[..text.len() - cut]).unwrap();
            let ada_has = if cut == 1 { 30 } else { 10 };
            assert_eq!(
                *QuotaFile::read(folder.clone(), 0).buckets(),
                of(&[(&ada, ada_has), (&bob, 20)]),
                "{cut}"
            );
        }
        std::fs::write(folder.join(FILE), [b"\xff\x00 \n\n  \n".as_slice(), text.as_bytes()].concat())
            .unwrap();
        assert_eq!(*QuotaFile::read(folder.clone(), 0).buckets(), of(&[(&ada, 30), (&bob, 20)]));
        assert_eq!(*QuotaFile::read(folder, 25).buckets(), of(&[(&ada, 30)]), "what is whole means nothing");
    }

    #[test]
    fn a_file_that_has_grown_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let ada = key("token:ada", "a");
        let mut file = QuotaFile::read(dir.path().to_owned(), 0);
        let line_bytes = line(&ada, stored(1_000_000)).len();
        let mut longest = 0;
        for tat in 1_000_000..1_000_000 + 2 * (MAX_ADDED / line_bytes) as u64 {
            file.write(of(&[(&ada, tat)]), 0);
            longest = longest.max(file.opened.as_ref().unwrap().added);
        }
        assert!(longest < MAX_ADDED + 2 * line_bytes, "{longest}");
        assert!(
            std::fs::metadata(dir.path().join(FILE)).unwrap().len() < (MAX_ADDED + 3 * line_bytes) as u64
        );
    }

    #[test]
    fn of_two_servers_one_writes_and_the_other_takes_over_what_it_wrote() {
        let dir = tempfile::tempdir().unwrap();
        let (ada, bob) = (key("token:ada", "a"), key("token:bob", "a"));
        let mut first = QuotaFile::read(dir.path().to_owned(), 0);
        let mut second = QuotaFile::read(dir.path().to_owned(), 0);
        first.write(of(&[(&ada, 10)]), 0);
        second.write(of(&[(&bob, 20)]), 0);
        assert!(second.opened.is_none() && second.has_warned);
        assert_eq!(read(dir.path()).unwrap(), of(&[(&ada, 10)]));
        drop(first);
        second.write(of(&[(&bob, 30)]), 0);
        assert_eq!(read(dir.path()).unwrap(), of(&[(&ada, 10), (&bob, 30)]));
        assert!(!second.has_warned);
    }

    #[test]
    fn a_folder_that_cannot_be_written_loses_nothing_until_it_can() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state");
        std::fs::write(&folder, "no folder").unwrap();
        let ada = key("token:ada", "a");
        let mut file = QuotaFile::read(folder.clone(), 0);
        file.has_warned = false;
        file.write(of(&[(&ada, 10)]), 0);
        assert!(file.has_warned);
        std::fs::remove_file(&folder).unwrap();
        file.write(StoredBuckets::new(), 0);
        assert_eq!(read(&folder).unwrap(), of(&[(&ada, 10)]));
    }

    #[test]
    fn what_cannot_be_written_is_forgotten_once_it_means_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state");
        std::fs::write(&folder, "no folder").unwrap();
        let mut file = QuotaFile::read(folder, 0);
        for now in 0..100 {
            file.write(of(&[(&key(&format!("token:{now}"), "a"), now + 10)]), now);
        }
        assert_eq!(file.buckets.len(), 10);
    }
}
