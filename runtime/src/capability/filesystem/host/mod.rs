//! `wasi:filesystem`, with the bounds that wasmtime-wasi (the library) lacks: how much a guest may write, how many
//! files one call may have open, how much of a directory is listed at once, how many threads wait for a disk. One file
//! per concern.
//!
//! The library still resolves every path and opens every file, so its defences against escapes are the only ones there
//! are. Replaced are the functions that grow something, and the threads on which functions run. The library's
//! descriptors stay in the table as they are; `OpenFiles` has an [`OpenDescriptor`] beside each, by handle.

mod descriptor;
mod input_stream;
mod open_at;
mod open_files;
mod output_stream;
mod quota_write;
mod read_dir;
mod wasi_blocking;

use std::io;
use std::sync::{Arc, LazyLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{self, ErrorCode};
use wasmtime_wasi::p2::{FsError, FsResult};

use super::quota::ChangeError;
use crate::capability::{InstanceCtx, PluginCtx};
use crate::sandbox::{ChargeError, SharedPermit, SharedPermits};
use open_files::{FilePermit, OpenDescriptor};
pub(crate) use open_files::{GrantedDir, LocalRoot, OpenFiles};

/// Bytes that an operation is charged beside those that it moves: it goes to another thread and back.
const OPERATION_CHARGE: usize = 10_000;

/// The longest path that systems take. A longer one is rejected at once.
const LONGEST_PATH: usize = 4_095;

/// Operations of one plugin on files that block at the same time. A disk has little use for more. On a disk that does
/// not respond, each operation is a thread that never comes back, also after its call has ended.
const PLUGIN_THREADS: usize = 16;

/// Operations of all plugins on files that block at the same time: half of the threads that tokio has for what blocks,
/// which leaves the others to the compiler, the stores and look-ups of names.
static ALL_THREADS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(256)));

/// Pieces that streams of one plugin have accepted and not yet written, up to 64 KiB each. They are written also after
/// their calls have ended, so they must not pile up before a slow disk.
const PENDING_PIECES: usize = 512;

/// File operations of one plugin: those of all its calls, and those that ended calls left behind.
#[derive(Debug)]
pub(crate) struct FileIo {
    threads: SharedPermits,
    pieces: Arc<Semaphore>,
}

impl FileIo {
    /// For a plugin without operations.
    pub(super) fn new() -> Self {
        let threads = SharedPermits::new("operation on files", PLUGIN_THREADS, Arc::clone(&ALL_THREADS));
        Self { threads, pieces: Arc::new(Semaphore::new(PENDING_PIECES)) }
    }

    /// Waits for the permit for a thread. A function that also needs the lock of a quota takes the lock afterwards:
    /// calls of other plugins wait for that lock, and must not wait for this plugin's threads.
    async fn thread_permit(&self) -> io::Result<ThreadPermit> {
        self.threads.acquire().await.map(ThreadPermit).map_err(io::Error::other)
    }

    /// A permit for another piece that waits to be written.
    fn piece_permit(&self) -> io::Result<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.pieces).try_acquire_owned();
        permit.map_err(|_| io::Error::other("too much that was written still waits for the disk"))
    }
}

/// The permit for one blocking thread.
struct ThreadPermit(SharedPermit);

impl ThreadPermit {
    /// Runs `work` on a blocking thread, and holds the permit until `work` is done, also when the call has ended.
    async fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let done = tokio::task::spawn_blocking(move || {
            let _permit = self.0;
            work()
        });
        done.await.map_err(io::Error::other)
    }
}

/// Links these interfaces in place of the library's.
///
/// # Errors
/// Never for a fixed set of interfaces.
pub(super) fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    types::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)?;
    preopens::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)?;
    linker.allow_shadowing(false);
    Ok(())
}

impl preopens::Host for InstanceCtx {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let mut dirs = preopens::Host::get_directories(&mut self.filesystem())?;
        for ((fd, _), granted_dir) in dirs.iter().zip(self.capabilities.filesystem.granted_dirs()) {
            self.capabilities.filesystem.add(fd, OpenDescriptor::granted(&granted_dir));
        }
        for LocalRoot { dir, granted_dir } in self.capabilities.filesystem.roots() {
            let fd = self.table.push(Descriptor::Dir(dir))?;
            self.capabilities.filesystem.add(&fd, OpenDescriptor::granted(&granted_dir));
            dirs.push((fd, granted_dir.guest.clone()));
        }
        Ok(dirs)
    }
}

