//! The files that one instance has open: for each handle, the grant that it came from and the permit that it holds.
//!
//! A file is open until its descriptor and every stream on it are dropped, so they share one permit. The last of them
//! gives the permit back.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::component::Resource;
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::{Descriptor, Dir, OpenMode};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use crate::capability::filesystem::preopens::{PinnedDir, path_of};
use crate::capability::filesystem::quota::{Quota, QuotaExceeded};
use crate::config::{DirGrant, DirQuota};

/// Streams for each file: guests commonly have one to read and one to write.
const STREAMS: usize = 4;

/// What a granted directory means for everything below it.
#[derive(Debug)]
pub(crate) struct GrantedDir {
    pub(super) host: PathBuf,
    pub(super) guest: String,
    /// Its quota; `None` where the guest may change nothing.
    pub(super) quota: Option<Arc<Quota>>,
    hidden: Vec<PathBuf>,
}

impl GrantedDir {
    /// The directory of a grant.
    pub(crate) fn from_grant(grant: &DirGrant) -> Arc<Self> {
        let DirGrant { host, guest, hidden, .. } = grant.clone();
        Arc::new(Self { host, guest, quota: Quota::of(grant), hidden })
    }

    /// Whether the guest may open this file. Below a directory with hidden paths, a file whose path is unknown is
    /// denied.
    pub(super) fn may_open(&self, descriptor: &Descriptor) -> bool {
        if self.hidden.is_empty() {
            return true;
        }
        let file = match descriptor {
            Descriptor::File(file) => &file.file,
            Descriptor::Dir(dir) => &dir.dir,
        };
        let is_hidden = |path: &Path| self.hidden.iter().any(|hidden| path.starts_with(hidden));
        path_of(file).is_some_and(|path| !is_hidden(&path))
    }

    /// What the guest requested, and the line that would allow it.
    pub(super) fn quota_hint(&self, exceeded: &QuotaExceeded) -> (String, String) {
        let Self { host, guest, .. } = self;
        let requested = format!("{exceeded} below {guest}");
        let DirQuota { mib, files } =
            self.quota.as_ref().map_or(DirQuota { mib: 0, files: 0 }, |quota| quota.granted());
        let DirQuota { mib, files } = match exceeded {
            QuotaExceeded::Bytes(_) => DirQuota { mib: mib * 2, files },
            QuotaExceeded::Files(_) => DirQuota { mib, files: files * 2 },
            QuotaExceeded::Around(outer) => {
                return (requested, format!("a larger `quota_mib` or `files` where {outer:?} is granted"));
            }
        };
        let line = format!(
            "dirs = [{{ host = {host:?}, guest = {guest:?}, write = true, quota_mib = {mib}, files = {files} }}]"
        );
        (requested, line)
    }
}

/// A folder of the client that the guest may read.
#[derive(Clone)]
pub(crate) struct LocalRoot {
    pub(super) dir: Dir,
    pub(super) granted_dir: Arc<GrantedDir>,
}

impl LocalRoot {
    /// Opens a folder that the grant `roots` allows. Blocks.
    ///
    /// # Errors
    /// When it is gone, or a link leads elsewhere.
    pub(crate) fn open(grant: &DirGrant) -> io::Result<Self> {
        let pinned = PinnedDir::open(&grant.host)?;
        let dir = Dir::new(File::open(pinned.path())?, FsPerms::ReadOnly, OpenMode::READ, false);
        Ok(Self { dir, granted_dir: GrantedDir::from_grant(grant) })
    }
}

impl std::fmt::Debug for LocalRoot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LocalRoot").field(&self.granted_dir.host).finish()
    }
}

/// The permit for an open file or stream.
pub(super) type FilePermit = Arc<OwnedSemaphorePermit>;

