//! Quotas: how much a guest may put below a granted directory. Neither WASI nor wasmtime-wasi has quotas.
//!
//! Each directory has one `QuotaUsage` behind a lock. Every operation that makes, grows, moves or deletes something
//! there holds that lock, and so does measuring. So no other call writes to a file between the check of its size and
//! the write, nothing moves while the directory is measured, and the count is exact. The count starts from a
//! measurement and only grows. When the quota seems used up, or the measurement is old, the directory is measured
//! again, and files deleted since then no longer count.

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

/// A measurement older than this is repeated before anything grows: other programs may have written to the directory.
const MAX_AGE: Duration = Duration::from_secs(30);

/// A measurement is not repeated sooner when the quota is used up and no release was reported.
const MIN_AGE: Duration = Duration::from_secs(1);

/// Bytes that a guest is charged for measuring one file.
const FILE_CHARGE: usize = 20_000;

/// Most bytes that a guest is charged for measuring a directory: one call is not to pay for all that others left there.
const MAX_SCAN_CHARGE: usize = 200_000_000;

/// Bytes that a guest is charged for measuring so many files.
fn scan_charge(files: u64) -> usize {
    FILE_CHARGE.saturating_mul(usize::try_from(files).unwrap_or(usize::MAX)).min(MAX_SCAN_CHARGE)
}

/// A change would exceed a quota.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuotaExceeded {
    /// Bytes.
    #[error("more than {0} MiB")]
    Bytes(u64),
    /// Files and directories.
    #[error("more than {0} files")]
    Files(u64),
    /// The quota of a directory around it, which is granted as well.
    #[error("more than the quota of {0:?} around it")]
    Around(PathBuf),
}

