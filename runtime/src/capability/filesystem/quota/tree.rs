//! The directories that guests of this server may write, each once: plugins that are granted the same directory share
//! one `QuotaUsage`, whatever path it was granted by. A directory inside another granted one counts in both. Otherwise
//! a guest of the outer one could move out what a guest of the inner one writes, again and again.
//!
//! A change locks the usage of all directories that it counts in, outermost first, and so does measuring: nothing moves
//! below a directory while it is measured, whichever grant it is reached by.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::disk_usage::{DiskUsage, measure};
use crate::capability::filesystem::preopens::PinnedDir;
use crate::config::DirQuota;

/// All directories that guests may write now.
static TREES: Mutex<Vec<Weak<QuotaTree>>> = Mutex::new(Vec::new());

/// One directory with all below it.
#[derive(Debug)]
pub(super) struct QuotaTree {
    pub(super) root: PathBuf,
    /// Open, so that no other directory gets its inode number. `None`: it was gone when it was granted.
    dir: Option<File>,
    pub(super) usage: Arc<tokio::sync::Mutex<QuotaUsage>>,
    /// Whether something was deleted or closed since the last measurement.
    released: AtomicBool,
    /// The quota of each grant of it.
    quotas: Mutex<Vec<Weak<DirQuota>>>,
    /// The directories around it, by their paths and so from the outermost.
    around: Mutex<BTreeMap<PathBuf, Weak<Self>>>,
}

impl QuotaTree {
    /// The directory at this path, with one more grant of it.
    pub(super) fn granted(root: &Path, quota: &Arc<DirQuota>) -> Arc<Self> {
        let mut trees = TREES.lock();
        trees.retain(|tree| tree.strong_count() > 0);
        let dir = PinnedDir::open(root).ok().and_then(|pinned| pinned.dir().try_clone().ok());
        let live: Vec<_> = trees.iter().filter_map(Weak::upgrade).collect();
        let tree = live.iter().find(|tree| tree.root == root || tree.is_at(dir.as_ref())).cloned();
        let tree = tree.unwrap_or_else(|| {
            let tree = Arc::new(Self::new(root, dir));
            live.iter().for_each(|other| tree.note_nesting(other));
            trees.push(Arc::downgrade(&tree));
            tree
        });
        let mut quotas = tree.quotas.lock();
        quotas.retain(|quota| quota.strong_count() > 0);
        quotas.push(Arc::downgrade(quota));
        drop(quotas);
        tree
    }

    fn new(root: &Path, dir: Option<File>) -> Self {
        Self {
            root: root.to_owned(),
            dir,
            usage: Arc::default(),
            released: AtomicBool::new(false),
            quotas: Mutex::default(),
            around: Mutex::default(),
        }
    }

    /// Notes the outer of two directories at the inner one, if they are nested.
    fn note_nesting(self: &Arc<Self>, other: &Arc<Self>) {
        let (inner, outer) = match (self.root.starts_with(&other.root), other.root.starts_with(&self.root)) {
            (true, _) => (self, other),
            (_, true) => (other, self),
            _ => return,
        };
        inner.around.lock().insert(outer.root.clone(), Arc::downgrade(outer));
    }

    /// The directories that lie around this one, in it, or are it, in the order in which they are locked.
    pub(super) fn touching(host: &Path) -> Vec<Arc<Self>> {
        let mut trees: Vec<_> = TREES.lock().iter().filter_map(Weak::upgrade).collect();
        trees.retain(|tree| host.starts_with(&tree.root) || tree.root.starts_with(host));
        trees.sort_by(|one, other| one.root.cmp(&other.root));
        trees
    }

    /// The directories around it that some grant may write, in the order in which they are locked.
    pub(super) fn around(&self) -> Vec<(Arc<Self>, DirQuota)> {
        let around = self.around.lock();
        around
            .values()
            .filter_map(Weak::upgrade)
            .filter_map(|tree| Some((Arc::clone(&tree), tree.largest_quota()?)))
            .collect()
    }

    /// The largest sizes that any grant of it allows; `None` when no grant is left.
    pub(super) fn largest_quota(&self) -> Option<DirQuota> {
        let quotas = self.quotas.lock();
        let quotas = quotas.iter().filter_map(Weak::upgrade);
        quotas
            .map(|quota| *quota)
            .reduce(|one, other| DirQuota { mib: one.mib.max(other.mib), files: one.files.max(other.files) })
    }

    /// Notes that something was deleted or closed, so measuring again may find less.
    pub(super) fn release(&self) {
        self.released.store(true, Ordering::Relaxed);
        self.around.lock().values().filter_map(Weak::upgrade).for_each(|tree| {
            tree.released.store(true, Ordering::Relaxed);
        });
    }

