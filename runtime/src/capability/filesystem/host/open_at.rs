//! Opens files. Only a file that is made counts against the quota, so an existing file is opened without making
//! anything.
//!
//! Opening runs on one thread, under one lock of the quota and to its end, also when its call has ended: an open file
//! counts until it is closed, so there is no moment in which a file is open and not counted.

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

/// The outcome of an operation, unless it would exceed the quota.
type QuotaResult<T> = Result<FsResult<T>, QuotaExceeded>;

/// What is to be opened, and how.
#[derive(Clone)]
pub(super) struct OpenRequest {
    pub(super) path_flags: PathFlags,
    pub(super) path: String,
    pub(super) open_flags: OpenFlags,
    pub(super) flags: DescriptorFlags,
}

impl OpenRequest {
    /// The same request without making or truncating a file.
    fn for_existing(&self) -> Self {
        let mut request = self.clone();
        if self.open_flags.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE) {
            // Both flags imply writing. Without WRITE the library opens for reading, so READ has to be added with it.
            if !self.flags.contains(DescriptorFlags::WRITE) {
                request.flags |= DescriptorFlags::READ;
            }
            request.flags |= DescriptorFlags::WRITE;
        }
        request.open_flags = self.open_flags & OpenFlags::DIRECTORY;
        request
    }

    fn has(&self, flag: OpenFlags) -> bool {
        self.open_flags.contains(flag)
    }

    /// Opens a file, and makes it first if the request says so and the quota allows it.
    fn open_or_make(&self, dir: &Descriptor, guard: &mut QuotaGuard) -> QuotaResult<Descriptor> {
        let creates = self.has(OpenFlags::CREATE);
        if self.has(OpenFlags::DIRECTORY)
            && self.open_flags.intersects(OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE)
        {
            return Ok(Err(ErrorCode::Invalid.into()));
        }
        if !(creates && self.has(OpenFlags::EXCLUSIVE)) {
            match self.for_existing().open_existing(dir) {
                Err(error) if creates && matches!(error.downcast_ref(), Some(ErrorCode::NoEntry)) => {}
                outcome => return Ok(outcome),
            }
        }
        let request =
            Self { open_flags: self.open_flags & (OpenFlags::CREATE | OpenFlags::EXCLUSIVE), ..self.clone() };
        guard.make(false, || request.open_with_wasi(dir))
    }

    /// Opens an existing file. A pipe would keep a thread waiting for its other end, and a device is not a file.
    fn open_existing(self, dir: &Descriptor) -> FsResult<Descriptor> {
        use DescriptorType::{Directory, RegularFile, SymbolicLink};
        let (flags, path) = (self.path_flags, self.path.clone());
        let stat = run_wasi([dir], async |view, [dir]| HostDescriptor::stat_at(view, dir, flags, path).await);
        match stat {
            Ok(stat) if !matches!(stat.type_, RegularFile | Directory | SymbolicLink) => {
                Err(ErrorCode::Unsupported.into())
            }
            _ => self.open_with_wasi(dir),
        }
    }

    fn open_with_wasi(self, dir: &Descriptor) -> FsResult<Descriptor> {
        let Self { path_flags, path, open_flags, flags } = self;
        run_wasi([dir], async |view, [dir]| {
            let opened = HostDescriptor::open_at(view, dir, path_flags, path, open_flags, flags).await?;
            Ok(view.table.delete(opened)?)
        })
    }
}

/// Opens a file below a grant. Blocks.
fn open(
    granted_dir: &GrantedDir,
    dir: &Descriptor,
    request: OpenRequest,
    guard: Option<QuotaGuard>,
) -> QuotaResult<Descriptor> {
    let truncates = request.has(OpenFlags::TRUNCATE);
    let (opened, guard) = match (guard, &granted_dir.quota) {
        (Some(mut guard), Some(_)) => (request.open_or_make(dir, &mut guard)?, Some(guard)),
        // The library rejects requests that would change something.
        (guard, _) => (request.open_existing(dir), guard),
    };
    let opened = match opened {
        Ok(opened) if granted_dir.may_open(&opened) => opened,
        Ok(_) => return Ok(Err(ErrorCode::NotPermitted.into())),
        Err(error) => return Ok(Err(error)),
    };
    if let (Some(mut guard), Descriptor::File(file)) = (guard, &opened) {
        guard.opened(&file.file);
        if truncates && let Err(error) = guard.change(&file.file, |_| 0, |_| file.file.set_len(0)) {
            return Ok(Err(to_fs_error(error)));
        }
    }
    Ok(Ok(opened))
}

impl InstanceCtx {
    /// Opens a file, and makes it first if the request says so and the quota allows it.
    pub(super) async fn open(&mut self, fd: Fd, request: OpenRequest) -> FsResult<Fd> {
        let granted_dir = Arc::clone(&self.capabilities.filesystem.get(&fd)?.granted_dir);
        let permit = self.file_permit()?;
        self.host_fuel.charge_call();
        let dir = self.table.get(&fd)?.clone();
        let thread = self.plugin.capabilities.filesystem.io.thread_permit().await?;
        let guard = match &granted_dir.quota {
            Some(quota) => Some(quota.lock(&self.host_fuel).await),
            None => QuotaGuard::lock_to_read(&granted_dir.host, &self.host_fuel).await,
        };
        let below = Arc::clone(&granted_dir);
        let opened = thread.run(move || open(&below, &dir, request, guard)).await?;
        let opened = self.deny_over_quota(&granted_dir, opened)?;
        let opened = self.table.push(opened)?;
        self.capabilities.filesystem.add(&opened, OpenDescriptor::below(granted_dir, permit));
        Ok(opened)
    }

    /// Changes something below a granted directory, under the lock of its quota. The lock is held until the change is
    /// done, also when its call has ended.
    pub(super) async fn change<T: Send + 'static, const N: usize>(
        &mut self,
        fds: [&Fd; N],
        act: impl FnOnce(&mut QuotaGuard, [&Descriptor; N]) -> QuotaResult<T> + Send + 'static,
    ) -> FsResult<T> {
        self.host_fuel.charge_call();
        let granted_dir = self.one_grant(fds)?;
        let quota = granted_dir.quota.as_ref().ok_or(ErrorCode::NotPermitted)?;
        let mut descriptors = Vec::with_capacity(N);
        for fd in fds {
            descriptors.push(self.table.get(fd)?.clone());
        }
        let descriptors = <[Descriptor; N]>::try_from(descriptors).map_err(|_| ErrorCode::BadDescriptor)?;
        let thread = self.plugin.capabilities.filesystem.io.thread_permit().await?;
        let mut guard = quota.lock(&self.host_fuel).await;
        let outcome = thread.run(move || act(&mut guard, descriptors.each_ref())).await?;
        self.deny_over_quota(&granted_dir, outcome)
    }

    /// Records an exceeded quota as a denial. The guest gets an error.
    fn deny_over_quota<T>(&mut self, granted_dir: &GrantedDir, outcome: QuotaResult<T>) -> FsResult<T> {
        outcome.unwrap_or_else(|exceeded| {
            let (requested, hint) = granted_dir.quota_hint(&exceeded);
            self.deny(&requested, &hint);
            Err(ErrorCode::Quota.into())
        })
    }

    /// The granted directory that all descriptors lie below. A file cannot move from one granted directory to another,
    /// as it cannot move from one disk to another.
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
