//! The stream on which a guest writes a file.
//!
//! The stream accepts a piece at a time and is busy until that piece is written. An accepted piece is written to its
//! end, whatever becomes of the guest, as with the system's own calls.

use bytes::Bytes;
use tokio::task::JoinHandle;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use super::open_files::FilePermit;
use super::quota_write::{WritableFile, WritePosition};
use crate::capability::filesystem::quota::ChangeError;

/// Bytes that a guest may write at once: what WASI streams commonly allow.
const CHUNK: usize = 64 << 10;

pub(super) struct FileOutputStream {
    target: WritableFile,
    at: WritePosition,
    work: WriteState,
    stream: FilePermit,
}

enum WriteState {
    None,
    UnderWay(JoinHandle<Result<u64, ChangeError>>),
    Failed(ChangeError),
    Closed,
}

impl FileOutputStream {
    pub(super) fn new(target: WritableFile, at: WritePosition, stream: FilePermit) -> Self {
        Self { target, at, work: WriteState::None, stream }
    }

    fn finish_write(&mut self, written: Result<u64, ChangeError>) {
        match (written, &mut self.at) {
            (Ok(written), WritePosition::Offset(at)) => {
                *at = at.saturating_add(written);
                self.work = WriteState::None;
            }
            (Ok(_), WritePosition::End) => self.work = WriteState::None,
            (Err(error), _) => self.work = WriteState::Failed(error),
        }
    }

    /// Fails when nothing more can be written. An error is returned once.
    fn take_error(&mut self) -> StreamResult<()> {
        match std::mem::replace(&mut self.work, WriteState::Closed) {
            WriteState::Failed(error) => Err(StreamError::LastOperationFailed(error.into())),
            WriteState::Closed => Err(StreamError::Closed),
            work => {
                self.work = work;
                Ok(())
            }
        }
    }

    fn charge(&self, bytes: &Bytes) -> StreamResult<()> {
        let charge = bytes.len() + super::OPERATION_CHARGE;
        self.target.host_fuel.charge_now(charge).map_err(|error| StreamError::Trap(error.into()))
    }
}

#[async_trait]
impl OutputStream for FileOutputStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take_error()?;
        if matches!(self.work, WriteState::UnderWay(_)) || bytes.len() > CHUNK {
            return Err(StreamError::trap("write exceeded budget"));
        }
        self.charge(&bytes)?;
        let pending = self.target.plugin.capabilities.filesystem.io.piece_permit();
        let pending = pending.map_err(|error| StreamError::LastOperationFailed(error.into()))?;
        let (target, at, permit) = (self.target.clone(), self.at, self.stream.clone());
        self.work = WriteState::UnderWay(tokio::spawn(async move {
            let _held_until_written = (permit, pending);
            target.write(bytes, at).await
        }));
        Ok(())
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.ready().await;
        self.take_error()?;
        self.charge(&bytes)?;
        let written = self.target.write(bytes, self.at).await;
        self.finish_write(written);
        self.take_error()
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.take_error()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.take_error()?;
        Ok(if matches!(self.work, WriteState::None) { CHUNK } else { 0 })
    }

    async fn cancel(&mut self) {
        self.ready().await;
    }
}

#[async_trait]
impl Pollable for FileOutputStream {
    async fn ready(&mut self) {
        if let WriteState::UnderWay(task) = &mut self.work {
            let written = task.await.unwrap_or_else(|error| Err(std::io::Error::other(error).into()));
            self.finish_write(written);
        }
        self.target.host_fuel.pause().await;
    }
}
