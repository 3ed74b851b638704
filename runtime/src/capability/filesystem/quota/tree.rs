//! The directories that guests of this server may write, each once: plugins that are granted the same one share one
//! `QuotaUsage`, whatever the path that it was granted by. A directory inside another one that is granted as well counts in both,
//! or a guest of the outer one could carry out what a guest of the inner one writes, again and again.
//!
//! Changes lock the usage of all directories that they count in, outermost first, and so does measuring: nothing moves
//! below a directory while it is measured, whichever grant it is reached by.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::disk_usage::{DiskUsage, measure};
use crate::capability::filesystem::preopens::PinnedDir;
use crate::config::DirQuota;

/// All that guests may write now.
static TREES: Mutex<Vec<Weak<QuotaTree>>> = Mutex::new(Vec::new());

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One directory with all below it.
#[derive(Debug)]
pub(super) struct QuotaTree {
    pub(super) root: PathBuf,
    /// Kept open, so that no other directory gets its number. `None`: it had gone when it was granted.
    dir: Option<File>,
    pub(super) usage: Arc<tokio::sync::Mutex<QuotaUsage>>,
    released: AtomicBool,
    /// What each grant of it allows.
    rooms: Mutex<Vec<Weak<DirQuota>>>,
    /// Those around it, by their paths and so from the outermost.
    around: Mutex<BTreeMap<PathBuf, Weak<Self>>>,
}

impl QuotaTree {
    /// The directory at this path, with another grant of it.
    pub(super) fn granted(root: &Path, room: &Arc<DirQuota>) -> Arc<Self> {
        let mut trees = lock(&TREES);
        trees.retain(|tree| tree.strong_count() > 0);
        let dir = PinnedDir::open(root).ok().and_then(|pinned| pinned.dir().try_clone().ok());
        let live: Vec<_> = trees.iter().filter_map(Weak::upgrade).collect();
        let tree = live.iter().find(|tree| tree.root == root || tree.is_at(dir.as_ref())).cloned();
        let tree = tree.unwrap_or_else(|| {
            let tree = Arc::new(Self::new(root, dir));
            live.iter().for_each(|other| tree.note_beside(other));
            trees.push(Arc::downgrade(&tree));
            tree
        });
        let mut rooms = lock(&tree.rooms);
        rooms.retain(|room| room.strong_count() > 0);
        rooms.push(Arc::downgrade(room));
        drop(rooms);
        tree
    }

    fn new(root: &Path, dir: Option<File>) -> Self {
        Self {
            root: root.to_owned(),
            dir,
            usage: Arc::default(),
            released: AtomicBool::new(false),
            rooms: Mutex::default(),
            around: Mutex::default(),
        }
    }

    fn note_beside(self: &Arc<Self>, other: &Arc<Self>) {
        let (inner, outer) = match (self.root.starts_with(&other.root), other.root.starts_with(&self.root)) {
            (true, _) => (self, other),
            (_, true) => (other, self),
            _ => return,
        };
        lock(&inner.around).insert(outer.root.clone(), Arc::downgrade(outer));
    }

    /// Those that lie around this directory, in it, or are it, in the order in which they are locked.
    pub(super) fn touching(host: &Path) -> Vec<Arc<Self>> {
        let mut found: Vec<_> = lock(&TREES).iter().filter_map(Weak::upgrade).collect();
        found.retain(|tree| host.starts_with(&tree.root) || tree.root.starts_with(host));
        found.sort_by(|one, other| one.root.cmp(&other.root));
        found
    }

    /// Those around it that somebody may write, in the order in which they are locked.
    pub(super) fn around(&self) -> Vec<(Arc<Self>, DirQuota)> {
        let around = lock(&self.around);
        around
            .values()
            .filter_map(Weak::upgrade)
            .filter_map(|tree| Some((Arc::clone(&tree), tree.room()?)))
            .collect()
    }

    /// The most that any grant of it allows.
    pub(super) fn room(&self) -> Option<DirQuota> {
        let rooms = lock(&self.rooms);
        let rooms = rooms.iter().filter_map(Weak::upgrade);
        rooms
            .map(|room| *room)
            .reduce(|one, other| DirQuota { mib: one.mib.max(other.mib), files: one.files.max(other.files) })
    }

