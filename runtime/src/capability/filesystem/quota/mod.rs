//! How much a guest may put below a granted directory. WASI has no quotas and neither has the library, so this is ours.
//!
//! Each directory has one `QuotaUsage` behind a lock: whatever makes, grows, moves or deletes something there holds
//! that lock, and so does measuring. So between looking at a file's size and writing to it no other call can do the
//! same, nothing moves while the directory is measured, and what is counted is what happened. What is counted starts
//! from what lies there and only grows; when the room seems used up, or the count is old, the directory is measured
//! again, and what was deleted since gives room back.

mod disk_usage;
mod tree;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use crate::config::{DirGrant, DirQuota, mib};
use crate::sandbox::HostFuel;
use disk_usage::{STEP, rounded};
use tree::{QuotaTree, QuotaUsage};

/// After this long the directory is measured again before anything grows: others may have written to it.
const OLD: Duration = Duration::from_secs(30);

/// So often it is measured when room ran out and nothing was seen to be deleted.
const SOON: Duration = Duration::from_secs(1);

/// What looking at one file costs the guest, as if it moved this many bytes.
const LOOK: usize = 20_000;

/// The most that measuring a directory costs, as if it moved this many bytes: one call is not to pay for all that
/// others left there.
const DEAREST: usize = 200_000_000;

/// What looking at this many files costs.
fn scan_cost(files: u64) -> usize {
    LOOK.saturating_mul(usize::try_from(files).unwrap_or(usize::MAX)).min(DEAREST)
}

/// The directory is full.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuotaExceeded {
    /// Bytes.
    #[error("more than {0} MiB")]
    Bytes(u64),
    /// Files and directories.
    #[error("more than {0} files")]
    Files(u64),
    /// A directory around it, which is granted as well.
    #[error("more than may lie in {0:?} around it")]
    Around(PathBuf),
}

