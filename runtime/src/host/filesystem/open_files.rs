//! What one call has open, and what lies behind each handle: which grant it came from, and the place that it takes.
//!
//! A file is open until its descriptor and every stream on it are gone, so they share one place. Places come back by being
//! dropped, whichever of them goes last.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::component::Resource;
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::{Descriptor, Dir, OpenMode};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use crate::config::{DirGrant, Room, RootRefusal, RootsGrant};
use crate::sandbox::{OverQuota, Pinned, Quota, place_of};

/// Streams for each file: guests commonly have one to read and one to write.
const STREAMS: usize = 4;

/// What a granted directory means for everything below it.
#[derive(Debug)]
pub(crate) struct Reach {
    pub(super) host: PathBuf,
    pub(super) guest: String,
    /// What it may be filled with; `None` where nothing may be changed.
    pub(super) quota: Option<Arc<Quota>>,
    hidden: Vec<PathBuf>,
}

impl Reach {
    /// Of a grant.
    pub(crate) fn of(grant: &DirGrant) -> Arc<Self> {
        let DirGrant { host, guest, hidden, .. } = grant.clone();
        Arc::new(Self { host, guest, quota: Quota::of(grant), hidden })
    }

    /// Whether a guest may have this file open. Where something is hidden, what cannot be told is refused.
    pub(super) fn shows(&self, descriptor: &Descriptor) -> bool {
        if self.hidden.is_empty() {
            return true;
        }
        let file = match descriptor {
            Descriptor::File(file) => &file.file,
            Descriptor::Dir(dir) => &dir.dir,
        };
        let is_hidden = |place: &Path| self.hidden.iter().any(|hidden| place.starts_with(hidden));
        place_of(file).is_some_and(|place| !is_hidden(&place))
    }

    /// What the guest wanted, and the line that would allow it.
    pub(super) fn words(&self, over: &OverQuota) -> (String, String) {
        let Self { host, guest, .. } = self;
        let wanted = format!("{over} below {guest}");
        let Room { mib, files } = self.quota.as_ref().map_or(Room { mib: 0, files: 0 }, |quota| quota.room());
        let Room { mib, files } = match over {
            OverQuota::Bytes(_) => Room { mib: mib * 2, files },
            OverQuota::Files(_) => Room { mib, files: files * 2 },
            OverQuota::Around(outer) => {
                return (wanted, format!("a larger `quota_mib` or `files` where {outer:?} is granted"));
            }
        };
        let allow = format!(
            "dirs = [{{ host = {host:?}, guest = {guest:?}, write = true, quota_mib = {mib}, files = {files} }}]"
        );
        (wanted, allow)
    }
}

/// A folder of the client that the guest may read.
#[derive(Clone)]
pub(crate) struct NearRoot {
    pub(super) dir: Dir,
    pub(super) reach: Arc<Reach>,
}

impl NearRoot {
    /// Judges what a client names and opens it. Blocks.
    ///
    /// # Errors
    /// When the guest may not have it.
    pub(crate) fn open(grant: &RootsGrant, uri: &str) -> Result<Self, RootRefusal> {
        let grant = grant.admit(uri)?;
        let pinned = Pinned::open(&grant.host).map_err(|_| RootRefusal::NotAFolder)?;
        let file = std::fs::File::open(pinned.path()).map_err(|_| RootRefusal::NotAFolder)?;
        let dir = Dir::new(file, FsPerms::ReadOnly, OpenMode::READ, false);
        Ok(Self { dir, reach: Reach::of(&grant) })
    }
}

impl std::fmt::Debug for NearRoot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("NearRoot").field(&self.reach.host).finish()
    }
}

/// A place that an open file takes.
pub(super) type Place = Arc<OwnedSemaphorePermit>;

/// What is known of a descriptor.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    pub(super) reach: Arc<Reach>,
    /// A granted directory takes none: it is open anyway.
    _place: Option<Place>,
}

impl Opened {
    /// What was opened below one.
    pub(super) fn below(reach: Arc<Reach>, place: Place) -> Self {
        Self { reach, _place: Some(place) }
    }

    /// The granted directory itself.
    pub(super) fn granted(reach: &Arc<Reach>) -> Self {
        Self { reach: Arc::clone(reach), _place: None }
    }
}

/// The open files of one instance.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    files: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    granted: Vec<Arc<Reach>>,
    roots: Vec<NearRoot>,
    known: HashMap<u32, Opened>,
    full: bool,
}

impl OpenFiles {
    /// For an instance that may have `most` files open.
    pub(crate) fn new(most: u64, granted: &[Arc<Reach>]) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX >> 4);
        let (files, streams) = (Semaphore::new(most), Semaphore::new(most * STREAMS));
        let granted = granted.to_vec();
        Self {
            files: files.into(),
            streams: streams.into(),
            granted,
            roots: Vec::new(),
            known: HashMap::new(),
            full: false,
        }
    }

    /// The granted directories, in the order in which the guest is told of them.
    pub(super) fn reaches(&self) -> Vec<Arc<Reach>> {
        self.granted.clone()
    }

    /// Adds a folder of the client, unless something is granted under that path already.
    pub(crate) fn add_root(&mut self, root: NearRoot) {
        let mut others = self.granted.iter().chain(self.roots.iter().map(|root| &root.reach));
        if others.all(|other| other.guest != root.reach.guest) {
            self.roots.push(root);
        }
    }

    pub(super) fn roots(&self) -> Vec<NearRoot> {
        self.roots.clone()
    }

    /// A place for another file.
    pub(super) fn place(&self) -> Result<Place, ErrorCode> {
        place(&self.files)
    }

    /// A place for another stream on a file.
    pub(super) fn stream_place(&self) -> Result<Place, ErrorCode> {
        place(&self.streams)
    }

    /// Whether this is the first time that there is no place.
    pub(super) fn first_full(&mut self) -> bool {
        !std::mem::replace(&mut self.full, true)
    }

    /// For another call of the same instance: what is open stays open.
    pub(crate) fn begin_again(&mut self) {
        self.full = false;
    }

    pub(super) fn add(&mut self, fd: &Resource<Descriptor>, opened: Opened) {
        self.known.insert(fd.rep(), opened);
    }

    pub(super) fn get(&self, fd: &Resource<Descriptor>) -> Result<&Opened, ErrorCode> {
        self.known.get(&fd.rep()).ok_or(ErrorCode::BadDescriptor)
    }

    pub(super) fn remove(&mut self, fd: u32) -> Option<Opened> {
        self.known.remove(&fd)
    }
}

fn place(places: &Arc<Semaphore>) -> Result<Place, ErrorCode> {
    let place = Arc::clone(places).try_acquire_owned();
    place.map(Arc::new).map_err(|_| ErrorCode::InsufficientMemory)
}