/// The grant and the permit of a descriptor.
#[derive(Debug, Clone)]
pub(super) struct OpenDescriptor {
    pub(super) granted_dir: Arc<GrantedDir>,
    /// `None` for a granted directory, which is open anyway.
    _permit: Option<FilePermit>,
}

impl OpenDescriptor {
    /// A file or directory that was opened below a granted directory.
    pub(super) fn below(granted_dir: Arc<GrantedDir>, permit: FilePermit) -> Self {
        Self { granted_dir, _permit: Some(permit) }
    }

    /// The granted directory itself.
    pub(super) fn granted(granted_dir: &Arc<GrantedDir>) -> Self {
        Self { granted_dir: Arc::clone(granted_dir), _permit: None }
    }
}

/// The open files of one instance.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    /// How many files may be open.
    max: usize,
    /// Made with the first permit: most calls open no file.
    permits: OnceLock<FilePermits>,
    granted: Vec<Arc<GrantedDir>>,
    roots: Vec<LocalRoot>,
    descriptors: HashMap<u32, OpenDescriptor>,
    /// Whether this call ran out of permits.
    is_full: bool,
}

#[derive(Debug)]
struct FilePermits {
    files: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

impl OpenFiles {
    /// For an instance that may have `max` files open.
    pub(crate) fn new(max: u64, granted: &[Arc<GrantedDir>]) -> Self {
        Self {
            max: usize::try_from(max).unwrap_or(usize::MAX >> 4),
            permits: OnceLock::new(),
            granted: granted.to_vec(),
            roots: Vec::new(),
            descriptors: HashMap::new(),
            is_full: false,
        }
    }

    /// The granted directories, in the order in which the guest is told of them.
    pub(super) fn granted_dirs(&self) -> Vec<Arc<GrantedDir>> {
        self.granted.clone()
    }

    /// Adds a folder of the client, unless a directory is granted under its guest path already.
    pub(crate) fn add_root(&mut self, root: LocalRoot) {
        let mut others = self.granted.iter().chain(self.roots.iter().map(|root| &root.granted_dir));
        if others.all(|other| other.guest != root.granted_dir.guest) {
            self.roots.push(root);
        }
    }

    pub(super) fn roots(&self) -> Vec<LocalRoot> {
        self.roots.clone()
    }

    fn permits(&self) -> &FilePermits {
        self.permits.get_or_init(|| FilePermits {
            files: Arc::new(Semaphore::new(self.max)),
            streams: Arc::new(Semaphore::new(self.max * STREAMS)),
        })
    }

    /// A permit for another open file.
    pub(super) fn file_permit(&self) -> Result<FilePermit, ErrorCode> {
        acquire(&self.permits().files)
    }

    /// A permit for another stream on a file.
    pub(super) fn stream_permit(&self) -> Result<FilePermit, ErrorCode> {
        acquire(&self.permits().streams)
    }

    /// Notes that the call ran out of permits. `true` the first time.
    pub(super) fn first_full(&mut self) -> bool {
        !std::mem::replace(&mut self.is_full, true)
    }

    /// For another call of the same instance: open files stay open.
    pub(crate) fn reset_for_next_call(&mut self) {
        self.is_full = false;
    }

    pub(super) fn add(&mut self, fd: &Resource<Descriptor>, opened: OpenDescriptor) {
        self.descriptors.insert(fd.rep(), opened);
    }

    pub(super) fn get(&self, fd: &Resource<Descriptor>) -> Result<&OpenDescriptor, ErrorCode> {
        self.descriptors.get(&fd.rep()).ok_or(ErrorCode::BadDescriptor)
    }

    pub(super) fn remove(&mut self, fd: u32) -> Option<OpenDescriptor> {
        self.descriptors.remove(&fd)
    }
}

fn acquire(permits: &Arc<Semaphore>) -> Result<FilePermit, ErrorCode> {
    let permit = Arc::clone(permits).try_acquire_owned();
    permit.map(Arc::new).map_err(|_| ErrorCode::InsufficientMemory)
}
