//! Runs functions of wasmtime-wasi (the library) on descriptors, on a blocking thread of ours from beginning to end.
//!
//! By itself the library hands each function to a thread and forgets that thread when the call ends, so nothing could
//! hold the lock of a quota or the permit of a plugin until the function is done. So each function here runs on clones
//! of its descriptors, in a table of its own, and the clones tell the library to block on the calling thread.

use futures_util::FutureExt as _;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::filesystem::{Descriptor, Dir, File, WasiFilesystemCtx, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError, FsResult};

use super::{InstanceCtx, blocking};

type Fd = Resource<Descriptor>;

/// What the library's functions are called on.
pub(super) type FsView<'a> = WasiFilesystemCtxView<'a>;

/// Runs functions of the library on descriptors. Blocks.
pub(super) fn run_wasi<T, const N: usize>(
    descriptors: [&Descriptor; N],
    work: impl AsyncFnOnce(&mut FsView<'_>, [Fd; N]) -> FsResult<T>,
) -> FsResult<T> {
    let (mut table, mut ctx) = (ResourceTable::new(), WasiFilesystemCtx::default());
    let mut fds = Vec::with_capacity(N);
    for descriptor in descriptors {
        fds.push(table.push(blocking_here(descriptor)?)?);
    }
    let fds = <[Fd; N]>::try_from(fds).map_err(|_| ErrorCode::BadDescriptor)?;
    let mut view = FsView { table: &mut table, ctx: &mut ctx };
    // The future is ready at once, since nothing is handed to another thread.
    work(&mut view, fds).now_or_never().unwrap_or_else(|| Err(ErrorCode::WouldBlock.into()))
}

/// A clone of a descriptor, on which functions block the calling thread.
fn blocking_here(descriptor: &Descriptor) -> FsResult<Descriptor> {
    Ok(match descriptor {
        Descriptor::File(file) => {
            Descriptor::File(File::new(file.file.try_clone()?, file.perms, file.open_mode, true))
        }
        Descriptor::Dir(dir) => {
            Descriptor::Dir(Dir::new(dir.dir.try_clone()?, dir.perms, dir.open_mode, true))
        }
    })
}

impl InstanceCtx {
    /// Runs a function of the library on a descriptor, on a blocking thread.
    pub(super) async fn pass<T: Send + 'static>(
        &mut self,
        fd: &Fd,
        work: impl AsyncFnOnce(&mut FsView<'_>, Fd) -> FsResult<T> + Send + 'static,
    ) -> FsResult<T> {
        self.host_fuel.charge_call();
        let descriptor = self.table.get(fd)?.clone();
        let work = async move |view: &mut FsView<'_>, [fd]: [Fd; 1]| work(view, fd).await;
        let host_fuel = self.host_fuel.clone();
        blocking(&self.plugin, move || host_fuel.timed(|| run_wasi([&descriptor], work))).await?
    }

    /// Whether both are the same file.
    pub(super) async fn same(&mut self, one: &Fd, other: &Fd) -> wasmtime::Result<bool> {
        use wasmtime_wasi::p2::bindings::filesystem::types::HostDescriptor;
        self.host_fuel.charge_call();
        let both = [self.table.get(one)?.clone(), self.table.get(other)?.clone()];
        let same = blocking(&self.plugin, move || {
            run_wasi(both.each_ref(), async |view, [one, other]| {
                HostDescriptor::is_same_object(view, one, other).await.map_err(FsError::trap)
            })
        });
        same.await?.map_err(wasmtime::Error::from)
    }
}