/// Why a file could not be changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    /// The quota.
    #[error(transparent)]
    Over(#[from] QuotaExceeded),
    /// The system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The quota of one grant.
#[derive(Debug)]
pub(crate) struct Quota {
    granted: Arc<DirQuota>,
    tree: Arc<QuotaTree>,
}

impl Quota {
    /// `None` for a directory that may not be written.
    pub(crate) fn of(grant: &DirGrant) -> Option<Arc<Self>> {
        let granted = Arc::new(grant.write?);
        Some(Arc::new(Self { tree: QuotaTree::granted(&grant.host, &granted), granted }))
    }

    /// The sizes that the operator granted.
    pub(crate) fn granted(&self) -> DirQuota {
        *self.granted
    }

    /// Notes that a file was closed, so measuring again may find less.
    pub(crate) fn release(&self) {
        self.tree.release();
    }

    /// Waits until no other change is under way.
    pub(crate) async fn lock(&self, fuel: &HostFuel) -> QuotaGuard {
        let mut locked = Vec::new();
        for (tree, quota) in self.tree.around() {
            locked.push(LockedTree::lock(tree, quota).await);
        }
        locked.push(LockedTree::lock(Arc::clone(&self.tree), self.granted()).await);
        QuotaGuard { locked, fuel: fuel.clone() }
    }
}

/// The locks for one change. Held until the change is done, also when its call has ended.
pub(crate) struct QuotaGuard {
    /// The directory, after those around it.
    locked: Vec<LockedTree>,
    fuel: HostFuel,
}

/// A directory whose count is locked, with the quota that applies.
struct LockedTree {
    tree: Arc<QuotaTree>,
    quota: DirQuota,
    usage: OwnedMutexGuard<QuotaUsage>,
}

impl QuotaGuard {
    /// For opening a file that may only be read: where another grant may write it, the file counts against that quota
    /// while it is open. `None` where no grant may write it.
    pub(crate) async fn lock_to_read(host: &Path, fuel: &HostFuel) -> Option<Self> {
        let mut locked = Vec::new();
        for tree in QuotaTree::touching(host) {
            if let Some(quota) = tree.largest_quota() {
                locked.push(LockedTree::lock(tree, quota).await);
            }
        }
        (!locked.is_empty()).then(|| Self { locked, fuel: fuel.clone() })
    }

    /// Changes one file. `after` computes its new length from its present one. Blocks.
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
        // Counted before the change: if the new length cannot be read afterwards, the change counts in full.
        self.count(more, 0);
        let done = act(before);
        // A change that failed may have happened in part.
        let now = file.metadata()?.len();
        self.count(rounded(now), 0);
        self.discount(counted, 0);
        Ok(done?)
    }

    /// Makes a file, a directory or another name for a file. Blocks.
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

    /// Notes that something was deleted or replaced, so measuring again may find less.
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
    async fn lock(tree: Arc<QuotaTree>, quota: DirQuota) -> Self {
        let usage = Arc::clone(&tree.usage).lock_owned().await;
        Self { tree, quota, usage }
    }

    fn check(&mut self, bytes: u64, files: u64, fuel: &HostFuel) -> Result<(), QuotaExceeded> {
        if bytes == 0 && files == 0 {
            return Ok(());
        }
        if self.usage.is_older_than(MAX_AGE) {
            // Due by its age, so the call that happens to come first is not charged.
            self.usage.measure(&self.tree, self.quota);
        }
        let may_have_shrunk = || self.tree.is_released() || self.usage.is_older_than(MIN_AGE);
        if self.exceeded(bytes, files).is_some() && may_have_shrunk() {
            let measured = self.usage.measure(&self.tree, self.quota);
            // The next charge fails if this was too much.
            let _ = fuel.charge_now(scan_charge(measured));
        }
        self.exceeded(bytes, files).map_or(Ok(()), Err)
    }

    fn exceeded(&self, bytes: u64, files: u64) -> Option<QuotaExceeded> {
        let (used, quota) = (self.usage.used, self.quota);
        if used.bytes.saturating_add(bytes) > mib(quota.mib) as u64 {
            return Some(QuotaExceeded::Bytes(quota.mib));
        }
        (used.files.saturating_add(files) > quota.files).then_some(QuotaExceeded::Files(quota.files))
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
    async fn files_are_counted_and_deleting_lowers_the_count() {
        let dir = tempfile::tempdir().unwrap();
        let quota = quota(dir.path(), 1, 2);
        let mut guard = quota.lock(&HostFuel::new(u64::MAX)).await;
        for name in ["a", "b"] {
            create(&mut guard, false).unwrap();
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(create(&mut guard, true), Err(QuotaExceeded::Files(2)));
        std::fs::remove_file(dir.path().join("a")).unwrap();
        assert_eq!(create(&mut guard, true), Err(QuotaExceeded::Files(2)), "no release was reported");
        quota.release();
        assert_eq!(create(&mut guard, true), Ok(()));
    }

    #[tokio::test]
    async fn a_call_pays_for_what_it_has_measured_and_not_for_the_clock() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..20 {
            std::fs::write(dir.path().join(n.to_string()), "x").unwrap();
        }
        let (quota, fuel) = (quota(dir.path(), 1, 20), HostFuel::new(u64::MAX));
        let mut guard = quota.lock(&fuel).await;
        for _ in 0..3 {
            assert_eq!(create(&mut guard, false), Err(QuotaExceeded::Files(20)));
            guard.locked[0].usage.measured_at = Instant::now().checked_sub(MAX_AGE);
        }
        assert_eq!(fuel.spent(), 0);
        guard.locked[0].usage.measured_at = Some(Instant::now());
        quota.release();
        assert_eq!(create(&mut guard, false), Err(QuotaExceeded::Files(20)));
        assert!(fuel.spent() > scan_charge(19) as u64 / 2, "{}", fuel.spent());
        assert_eq!(scan_charge(1_000_000), MAX_SCAN_CHARGE);
    }

    #[tokio::test]
    async fn a_deleted_file_counts_until_it_is_closed() {
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
    async fn plugins_with_one_directory_share_what_is_counted_and_each_has_its_own_quota() {
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
        QuotaGuard::lock_to_read(&dir.path().join("below"), &fuel).await.unwrap().opened(&read);
        std::fs::remove_file(&path).unwrap();
        drop(file);
        let other = File::create(dir.path().join("b")).unwrap();
        quota.release();
        assert!(write(&mut quota.lock(&fuel).await, &other, 1, 0).is_err());
        drop(read);
        quota.release();
        write(&mut quota.lock(&fuel).await, &other, 1, 0).unwrap();
        assert!(QuotaGuard::lock_to_read(Path::new("/usr"), &fuel).await.is_none());
    }
}
