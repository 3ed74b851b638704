//! Opening a file. Only a file that is made costs room, so what is there already is opened without making anything.
//!
//! All of it happens on one thread in one turn, to its end, also when its call has gone: a file that is open counts
//! until it is closed, so there is no moment in which it is open and nobody knows.

use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorType, ErrorCode, HostDescriptor, OpenFlags, PathFlags,
};

use super::open_files::{GrantedDir, OpenDescriptor};
use super::wasi_blocking::run_wasi;
use super::{InstanceCtx, to_fs_error};
use crate::capability::filesystem::quota::{QuotaExceeded, QuotaGuard};

type Fd = Resource<Descriptor>;

/// What was done, unless there was no room for it.
type QuotaResult<T> = Result<FsResult<T>, QuotaExceeded>;

/// What is to be opened, and how.
#[derive(Clone)]
pub(super) struct OpenRequest {
    pub(super) follow: PathFlags,
    pub(super) path: String,
    pub(super) how: OpenFlags,
    pub(super) flags: DescriptorFlags,
}

impl OpenRequest {
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
    fn open_in(&self, dir: &Descriptor, turn: &mut QuotaGuard) -> QuotaResult<Descriptor> {
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
            run_wasi([dir], async |view, [dir]| HostDescriptor::stat_at(view, dir, follow, path).await);
        match about {
            Ok(about) if !matches!(about.type_, RegularFile | Directory | SymbolicLink) => {
                Err(ErrorCode::Unsupported.into())
            }
            _ => self.pass(dir),
        }
    }

    fn pass(self, dir: &Descriptor) -> FsResult<Descriptor> {
        let Self { follow, path, how, flags } = self;
        run_wasi([dir], async |view, [dir]| {
            let opened = HostDescriptor::open_at(view, dir, follow, path, how, flags).await?;
            Ok(view.table.delete(opened)?)
        })
    }
}

/// Opens a file below a grant. Blocks.
fn open(
    granted_dir: &GrantedDir,
    dir: &Descriptor,
    wanted: OpenRequest,
    turn: Option<QuotaGuard>,
) -> QuotaResult<Descriptor> {
    let empties = wanted.has(OpenFlags::TRUNCATE);
    let (opened, turn) = match (turn, &granted_dir.quota) {
        (Some(mut turn), Some(_)) => (wanted.open_in(dir, &mut turn)?, Some(turn)),
        // The library refuses what would change something.
        (turn, _) => (wanted.open_what_is_there(dir), turn),
    };
    let opened = match opened {
        Ok(opened) if granted_dir.may_open(&opened) => opened,
        Ok(_) => return Ok(Err(ErrorCode::NotPermitted.into())),
        Err(error) => return Ok(Err(error)),
    };
    if let (Some(mut turn), Descriptor::File(file)) = (turn, &opened) {
        turn.opened(&file.file);
        if empties && let Err(error) = turn.change(&file.file, |_| 0, |_| file.file.set_len(0)) {
            return Ok(Err(to_fs_error(error)));
        }
    }
    Ok(Ok(opened))
}

impl InstanceCtx {
    /// Opens a file, and makes it first if that is wanted and there is room.
    pub(super) async fn open(&mut self, fd: Fd, wanted: OpenRequest) -> FsResult<Fd> {
        let granted_dir = Arc::clone(&self.capabilities.filesystem.get(&fd)?.granted_dir);
        let permit = self.file_permit()?;
        self.meter.charge_call();
        let dir = self.table.get(&fd)?.clone();
        let thread = self.plugin.capabilities.filesystem.io.thread().await?;
        let turn = match &granted_dir.quota {
            Some(quota) => Some(quota.lock(&self.meter).await),
            None => QuotaGuard::to_read(&granted_dir.host, &self.meter).await,
        };
        let below = Arc::clone(&granted_dir);
        let opened = thread.run(move || open(&below, &dir, wanted, turn)).await?;
        let opened = self.had_room(&granted_dir, opened)?;
        let opened = self.table.push(opened)?;
        self.capabilities.filesystem.add(&opened, OpenDescriptor::below(granted_dir, permit));
        Ok(opened)
    }

    /// Changes what lies below a grant, in its turn. The turn ends when it is done, also when its call has gone.
    pub(super) async fn change<T: Send + 'static, const N: usize>(
        &mut self,
        fds: [&Fd; N],
        act: impl FnOnce(&mut QuotaGuard, [&Descriptor; N]) -> QuotaResult<T> + Send + 'static,
    ) -> FsResult<T> {
        self.meter.charge_call();
        let granted_dir = self.one_grant(fds)?;
        let quota = granted_dir.quota.as_ref().ok_or(ErrorCode::NotPermitted)?;
        let mut on = Vec::with_capacity(N);
        for fd in fds {
            on.push(self.table.get(fd)?.clone());
        }
        let on = <[Descriptor; N]>::try_from(on).map_err(|_| ErrorCode::BadDescriptor)?;
        let thread = self.plugin.capabilities.filesystem.io.thread().await?;
        let mut turn = quota.lock(&self.meter).await;
        let done = thread.run(move || act(&mut turn, on.each_ref())).await?;
        self.had_room(&granted_dir, done)
    }

    fn had_room<T>(&mut self, granted_dir: &GrantedDir, done: QuotaResult<T>) -> FsResult<T> {
        done.unwrap_or_else(|over| {
            let (wanted, allow) = granted_dir.quota_hint(&over);
            self.deny(&wanted, &allow);
            Err(ErrorCode::Quota.into())
        })
    }

    /// The grant that all lie below. A file does not go from one to another, as from one disk to another.
    fn one_grant<const N: usize>(&self, fds: [&Fd; N]) -> FsResult<Arc<GrantedDir>> {
        let mut granted_dirs = Vec::with_capacity(N);
        for fd in fds {
            granted_dirs.push(&self.capabilities.filesystem.get(fd)?.granted_dir);
        }
        if granted_dirs.iter().any(|granted_dir| granted_dir.quota.is_none()) {
            return Err(ErrorCode::NotPermitted.into());
        }
        match granted_dirs.as_slice() {
            [first, others @ ..] if others.iter().all(|other| Arc::ptr_eq(first, other)) => {
                Ok(Arc::clone(first))
            }
            _ => Err(ErrorCode::CrossDevice.into()),
        }
    }
}
