//! Opening a file. Only a file that is made costs room, so what is there already is opened without making anything.

use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorType, ErrorCode, HostDescriptor, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{FsError, FsResult};

use super::growing::words;
use super::open_files::Opened;
use super::{State, blocking};
use crate::sandbox::{Quota, Turn};

type Fd = Resource<Descriptor>;

/// What is to be opened, and how.
#[derive(Clone)]
pub(super) struct Wanted {
    pub(super) follow: PathFlags,
    pub(super) path: String,
    pub(super) how: OpenFlags,
    pub(super) flags: DescriptorFlags,
}

impl Wanted {
    /// The same without making or emptying anything.
    fn only_open(&self) -> Self {
        let mut plain = self.clone();
        if self.how.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE) {
            // Either implies writing; what was not asked to be written would be readable.
            if !self.flags.contains(DescriptorFlags::WRITE) {
                plain.flags |= DescriptorFlags::READ;
            }
            plain.flags |= DescriptorFlags::WRITE;
        }
        plain.how = self.how & OpenFlags::DIRECTORY;
        plain
    }
}

impl State {
    /// Opens a file, and makes it first if that is wanted and there is room.
    pub(super) async fn open(&mut self, fd: Fd, wanted: Wanted) -> FsResult<Fd> {
        let reach = Arc::clone(&self.files.get(&fd)?.reach);
        let place = self.place()?;
        let (opened, turn) = match &reach.quota {
            // The library refuses what would change something.
            None => (self.open_as(&fd, wanted.clone()).await?, None),
            Some(quota) => {
                let turn = quota.turn(&self.meter).await;
                let (opened, turn) = self.open_writable(&fd, &wanted, turn).await?;
                (opened, Some(turn))
            }
        };
        let descriptor = self.table.get(&opened)?;
        if !reach.shows(descriptor) {
            self.table.delete(opened)?;
            return Err(ErrorCode::NotPermitted.into());
        }
        if let (Some(mut turn), Descriptor::File(file)) = (turn, descriptor) {
            turn.opened(&file.file);
        }
        self.files.add(&opened, Opened::below(reach, place));
        if wanted.how.contains(OpenFlags::TRUNCATE) {
            self.emptied(&opened).await?;
        }
        Ok(opened)
    }

    async fn open_writable(&mut self, fd: &Fd, wanted: &Wanted, mut turn: Turn) -> FsResult<(Fd, Turn)> {
        let creates = wanted.how.contains(OpenFlags::CREATE);
        if wanted.how.contains(OpenFlags::DIRECTORY)
            && wanted.how.intersects(OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE)
        {
            return Err(ErrorCode::Invalid.into());
        }
        if !(creates && wanted.how.contains(OpenFlags::EXCLUSIVE)) {
            match self.open_as(fd, wanted.only_open()).await {
                Err(error) if creates && matches!(error.downcast_ref(), Some(ErrorCode::NoEntry)) => {}
                outcome => return outcome.map(|opened| (opened, turn)),
            }
        }
        turn = self.counted(fd, turn, false).await?;
        let mut made = wanted.clone();
        made.how = wanted.how & (OpenFlags::CREATE | OpenFlags::EXCLUSIVE);
        let opened = self.pass_open(fd, made).await;
        if opened.is_err() {
            turn.not_created(false);
        }
        opened.map(|opened| (opened, turn))
    }

    /// Opens what is there. A pipe would keep a thread waiting for its other end, and a device is not a file.
    async fn open_as(&mut self, fd: &Fd, wanted: Wanted) -> FsResult<Fd> {
        let (follow, path) = (wanted.follow, wanted.path.clone());
        let about = HostDescriptor::stat_at(&mut self.filesystem(), borrowed(fd), follow, path).await;
        let plain = |kind| {
            use DescriptorType::{Directory, RegularFile, SymbolicLink};
            matches!(kind, RegularFile | Directory | SymbolicLink)
        };
        match about {
            Ok(about) if !plain(about.type_) => Err(ErrorCode::Unsupported.into()),
            _ => self.pass_open(fd, wanted).await,
        }
    }

    async fn pass_open(&mut self, fd: &Fd, wanted: Wanted) -> FsResult<Fd> {
        let Wanted { follow, path, how, flags } = wanted;
        HostDescriptor::open_at(&mut self.filesystem(), borrowed(fd), follow, path, how, flags).await
    }

    /// Empties a file that was opened for that.
    async fn emptied(&mut self, fd: &Fd) -> FsResult<()> {
        let target = self.target(fd)?;
        if let Err(error) = target.set_size(0).await {
            HostDescriptor::drop(self, Resource::new_own(fd.rep())).map_err(FsError::trap)?;
            return Err(super::descriptor::refused(error));
        }
        Ok(())
    }

    /// Counts something that is about to be made below a grant.
    pub(super) async fn counted(&mut self, fd: &Fd, mut turn: Turn, directory: bool) -> FsResult<Turn> {
        let (counted, turn) = blocking(move || (turn.create(directory), turn)).await?;
        if let Err(over) = counted {
            let (wanted, allow) = words(&self.files.get(fd)?.reach, over);
            self.deny(&wanted, &allow);
            return Err(ErrorCode::Quota.into());
        }
        Ok(turn)
    }

    /// The quota of the grant that both lie below. A file does not go from one to another, as from one disk to another.
    pub(super) fn one_grant(&self, one: &Fd, other: &Fd) -> FsResult<Option<Arc<Quota>>> {
        let (one, other) = (&self.files.get(one)?.reach, &self.files.get(other)?.reach);
        match (&one.quota, &other.quota) {
            (Some(quota), Some(_)) if Arc::ptr_eq(one, other) => Ok(Some(Arc::clone(quota))),
            (Some(_), Some(_)) => Err(ErrorCode::CrossDevice.into()),
            _ => Ok(None),
        }
    }
}

/// The same descriptor for a function that takes it.
fn borrowed(fd: &Fd) -> Fd {
    Resource::new_borrow(fd.rep())
}