impl types::Host for InstanceCtx {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        let error = self.table.get(&error)?;
        if let Some(error) = error.downcast_ref::<ChangeError>() {
            return Ok(Some(match error {
                ChangeError::Over(_) => ErrorCode::Quota,
                ChangeError::Io(error) => error.into(),
            }));
        }
        Ok(error.downcast_ref::<io::Error>().map(ErrorCode::from))
    }
}

impl InstanceCtx {
    /// Charges an operation that moves `bytes`.
    async fn charge_operation(&mut self, bytes: usize) -> FsResult<()> {
        self.host_fuel.charge(OPERATION_CHARGE.saturating_add(bytes)).await.map_err(exhausted)
    }

    /// Charges an operation on paths, and rejects paths that no system takes.
    async fn charge_path_operation(&mut self, paths: &[&str]) -> FsResult<()> {
        self.charge_operation(paths.iter().map(|path| path.len()).sum()).await?;
        check_path_lengths(paths)
    }

    /// The same for an operation that changes nothing: only the length of its path is charged.
    async fn charge_path(&mut self, path: &str) -> FsResult<()> {
        self.host_fuel.charge(path.len()).await.map_err(exhausted)?;
        check_path_lengths(&[path])
    }

    /// A permit for another open file.
    fn file_permit(&mut self) -> FsResult<FilePermit> {
        let permit = self.capabilities.filesystem.file_permit();
        self.log_if_full(permit)
    }

    /// A permit for another stream on a file.
    fn stream_permit(&mut self) -> FsResult<FilePermit> {
        let permit = self.capabilities.filesystem.stream_permit();
        self.log_if_full(permit)
    }

    /// Logs that no permit is left, once per call.
    fn log_if_full(&mut self, permit: Result<FilePermit, ErrorCode>) -> FsResult<FilePermit> {
        if permit.is_err() && self.capabilities.filesystem.first_full() {
            let max = self.plugin.config.limits.open_files;
            self.logs().host_line(&format!("it has {max} files open and wanted more (limit `open_files`)"));
        }
        Ok(permit?)
    }
}

fn check_path_lengths(paths: &[&str]) -> FsResult<()> {
    if paths.iter().any(|path| path.len() > LONGEST_PATH) {
        return Err(ErrorCode::NameTooLong.into());
    }
    Ok(())
}

fn exhausted(error: ChargeError) -> FsError {
    FsError::trap(error)
}

/// The error that the guest gets for a change that failed.
fn to_fs_error(error: ChangeError) -> FsError {
    match error {
        ChangeError::Over(_) => ErrorCode::Quota.into(),
        ChangeError::Io(error) => error.into(),
    }
}

/// Runs work that blocks on a blocking thread, as soon as the plugin has a permit for one.
async fn blocking<T: Send + 'static>(
    plugin: &PluginCtx,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    plugin.capabilities.filesystem.io.thread_permit().await?.run(work).await
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::capability::tests::plugin;

    #[tokio::test]
    async fn a_disk_that_does_not_answer_keeps_no_more_threads_than_a_plugins_share() {
        let (unblock, disk) = std::sync::mpsc::channel::<()>();
        let (plugin, disk) = (plugin(), Arc::new(Mutex::new(disk)));
        let soon = Duration::from_millis(5);
        for _ in 0..PLUGIN_THREADS {
            let disk = Arc::clone(&disk);
            let call = blocking(&plugin, move || disk.lock().map(|disk| disk.recv().is_ok()).is_ok());
            assert!(timeout(soon, call).await.is_err(), "the call ends, and its thread stays");
        }
        assert!(timeout(soon, blocking(&plugin, || ())).await.is_err());
        drop(unblock);
        blocking(&plugin, || ()).await.unwrap();
    }

    #[test]
    fn pieces_that_wait_for_a_disk_are_bounded() {
        let io = FileIo::new();
        let permits: Vec<_> = (0..PENDING_PIECES).map(|_| io.piece_permit().unwrap()).collect();
        assert!(io.piece_permit().unwrap_err().to_string().contains("waits for the disk"));
        drop(permits);
        assert!(io.piece_permit().is_ok());
    }

    #[test]
    fn paths_are_rejected_by_their_length() {
        assert!(check_path_lengths(&["a", &"a".repeat(LONGEST_PATH)]).is_ok());
        let error = check_path_lengths(&["a", &"a".repeat(LONGEST_PATH + 1)]).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(ErrorCode::NameTooLong)));
    }
}