    /// Whether something was deleted or closed since the last measurement.
    pub(super) fn is_released(&self) -> bool {
        self.released.load(Ordering::Relaxed)
    }

    fn is_at(&self, dir: Option<&File>) -> bool {
        let identity = |dir: &File| dir.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
        self.dir.as_ref().zip(dir).is_some_and(|(own, dir)| identity(own) == identity(dir))
    }

    /// Measures the granted directory and, if another directory has its path by now, that one too: new instances get
    /// it. Blocks.
    fn measure(&self, open: &[Arc<File>], max_files: u64) -> DiskUsage {
        let present = PinnedDir::open(&self.root);
        let by_path = present.as_ref().map(PinnedDir::dir).ok().filter(|dir| !self.is_at(Some(dir)));
        let roots: Vec<_> = self.dir.iter().chain(by_path).collect();
        let mut usage = measure(&roots, open, max_files);
        usage.complete &= present.is_ok();
        usage
    }
}

/// The count of one directory. Only a holder of its lock changes what lies there.
#[derive(Debug, Default)]
pub(super) struct QuotaUsage {
    pub(super) used: DiskUsage,
    pub(super) measured_at: Option<Instant>,
    /// Open files: a deleted one counts until it is closed.
    open: Vec<Weak<File>>,
}

impl QuotaUsage {
    /// Remembers a file that was opened.
    pub(super) fn opened(&mut self, file: &Arc<File>) {
        if self.open.len() == self.open.capacity() {
            self.open.retain(|file| file.strong_count() > 0);
        }
        self.open.push(Arc::downgrade(file));
    }

    /// Whether the last measurement is as old as `age`, or there was none.
    pub(super) fn is_older_than(&self, age: Duration) -> bool {
        self.measured_at.is_none_or(|at| at.elapsed() >= age)
    }

    /// Measures the directory. Returns how many files it has found.
    pub(super) fn measure(&mut self, tree: &QuotaTree, quota: DirQuota) -> u64 {
        tree.released.store(false, Ordering::Relaxed);
        let open: Vec<_> = self.open.iter().filter_map(Weak::upgrade).collect();
        let measured = tree.measure(&open, tree.largest_quota().unwrap_or(quota).files);
        // What was counted before may still lie where the measurement could not read.
        let before = if self.measured_at.is_some() { self.used } else { DiskUsage::FULL };
        self.used = if measured.complete { measured } else { measured.at_least(before) };
        self.measured_at = Some(Instant::now());
        measured.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(root: &Path, mib: u64) -> (Arc<QuotaTree>, Arc<DirQuota>) {
        let quota = Arc::new(DirQuota { mib, files: 10 });
        (QuotaTree::granted(root, &quota), quota)
    }

    #[test]
    fn a_directory_that_is_granted_twice_is_one_and_has_the_largest_quota() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (small, _quota) = granted(&root, 1);
        let (large, quota) = granted(&root, 2);
        assert!(Arc::ptr_eq(&small, &large));
        assert_eq!(small.largest_quota().unwrap().mib, 2);
        drop(quota);
        assert_eq!(small.largest_quota().unwrap().mib, 1);
        assert!(small.around().is_empty());
    }

    #[test]
    fn directories_know_those_around_them_whichever_was_granted_first() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::create_dir_all(root.join("ab")).unwrap();
        let middle = granted(&root.join("a"), 1);
        let inner = granted(&root.join("a/b"), 2);
        let outer = granted(&root, 3);
        let other = granted(&root.join("ab"), 4);
        let around = |tree: &QuotaTree| tree.around().iter().map(|(_, quota)| quota.mib).collect::<Vec<_>>();
        assert_eq!([&inner, &middle, &other].map(|(tree, _)| around(tree)), [vec![3, 1], vec![3], vec![3]]);
        assert!(around(&outer.0).is_empty());
        let touching = |path| {
            QuotaTree::touching(&root.join(path))
                .iter()
                .filter_map(|tree| tree.largest_quota())
                .map(|quota| quota.mib)
                .collect::<Vec<_>>()
        };
        assert_eq!(touching("a"), [3, 1, 2]);
        assert_eq!(touching("a/b/c"), [3, 1, 2]);
        assert_eq!(touching("x"), [3]);
    }

    #[test]
    fn a_directory_that_was_moved_is_measured_with_the_one_in_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("d");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("a"), "a").unwrap();
        let (tree, quota) = granted(&root, 1);
        let mut usage = QuotaUsage::default();
        usage.measure(&tree, *quota);
        assert_eq!(usage.used.files, 1);
        std::fs::rename(&root, root.with_file_name("elsewhere")).unwrap();
        usage.measure(&tree, *quota);
        assert_eq!(usage.used.files, 1, "what is not found is not given back");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("b"), "b").unwrap();
        usage.measure(&tree, *quota);
        assert_eq!(usage.used.files, 2);
    }
}
