//! How much a guest may put below a granted directory. WASI has no quotas and neither has the library, so this is ours.
//!
//! One ledger for each grant, shared by all calls of the plugin, and one change at a time: between looking at a file's size
//! and writing to it no other call can do the same, so what is counted is what happened. What is counted starts from what
//! lies there and only grows; when the room seems used up, or the count is old, the directory is measured again, and
//! what was deleted since gives room back.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::Meter;
use super::measure::{Measured, STEP, measure, rounded};
use crate::config::{DirGrant, Room, mib};

/// After this long the directory is measured again before anything grows: others may have written to it.
const OLD: Duration = Duration::from_secs(30);

/// So often it is measured when room ran out and nothing was seen to be deleted.
const SOON: Duration = Duration::from_secs(1);

/// What looking at one file costs the guest, as if it moved this many bytes.
const LOOK: usize = 20_000;

/// The most that measuring a directory costs, as if it moved this many bytes: one call is not to pay for all that others
/// left there.
const DEAREST: usize = 200_000_000;

/// What looking at this many files costs.
fn price(files: u64) -> usize {
    LOOK.saturating_mul(usize::try_from(files).unwrap_or(usize::MAX)).min(DEAREST)
}

/// The directory is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OverQuota {
    /// Bytes.
    #[error("more than {0} MiB")]
    Bytes(u64),
    /// Files and directories.
    #[error("more than {0} files")]
    Files(u64),
}

