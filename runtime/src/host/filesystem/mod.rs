//! `wasi:filesystem`, with the bounds that the library lacks: how much a guest may write, how many files one call may have
//! open, how much of a directory is listed at once. One file per concern.
//!
//! The library still resolves every path and opens every file, so its defences against escapes are the only ones there
//! are; what is replaced is what grows something. Its descriptors stay in the table as they are, and what we know of each
//! lies beside them, by handle.

mod descriptor;
mod entries;
mod growing;
mod open_files;
mod opening;
mod reading;
mod writing;

use std::io;

use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{self, ErrorCode};
use wasmtime_wasi::p2::{FsError, FsResult};

use super::State;
use crate::sandbox::{ChangeError, OutOfHostFuel};
use open_files::Opened;
pub(crate) use open_files::{NearRoot, OpenFiles, Reach};

/// What an operation costs beside its bytes, as if it moved this many: it goes to another thread and back.
const OPERATION: usize = 10_000;

/// Puts our interfaces in place of the library's.
///
/// # Errors
/// Never for a fixed set of interfaces.
pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    types::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    preopens::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    linker.allow_shadowing(false);
    Ok(())
}

impl preopens::Host for State {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let mut found = preopens::Host::get_directories(&mut self.filesystem())?;
        for ((fd, _), reach) in found.iter().zip(self.files.reaches()) {
            self.files.add(fd, Opened::granted(&reach));
        }
        for NearRoot { dir, reach } in self.files.roots() {
            let fd = self.table.push(Descriptor::Dir(dir))?;
            self.files.add(&fd, Opened::granted(&reach));
            found.push((fd, reach.guest.clone()));
        }
        Ok(found)
    }
}

impl types::Host for State {
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

impl State {
    /// Charges an operation that moves so many bytes of names.
    async fn operation(&mut self, bytes: usize) -> FsResult<()> {
        self.meter.charge(OPERATION + bytes).await.map_err(out_of_fuel)
    }
}

fn out_of_fuel(error: OutOfHostFuel) -> FsError {
    FsError::trap(error)
}

/// Runs what blocks on a thread that may.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
}