    /// Something was deleted, or closed: it may be worth measuring again.
    pub(super) fn release(&self) {
        self.released.store(true, Ordering::Relaxed);
        lock(&self.around).values().filter_map(Weak::upgrade).for_each(|tree| {
            tree.released.store(true, Ordering::Relaxed);
        });
    }

    /// Whether that was said since it was last measured.
    pub(super) fn is_released(&self) -> bool {
        self.released.load(Ordering::Relaxed)
    }

    fn is_at(&self, dir: Option<&File>) -> bool {
        let identity = |dir: &File| dir.metadata().ok().map(|about| (about.dev(), about.ino()));
        self.dir.as_ref().zip(dir).is_some_and(|(own, dir)| identity(own) == identity(dir))
    }

    /// Looks at all that lies there: in the directory that was granted, and in the one that has its path by now, which
    /// is what new instances get. Blocks.
    fn measure(&self, open: &[Arc<File>], most: u64) -> DiskUsage {
        let now = PinnedDir::open(&self.root);
        let by_path = now.as_ref().map(PinnedDir::dir).ok().filter(|dir| !self.is_at(Some(dir)));
        let roots: Vec<_> = self.dir.iter().chain(by_path).collect();
        let mut found = measure(&roots, open, most);
        found.complete &= now.is_ok();
        found
    }
}

/// What is counted for one directory. Whoever has it may change what lies there, and nobody else may.
#[derive(Debug, Default)]
pub(super) struct QuotaUsage {
    pub(super) used: DiskUsage,
    pub(super) at: Option<Instant>,
    /// Files that are open: one that is deleted takes room until it is closed.
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

    /// Whether it was measured that long ago, or never.
    pub(super) fn is_older_than(&self, age: Duration) -> bool {
        self.at.is_none_or(|at| at.elapsed() >= age)
    }

    /// Measures the directory, and says at how many files it looked.
    pub(super) fn measure(&mut self, tree: &QuotaTree, room: DirQuota) -> u64 {
        tree.released.store(false, Ordering::Relaxed);
        let open: Vec<_> = self.open.iter().filter_map(Weak::upgrade).collect();
        let found = tree.measure(&open, tree.room().unwrap_or(room).files);
        // Where it could not look, what was counted before may still be.
        let known = if self.at.is_some() { self.used } else { DiskUsage::FULL };
        self.used = if found.complete { found } else { found.at_least(known) };
        self.at = Some(Instant::now());
        found.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(root: &Path, mib: u64) -> (Arc<QuotaTree>, Arc<DirQuota>) {
        let room = Arc::new(DirQuota { mib, files: 10 });
        (QuotaTree::granted(root, &room), room)
    }

    #[test]
    fn a_directory_that_is_granted_twice_is_one_and_has_the_largest_room() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (small, _room) = granted(&root, 1);
        let (large, room) = granted(&root, 2);
        assert!(Arc::ptr_eq(&small, &large));
        assert_eq!(small.room().unwrap().mib, 2);
        drop(room);
        assert_eq!(small.room().unwrap().mib, 1);
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
        let around = |tree: &QuotaTree| tree.around().iter().map(|(_, room)| room.mib).collect::<Vec<_>>();
        assert_eq!([&inner, &middle, &other].map(|(tree, _)| around(tree)), [vec![3, 1], vec![3], vec![3]]);
        assert!(around(&outer.0).is_empty());
        let touching = |path| {
            QuotaTree::touching(&root.join(path))
                .iter()
                .filter_map(|tree| tree.room())
                .map(|room| room.mib)
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
        let (tree, room) = granted(&root, 1);
        let mut usage = QuotaUsage::default();
        usage.measure(&tree, *room);
        assert_eq!(usage.used.files, 1);
        std::fs::rename(&root, root.with_file_name("elsewhere")).unwrap();
        usage.measure(&tree, *room);
        assert_eq!(usage.used.files, 1, "what is not found is not given back");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("b"), "b").unwrap();
        usage.measure(&tree, *room);
        assert_eq!(usage.used.files, 2);
    }
}