/// Why a file could not be changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    /// No room.
    #[error(transparent)]
    Over(#[from] OverQuota),
    /// What the system says.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The room below one granted directory.
#[derive(Debug)]
pub(crate) struct Quota {
    root: PathBuf,
    room: Room,
    ledger: Arc<Mutex<Ledger>>,
    released: AtomicBool,
}

#[derive(Debug, Default)]
struct Ledger {
    used: Measured,
    at: Option<Instant>,
    /// Files that are open: one that is deleted takes room until it is closed.
    open: Vec<Weak<File>>,
}

impl Quota {
    /// For a directory that may be written.
    pub(crate) fn of(grant: &DirGrant) -> Option<Arc<Self>> {
        let (root, room) = (grant.host.clone(), grant.write?);
        Some(Arc::new(Self { root, room, ledger: Arc::default(), released: AtomicBool::new(false) }))
    }

    /// What may lie there.
    pub(crate) fn room(&self) -> Room {
        self.room
    }

    /// Something was deleted, or closed: it may be worth measuring again.
    pub(crate) fn release(&self) {
        self.released.store(true, Ordering::Relaxed);
    }

    /// Waits until no other change is under way.
    pub(crate) async fn turn(self: &Arc<Self>, meter: &Meter) -> Turn {
        let ledger = Arc::clone(&self.ledger).lock_owned().await;
        Turn { quota: Arc::clone(self), ledger, meter: meter.clone() }
    }
}

/// The right to change what lies there. Held until the change is done, also when its call has gone.
pub(crate) struct Turn {
    quota: Arc<Quota>,
    ledger: OwnedMutexGuard<Ledger>,
    meter: Meter,
}

impl Turn {
    /// Changes one file. `after` says how long it will be, from how long it is. Blocks.
    pub(crate) fn change<T>(
        &mut self,
        file: &File,
        after: impl FnOnce(u64) -> u64,
        act: impl FnOnce(u64) -> io::Result<T>,
    ) -> Result<T, ChangeError> {
        let before = file.metadata()?.len();
        let more = rounded(after(before)).saturating_sub(rounded(before));
        self.admit(more, 0)?;
        let done = act(before);
        // Half of it may have happened.
        let now = file.metadata()?.len();
        let used = &mut self.ledger.used;
        used.bytes = used.bytes.saturating_add(rounded(now)).saturating_sub(rounded(before));
        Ok(done?)
    }

    /// Counts a new file, or a directory. Blocks.
    pub(crate) fn create(&mut self, directory: bool) -> Result<(), OverQuota> {
        let bytes = if directory { STEP } else { 0 };
        self.admit(bytes, 1)?;
        self.ledger.used.bytes += bytes;
        self.ledger.used.files += 1;
        Ok(())
    }

    /// It was not created after all.
    pub(crate) fn not_created(&mut self, directory: bool) {
        let used = &mut self.ledger.used;
        used.bytes = used.bytes.saturating_sub(if directory { STEP } else { 0 });
        used.files = used.files.saturating_sub(1);
    }

    /// Remembers a file that was opened.
    pub(crate) fn opened(&mut self, file: &Arc<File>) {
        self.ledger.open.retain(|file| file.strong_count() > 0);
        self.ledger.open.push(Arc::downgrade(file));
    }

    fn admit(&mut self, bytes: u64, files: u64) -> Result<(), OverQuota> {
        if bytes == 0 && files == 0 {
            return Ok(());
        }
        if self.is_older_than(OLD) {
            // The clock wants it and not this call, which happens to come first.
            self.measure();
        }
        let again = || self.quota.released.load(Ordering::Relaxed) || self.is_older_than(SOON);
        if self.over(bytes, files).is_some() && again() {
            let seen = self.measure();
            // The next charge fails if this was too much.
            let _ = self.meter.charge_now(price(seen));
        }
        self.over(bytes, files).map_or(Ok(()), Err)
    }

    fn is_older_than(&self, age: Duration) -> bool {
        self.ledger.at.is_none_or(|at| at.elapsed() >= age)
    }

    fn over(&self, bytes: u64, files: u64) -> Option<OverQuota> {
        let (used, room) = (self.ledger.used, self.quota.room);
        if used.bytes.saturating_add(bytes) > mib(room.mib) as u64 {
            return Some(OverQuota::Bytes(room.mib));
        }
        (used.files.saturating_add(files) > room.files).then_some(OverQuota::Files(room.files))
    }

    /// Measures the directory, and says at how many files it looked.
    fn measure(&mut self) -> u64 {
        self.quota.released.store(false, Ordering::Relaxed);
        let mut found = measure(&self.quota.root, self.quota.room.files);
        for file in self.ledger.open.iter().filter_map(Weak::upgrade) {
            found.and_open(&file);
        }
        // Where it could not look, what was counted before may still be.
        let known = if self.ledger.at.is_some() { self.ledger.used } else { Measured::FULL };
        self.ledger.used = if found.complete { found } else { found.at_least(known) };
        self.ledger.at = Some(Instant::now());
        found.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt as _;
    use std::path::Path;

    fn quota(root: &Path, mib: u64, files: u64) -> Arc<Quota> {
        let write = Some(Room { mib, files });
        let grant = DirGrant { host: root.to_owned(), guest: "/d".to_owned(), write, hidden: Vec::new() };
        Quota::of(&grant).unwrap()
    }

    fn write(turn: &mut Turn, file: &File, len: usize, at: u64) -> Result<(), ChangeError> {
        turn.change(file, |before| before.max(at + len as u64), |_| file.write_all_at(&vec![0; len], at))
    }

    #[tokio::test]
    async fn what_lies_there_counts_and_overwriting_is_free() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("old"), vec![0; 512 << 10]).unwrap();
        let quota = quota(dir.path(), 1, 3);
        let mut turn = quota.turn(&Meter::new(u64::MAX)).await;
        turn.create(false).unwrap();
        let file = File::create(dir.path().join("new")).unwrap();
        write(&mut turn, &file, 512 << 10, 0).unwrap();
        write(&mut turn, &file, 512 << 10, 0).unwrap();
        let over = write(&mut turn, &file, 1, 512 << 10);
        assert!(matches!(over, Err(ChangeError::Over(OverQuota::Bytes(1)))), "{over:?}");
        let sparse = turn.change(&file, |_| 1 << 40, |_| file.set_len(1 << 40));
        assert!(matches!(sparse, Err(ChangeError::Over(_))), "{sparse:?}");
        assert!(turn.change(&file, |_| 0, |_| file.set_len(0)).is_ok());
        write(&mut turn, &file, 4_096, 0).unwrap();
    }

    #[tokio::test]
    async fn files_are_counted_and_deleting_gives_room_back() {
        let dir = tempfile::tempdir().unwrap();
        let quota = quota(dir.path(), 1, 2);
        let mut turn = quota.turn(&Meter::new(u64::MAX)).await;
        for name in ["a", "b"] {
            turn.create(false).unwrap();
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(turn.create(true), Err(OverQuota::Files(2)));
        std::fs::remove_file(dir.path().join("a")).unwrap();
        assert_eq!(turn.create(true), Err(OverQuota::Files(2)), "nobody said that something went");
        quota.release();
        assert_eq!(turn.create(true), Ok(()));
    }

    #[tokio::test]
    async fn a_call_pays_for_what_it_wants_measured_and_not_for_the_clock() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..20 {
            std::fs::write(dir.path().join(n.to_string()), "x").unwrap();
        }
        let (quota, meter) = (quota(dir.path(), 1, 20), Meter::new(u64::MAX));
        let mut turn = quota.turn(&meter).await;
        for _ in 0..3 {
            assert_eq!(turn.create(false), Err(OverQuota::Files(20)));
            turn.ledger.at = Instant::now().checked_sub(OLD);
        }
        assert_eq!(meter.spent(), 0);
        turn.ledger.at = Some(Instant::now());
        quota.release();
        assert_eq!(turn.create(false), Err(OverQuota::Files(20)));
        assert!(meter.spent() > price(19) as u64 / 2, "{}", meter.spent());
        assert_eq!(price(1_000_000), DEAREST);
    }

    #[tokio::test]
    async fn a_deleted_file_takes_room_until_it_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let quota = quota(dir.path(), 1, 9);
        let mut turn = quota.turn(&Meter::new(u64::MAX)).await;
        let file = Arc::new(File::create(dir.path().join("a")).unwrap());
        turn.opened(&file);
        write(&mut turn, &file, 1 << 20, 0).unwrap();
        std::fs::remove_file(dir.path().join("a")).unwrap();
        let other = File::create(dir.path().join("b")).unwrap();
        quota.release();
        assert!(write(&mut turn, &other, 1, 0).is_err());
        drop(file);
        quota.release();
        write(&mut turn, &other, 1, 0).unwrap();
    }

    #[tokio::test]
    async fn a_directory_that_holds_too_much_already_cannot_grow() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..20 {
            std::fs::write(dir.path().join(n.to_string()), "x").unwrap();
        }
        let quota = quota(dir.path(), 1, 10);
        let mut turn = quota.turn(&Meter::new(u64::MAX)).await;
        assert!(turn.create(false).is_err());
        let file = File::options().write(true).open(dir.path().join("1")).unwrap();
        assert!(write(&mut turn, &file, 5_000, 0).is_err());
        assert!(write(&mut turn, &file, 1, 0).is_ok(), "what is there may be changed");
    }
}
