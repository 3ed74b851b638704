//! Opening a file. Only a file that is made costs room, so what is there already is opened without making anything.
//!
//! All of it happens on one thread in one turn, to its end, also when its call has gone: a file that is open counts until it
//! is closed, so there is no moment in which it is open and nobody knows.

use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorType, ErrorCode, HostDescriptor, OpenFlags, PathFlags,
};

use super::State;
use super::descriptor::refused;
use super::library::library;
use super::open_files::{Opened, Reach};
use crate::sandbox::{OverQuota, Turn};

type Fd = Resource<Descriptor>;

/// What was done, unless there was no room for it.
type Done<T> = Result<FsResult<T>, OverQuota>;

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

    fn has(&self, flag: OpenFlags) -> bool {
        self.how.contains(flag)
    }

    /// Opens it, and makes it first if that is wanted and there is room.
    fn open_in(&self, dir: &Descriptor, turn: &mut Turn) -> Done<Descriptor> {
        let creates = self.has(OpenFlags::CREATE);
        if self.has(OpenFlags::DIRECTORY)
            && self.how.intersects(OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE)
        {
            return Ok(Err(ErrorCode::Invalid.into()));
        }
        if !(creates && self.has(OpenFlags::EXCLUSIVE)) {
            match self.only_open().open_what_is_there(dir) {
                Err(error) if creates && matches!(error.downcast_ref(), Some(ErrorCode::NoEntry)) => {}
                outcome => return Ok(outcome),
            }
        }
        let made = Self { how: self.how & (OpenFlags::CREATE | OpenFlags::EXCLUSIVE), ..self.clone() };
        turn.make(false, || made.pass(dir))
    }

    /// Opens what is there. A pipe would keep a thread waiting for its other end, and a device is not a file.
    fn open_what_is_there(self, dir: &Descriptor) -> FsResult<Descriptor> {
        use DescriptorType::{Directory, RegularFile, SymbolicLink};
        let (follow, path) = (self.follow, self.path.clone());
        let about =
            library([dir], async |library, [dir]| HostDescriptor::stat_at(library, dir, follow, path).await);
        match about {
            Ok(about) if !matches!(about.type_, RegularFile | Directory | SymbolicLink) => {
                Err(ErrorCode::Unsupported.into())
            }
            _ => self.pass(dir),
        }
    }

    fn pass(self, dir: &Descriptor) -> FsResult<Descriptor> {
        let Self { follow, path, how, flags } = self;
        library([dir], async |library, [dir]| {
            let opened = HostDescriptor::open_at(library, dir, follow, path, how, flags).await?;
            Ok(library.table.delete(opened)?)
        })
    }
}

/// Opens a file below a grant. Blocks.
fn open(reach: &Reach, dir: &Descriptor, wanted: Wanted, turn: Option<Turn>) -> Done<Descriptor> {
    let empties = wanted.has(OpenFlags::TRUNCATE);
    let (opened, turn) = match (turn, &reach.quota) {
        (Some(mut turn), Some(_)) => (wanted.open_in(dir, &mut turn)?, Some(turn)),
        // The library refuses what would change something.
        (turn, _) => (wanted.open_what_is_there(dir), turn),
    };
    let opened = match opened {
        Ok(opened) if reach.shows(&opened) => opened,
        Ok(_) => return Ok(Err(ErrorCode::NotPermitted.into())),
        Err(error) => return Ok(Err(error)),
    };
    if let (Some(mut turn), Descriptor::File(file)) = (turn, &opened) {
        turn.opened(&file.file);
        if empties && let Err(error) = turn.change(&file.file, |_| 0, |_| file.file.set_len(0)) {
            return Ok(Err(refused(error)));
        }
    }
    Ok(Ok(opened))
}

impl State {
    /// Opens a file, and makes it first if that is wanted and there is room.
    pub(super) async fn open(&mut self, fd: Fd, wanted: Wanted) -> FsResult<Fd> {
        let reach = Arc::clone(&self.files.get(&fd)?.reach);
        let place = self.place()?;
        self.meter.note_call();
        let dir = self.table.get(&fd)?.clone();
        let thread = self.shared.file_work.thread().await?;
        let turn = match &reach.quota {
            Some(quota) => Some(quota.turn(&self.meter).await),
            None => Turn::to_read(&reach.host, &self.meter).await,
        };
        let below = Arc::clone(&reach);
        let opened = thread.run(move || open(&below, &dir, wanted, turn)).await?;
        let opened = self.had_room(&reach, opened)?;
        let opened = self.table.push(opened)?;
        self.files.add(&opened, Opened::below(reach, place));
        Ok(opened)
    }

    /// Changes what lies below a grant, in its turn. The turn ends when it is done, also when its call has gone.
    pub(super) async fn change<T: Send + 'static, const N: usize>(
        &mut self,
        fds: [&Fd; N],
        act: impl FnOnce(&mut Turn, [&Descriptor; N]) -> Done<T> + Send + 'static,
    ) -> FsResult<T> {
        self.meter.note_call();
        let reach = self.one_grant(fds)?;
        let quota = reach.quota.as_ref().ok_or(ErrorCode::NotPermitted)?;
        let mut on = Vec::with_capacity(N);
        for fd in fds {
            on.push(self.table.get(fd)?.clone());
        }
        let on = <[Descriptor; N]>::try_from(on).map_err(|_| ErrorCode::BadDescriptor)?;
        let thread = self.shared.file_work.thread().await?;
        let mut turn = quota.turn(&self.meter).await;
        let done = thread.run(move || act(&mut turn, on.each_ref())).await?;
        self.had_room(&reach, done)
    }

    fn had_room<T>(&mut self, reach: &Reach, done: Done<T>) -> FsResult<T> {
        done.unwrap_or_else(|over| {
            let (wanted, allow) = reach.words(&over);
            self.deny(&wanted, &allow);
            Err(ErrorCode::Quota.into())
        })
    }

    /// The grant that all lie below. A file does not go from one to another, as from one disk to another.
    fn one_grant<const N: usize>(&self, fds: [&Fd; N]) -> FsResult<Arc<Reach>> {
        let mut reaches = Vec::with_capacity(N);
        for fd in fds {
            reaches.push(&self.files.get(fd)?.reach);
        }
        if reaches.iter().any(|reach| reach.quota.is_none()) {
            return Err(ErrorCode::NotPermitted.into());
        }
        match reaches.as_slice() {
            [first, others @ ..] if others.iter().all(|other| Arc::ptr_eq(first, other)) => {
                Ok(Arc::clone(first))
            }
            _ => Err(ErrorCode::CrossDevice.into()),
        }
    }
}