/// Why a file could not be changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    /// No room.
    #[error(transparent)]
    Over(#[from] QuotaExceeded),
    /// What the system says.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The room below one granted directory.
#[derive(Debug)]
pub(crate) struct Quota {
    room: Arc<DirQuota>,
    tree: Arc<QuotaTree>,
}

impl Quota {
    /// For a directory that may be written.
    pub(crate) fn of(grant: &DirGrant) -> Option<Arc<Self>> {
        let room = Arc::new(grant.write?);
        Some(Arc::new(Self { tree: QuotaTree::granted(&grant.host, &room), room }))
    }

    /// What may lie there.
    pub(crate) fn room(&self) -> DirQuota {
        *self.room
    }

    /// Something was closed: it may be worth measuring again.
    pub(crate) fn release(&self) {
        self.tree.release();
    }

    /// Waits until no other change is under way.
    pub(crate) async fn lock(&self, fuel: &HostFuel) -> QuotaGuard {
        let mut locked = Vec::new();
        for (tree, room) in self.tree.around() {
            locked.push(LockedTree::lock(tree, room).await);
        }
        locked.push(LockedTree::lock(Arc::clone(&self.tree), self.room()).await);
        QuotaGuard { locked, fuel: fuel.clone() }
    }
}

/// The right to change what lies there. Held until the change is done, also when its call has gone.
pub(crate) struct QuotaGuard {
    /// The directory, after those around it.
    locked: Vec<LockedTree>,
    fuel: HostFuel,
}

/// A directory that nobody else changes now.
struct LockedTree {
    tree: Arc<QuotaTree>,
    room: DirQuota,
    usage: OwnedMutexGuard<QuotaUsage>,
}

impl QuotaGuard {
    /// For opening what may only be read: where the same can be written by another grant, it takes room while it is open.
    /// `None` where it cannot.
    pub(crate) async fn to_read(host: &Path, fuel: &HostFuel) -> Option<Self> {
        let mut locked = Vec::new();
        for tree in QuotaTree::touching(host) {
            if let Some(room) = tree.room() {
                locked.push(LockedTree::lock(tree, room).await);
            }
        }
        (!locked.is_empty()).then(|| Self { locked, fuel: fuel.clone() })
    }

    /// Changes one file. `after` says how long it will be, from how long it is. Blocks.
    pub(crate) fn change<T>(
        &mut self,
        file: &File,
        after: impl FnOnce(u64) -> u64,
        act: impl FnOnce(u64) -> io::Result<T>,
    ) -> Result<T, ChangeError> {
        let before = file.metadata()?.len();
        let counted = rounded(after(before)).max(rounded(before));
        let more = counted.saturating_sub(rounded(before));
        self.check(more, 0)?;
        // Before it happens: if nobody can say later what became of it, it counts.
        self.count(more, 0);
        let done = act(before);
        // Half of it may have happened.
        let now = file.metadata()?.len();
        self.count(rounded(now), 0);
        self.discount(counted, 0);
        Ok(done?)
    }

    /// Makes a file, a directory or another name. Blocks.
    pub(crate) fn make<T, E>(
        &mut self,
        directory: bool,
        act: impl FnOnce() -> Result<T, E>,
    ) -> Result<Result<T, E>, QuotaExceeded> {
        let bytes = if directory { STEP } else { 0 };
        self.check(bytes, 1)?;
        self.count(bytes, 1);
        let made = act();
        if made.is_err() {
            self.discount(bytes, 1);
        }
        Ok(made)
    }

    /// Remembers a file that was opened.
    pub(crate) fn opened(&mut self, file: &Arc<File>) {
        self.locked.iter_mut().for_each(|locked| locked.usage.opened(file));
    }

    /// Something was deleted, or another took its name: it may be worth measuring again.
    pub(crate) fn release(&self) {
        self.locked.iter().for_each(|locked| locked.tree.release());
    }

    fn check(&mut self, bytes: u64, files: u64) -> Result<(), QuotaExceeded> {
        let Some((own, around)) = self.locked.split_last_mut() else { return Ok(()) };
        for locked in around {
            let admitted = locked.check(bytes, files, &self.fuel);
            admitted.map_err(|_| QuotaExceeded::Around(locked.tree.root.clone()))?;
        }
        own.check(bytes, files, &self.fuel)
    }

    fn count(&mut self, bytes: u64, files: u64) {
        for LockedTree { usage, .. } in &mut self.locked {
            usage.used.bytes = usage.used.bytes.saturating_add(bytes);
            usage.used.files = usage.used.files.saturating_add(files);
        }
    }

    fn discount(&mut self, bytes: u64, files: u64) {
        for LockedTree { usage, .. } in &mut self.locked {
            usage.used.bytes = usage.used.bytes.saturating_sub(bytes);
            usage.used.files = usage.used.files.saturating_sub(files);
        }
    }
}

impl LockedTree {
    async fn lock(tree: Arc<QuotaTree>, room: DirQuota) -> Self {
        let usage = Arc::clone(&tree.usage).lock_owned().await;
        Self { tree, room, usage }
    }

    fn check(&mut self, bytes: u64, files: u64, fuel: &HostFuel) -> Result<(), QuotaExceeded> {
        if bytes == 0 && files == 0 {
            return Ok(());
        }
        if self.usage.is_older_than(OLD) {
            // The clock wants it and not this call, which happens to come first.
            self.usage.measure(&self.tree, self.room);
        }
        let again = || self.tree.is_released() || self.usage.is_older_than(SOON);
        if self.over(bytes, files).is_some() && again() {
            let seen = self.usage.measure(&self.tree, self.room);
            // The next charge fails if this was too much.
            let _ = fuel.charge_now(scan_cost(seen));
        }
        self.over(bytes, files).map_or(Ok(()), Err)
    }

    fn over(&self, bytes: u64, files: u64) -> Option<QuotaExceeded> {
        let (used, room) = (self.usage.used, self.room);
        if used.bytes.saturating_add(bytes) > mib(room.mib) as u64 {
            return Some(QuotaExceeded::Bytes(room.mib));
        }
        (used.files.saturating_add(files) > room.files).then_some(QuotaExceeded::Files(room.files))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt as _;
    use std::time::Instant;

    fn quota(root: &Path, mib: u64, files: u64) -> Arc<Quota> {
        let write = Some(DirQuota { mib, files });
        let grant = DirGrant { host: root.to_owned(), guest: "/d".to_owned(), write, hidden: Vec::new() };
        Quota::of(&grant).unwrap()
    }

    fn create(guard: &mut QuotaGuard, directory: bool) -> Result<(), QuotaExceeded> {
        guard.make(directory, || Ok::<_, ()>(())).map(|_| ())
    }

    fn write(guard: &mut QuotaGuard, file: &File, len: usize, at: u64) -> Result<(), ChangeError> {
        guard.change(file, |before| before.max(at + len as u64), |_| file.write_all_at(&vec![0; len], at))
    }

    #[tokio::test]
    async fn what_lies_there_counts_and_overwriting_is_free() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("old"), vec![0; 512 << 10]).unwrap();
        let quota = quota(dir.path(), 1, 3);
        let mut guard = quota.lock(&HostFuel::new(u64::MAX)).await;
        create(&mut guard, false).unwrap();
        let file = File::create(dir.path().join("new")).unwrap();
        write(&mut guard, &file, 512 << 10, 0).unwrap();
        write(&mut guard, &file, 512 << 10, 0).unwrap();
        let over = write(&mut guard, &file, 1, 512 << 10);
        assert!(matches!(over, Err(ChangeError::Over(QuotaExceeded::Bytes(1)))), "{over:?}");
        let sparse = guard.change(&file, |_| 1 << 40, |_| file.set_len(1 << 40));
        assert!(matches!(sparse, Err(ChangeError::Over(_))), "{sparse:?}");
        assert!(guard.change(&file, |_| 0, |_| file.set_len(0)).is_ok());
        write(&mut guard, &file, 4_096, 0).unwrap();
    }

    #[tokio::test]
    async fn files_are_counted_and_deleting_gives_room_back() {
        let dir = tempfile::tempdir().unwrap();
        let quota = quota(dir.path(), 1, 2);
        let mut guard = quota.lock(&HostFuel::new(u64::MAX)).await;
        for name in ["a", "b"] {
            create(&mut guard, false).unwrap();
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(create(&mut guard, true), Err(QuotaExceeded::Files(2)));
        std::fs::remove_file(dir.path().join("a")).unwrap();
        assert_eq!(create(&mut guard, true), Err(QuotaExceeded::Files(2)), "nobody said that something went");
        quota.release();
        assert_eq!(create(&mut guard, true), Ok(()));
    }

    #[tokio::test]
    async fn a_call_pays_for_what_it_wants_measured_and_not_for_the_clock() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..20 {
            std::fs::write(dir.path().join(n.to_string()), "x").unwrap();
        }
        let (quota, fuel) = (quota(dir.path(), 1, 20), HostFuel::new(u64::MAX));
        let mut guard = quota.lock(&fuel).await;
        for _ in 0..3 {
            assert_eq!(create(&mut guard, false), Err(QuotaExceeded::Files(20)));
            guard.locked[0].usage.at = Instant::now().checked_sub(OLD);
        }
        assert_eq!(fuel.spent(), 0);
        guard.locked[0].usage.at = Some(Instant::now());
        quota.release();
        assert_eq!(create(&mut guard, false), Err(QuotaExceeded::Files(20)));
        assert!(fuel.spent() > scan_cost(19) as u64 / 2, "{}", fuel.spent());
        assert_eq!(scan_cost(1_000_000), DEAREST);
    }

    #[tokio::test]
    async fn a_deleted_file_takes_room_until_it_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let quota = quota(dir.path(), 1, 9);
        let mut guard = quota.lock(&HostFuel::new(u64::MAX)).await;
        let file = Arc::new(File::create(dir.path().join("a")).unwrap());
        guard.opened(&file);
        write(&mut guard, &file, 1 << 20, 0).unwrap();
        std::fs::remove_file(dir.path().join("a")).unwrap();
        let other = File::create(dir.path().join("b")).unwrap();
        quota.release();
        assert!(write(&mut guard, &other, 1, 0).is_err());
        drop(file);
        quota.release();
        write(&mut guard, &other, 1, 0).unwrap();
    }

    #[tokio::test]
    async fn a_directory_that_holds_too_much_already_cannot_grow() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..20 {
            std::fs::write(dir.path().join(n.to_string()), "x").unwrap();
        }
        let quota = quota(dir.path(), 1, 10);
        let mut guard = quota.lock(&HostFuel::new(u64::MAX)).await;
        assert!(create(&mut guard, false).is_err());
        let file = File::options().write(true).open(dir.path().join("1")).unwrap();
        assert!(write(&mut guard, &file, 5_000, 0).is_err());
        assert!(write(&mut guard, &file, 1, 0).is_ok(), "what is there may be changed");
    }

    #[tokio::test]
    async fn plugins_with_one_directory_share_what_is_counted_and_each_has_its_own_room() {
        let dir = tempfile::tempdir().unwrap();
        let (small, large) = (quota(dir.path(), 1, 9), quota(dir.path(), 2, 9));
        let fuel = HostFuel::new(u64::MAX);
        let file = File::create(dir.path().join("a")).unwrap();
        write(&mut large.lock(&fuel).await, &file, 1 << 20, 0).unwrap();
        assert!(write(&mut small.lock(&fuel).await, &file, 1, 1 << 20).is_err());
        write(&mut large.lock(&fuel).await, &file, 1 << 20, 1 << 20).unwrap();
        assert!(write(&mut large.lock(&fuel).await, &file, 1, 2 << 20).is_err());
    }

    #[tokio::test]
    async fn what_is_carried_out_of_an_inner_directory_still_counts_in_the_outer_one() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("inner");
        std::fs::create_dir(&inside).unwrap();
        let (outer, inner) = (quota(dir.path(), 3, 99), quota(&inside, 2, 99));
        let fuel = HostFuel::new(u64::MAX);
        let mut written = 0;
        for n in 0..5 {
            let file = File::create(inside.join("a")).unwrap();
            for _ in 0..2 {
                let done =
                    write(&mut inner.lock(&fuel).await, &file, 1 << 20, file.metadata().unwrap().len());
                written += u64::from(done.is_ok());
            }
            let guard = outer.lock(&fuel).await;
            std::fs::rename(inside.join("a"), dir.path().join(n.to_string())).unwrap();
            guard.release();
            inner.release();
        }
        assert_eq!(written, 2, "MiB, beside the directory itself");
        let file = File::create(inside.join("a")).unwrap();
        let over = write(&mut inner.lock(&fuel).await, &file, 1 << 20, 0).unwrap_err().to_string();
        assert!(over.contains("around it"), "{over}");
    }

    #[tokio::test]
    async fn a_deleted_file_takes_room_until_those_who_only_read_it_close_it() {
        let dir = tempfile::tempdir().unwrap();
        let (quota, fuel) = (quota(dir.path(), 1, 9), HostFuel::new(u64::MAX));
        let path = dir.path().join("a");
        let file = File::create(&path).unwrap();
        write(&mut quota.lock(&fuel).await, &file, 1 << 20, 0).unwrap();
        let read = Arc::new(File::open(&path).unwrap());
        QuotaGuard::to_read(&dir.path().join("below"), &fuel).await.unwrap().opened(&read);
        std::fs::remove_file(&path).unwrap();
        drop(file);
        let other = File::create(dir.path().join("b")).unwrap();
        quota.release();
        assert!(write(&mut quota.lock(&fuel).await, &other, 1, 0).is_err());
        drop(read);
        quota.release();
        write(&mut quota.lock(&fuel).await, &other, 1, 0).unwrap();
        assert!(QuotaGuard::to_read(Path::new("/usr"), &fuel).await.is_none());
    }
}
