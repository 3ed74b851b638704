//! `wasi:filesystem`, with the bounds that the library lacks: how much a guest may write, how many files one call may have
//! open, how much of a directory is listed at once, how many threads wait for a disk. One file per concern.
//!
//! The library still resolves every path and opens every file, so its defences against escapes are the only ones there
//! are; what is replaced is what grows something, and where it runs. Its descriptors stay in the table as they are, and
//! what we know of each lies beside them, by handle.

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

/// What an operation costs beside its bytes, as if it moved this many: it goes to another thread and back.
const OPERATION: usize = 10_000;

/// The longest path that systems take. A longer one is refused before anybody looks at it.
const LONGEST_PATH: usize = 4_095;

/// Operations of one plugin on files that block at the same time. A disk has little use for more, and on one that does
/// not answer each of them is a thread that never comes back, also when its call has gone.
const OF_ONE: usize = 16;

/// Operations of all plugins on files that block at the same time: half of the threads that tokio has for what blocks,
/// which leaves the others to the compiler, the stores and look-ups of names.
static OF_ALL: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(256)));

/// Pieces that streams of one plugin have taken and not yet written, up to 64 KiB each. They are written when their
/// calls have gone, so a slow disk must not have them pile up.
const PIECES: usize = 512;

/// What one plugin has done with files, by all of its calls and by what they left behind.
#[derive(Debug)]
pub(crate) struct FileIo {
    threads: SharedPermits,
    pieces: Arc<Semaphore>,
}

impl FileIo {
    /// Of a plugin that does nothing yet.
    pub(super) fn new() -> Self {
        let threads = SharedPermits::new("operation on files", OF_ONE, Arc::clone(&OF_ALL));
        Self { threads, pieces: Arc::new(Semaphore::new(PIECES)) }
    }

    /// Waits for a thread. Who needs a turn as well waits for that afterwards: others wait for turns, and nobody of
    /// another plugin is to wait for this plugin's threads.
    async fn thread(&self) -> io::Result<BlockingThread> {
        self.threads.acquire().await.map(BlockingThread).map_err(io::Error::other)
    }

    /// A place for another piece.
    fn piece_permit(&self) -> io::Result<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.pieces).try_acquire_owned();
        permit.map_err(|_| io::Error::other("too much that was written still waits for the disk"))
    }
}

/// A thread that may block.
struct BlockingThread(SharedPermit);

impl BlockingThread {
    /// Runs this on it. It is taken until this is done, also when its call has gone.
    async fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let done = tokio::task::spawn_blocking(move || {
            let _taken = self.0;
            work()
        });
        done.await.map_err(io::Error::other)
    }
}

/// Puts our interfaces in place of the library's.
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
        let mut found = preopens::Host::get_directories(&mut self.filesystem())?;
        for ((fd, _), granted_dir) in found.iter().zip(self.capabilities.filesystem.granted_dirs()) {
            self.capabilities.filesystem.add(fd, OpenDescriptor::granted(&granted_dir));
        }
        for LocalRoot { dir, granted_dir } in self.capabilities.filesystem.roots() {
            let fd = self.table.push(Descriptor::Dir(dir))?;
            self.capabilities.filesystem.add(&fd, OpenDescriptor::granted(&granted_dir));
            found.push((fd, granted_dir.guest.clone()));
        }
        Ok(found)
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
    /// Charges an operation that moves so many bytes.
    async fn charge_operation(&mut self, bytes: usize) -> FsResult<()> {
        self.meter.charge(OPERATION.saturating_add(bytes)).await.map_err(exhausted)
    }

    /// Charges an operation on paths, and refuses those that no system takes.
    async fn charge_path_operation(&mut self, paths: &[&str]) -> FsResult<()> {
        self.charge_operation(paths.iter().map(|path| path.len()).sum()).await?;
        check_path_lengths(paths)
    }

    /// The same where only what the paths take is charged: nothing is changed.
    async fn charge_path(&mut self, path: &str) -> FsResult<()> {
        self.meter.charge(path.len()).await.map_err(exhausted)?;
        check_path_lengths(&[path])
    }

    /// A place for another file.
    fn file_permit(&mut self) -> FsResult<FilePermit> {
        let permit = self.capabilities.filesystem.file_permit();
        self.log_if_full(permit)
    }

    /// A place for another stream on a file.
    fn stream_permit(&mut self) -> FsResult<FilePermit> {
        let permit = self.capabilities.filesystem.stream_permit();
        self.log_if_full(permit)
    }

    /// Notes that there is no place, once.
    fn log_if_full(&mut self, permit: Result<FilePermit, ErrorCode>) -> FsResult<FilePermit> {
        if permit.is_err() && self.capabilities.filesystem.first_full() {
            let most = self.plugin.config.limits.open_files;
            self.logs.host_line(&format!("it has {most} files open and wanted more (limit `open_files`)"));
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

/// What the guest hears of a change that did not happen.
fn to_fs_error(error: ChangeError) -> FsError {
    match error {
        ChangeError::Over(_) => ErrorCode::Quota.into(),
        ChangeError::Io(error) => error.into(),
    }
}

/// Runs what blocks on a thread that may, as soon as the plugin has one.
async fn blocking<T: Send + 'static>(
    plugin: &PluginCtx,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    plugin.capabilities.filesystem.io.thread().await?.run(work).await
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
        let (answer, disk) = std::sync::mpsc::channel::<()>();
        let (plugin, disk) = (plugin(), Arc::new(Mutex::new(disk)));
        let soon = Duration::from_millis(5);
        for _ in 0..OF_ONE {
            let disk = Arc::clone(&disk);
            let call = blocking(&plugin, move || disk.lock().map(|disk| disk.recv().is_ok()).is_ok());
            assert!(timeout(soon, call).await.is_err(), "its call goes, and it stays");
        }
        assert!(timeout(soon, blocking(&plugin, || ())).await.is_err());
        drop(answer);
        blocking(&plugin, || ()).await.unwrap();
    }

    #[test]
    fn pieces_that_wait_for_a_disk_are_bounded() {
        let work = FileIo::new();
        let taken: Vec<_> = (0..PIECES).map(|_| work.piece_permit().unwrap()).collect();
        assert!(work.piece_permit().unwrap_err().to_string().contains("waits for the disk"));
        drop(taken);
        assert!(work.piece_permit().is_ok());
    }

    #[test]
    fn paths_are_refused_by_their_length() {
        assert!(check_path_lengths(&["a", &"a".repeat(LONGEST_PATH)]).is_ok());
        let refused = check_path_lengths(&["a", &"a".repeat(LONGEST_PATH + 1)]).unwrap_err();
        assert!(matches!(refused.downcast_ref(), Some(ErrorCode::NameTooLong)));
    }
}
