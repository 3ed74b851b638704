//! The stream on which a guest writes a file.
//!
//! It takes a piece at a time and is busy until that is written. A piece that was taken is written to its end, whatever
//! becomes of the guest, as the system's own calls do.

use bytes::Bytes;
use tokio::task::JoinHandle;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use super::growing::{At, Target};
use super::open_files::Place;
use crate::sandbox::ChangeError;

/// Bytes that a guest may write at once: what WASI streams commonly allow.
const CHUNK: usize = 64 << 10;

pub(super) struct Writing {
    target: Target,
    at: At,
    work: Work,
    stream: Place,
}

enum Work {
    None,
    UnderWay(JoinHandle<Result<u64, ChangeError>>),
    Failed(ChangeError),
    Closed,
}

impl Writing {
    pub(super) fn new(target: Target, at: At, stream: Place) -> Self {
        Self { target, at, work: Work::None, stream }
    }

    fn settle(&mut self, written: Result<u64, ChangeError>) {
        match (written, &mut self.at) {
            (Ok(written), At::Offset(at)) => {
                *at = at.saturating_add(written);
                self.work = Work::None;
            }
            (Ok(_), At::End) => self.work = Work::None,
            (Err(error), _) => self.work = Work::Failed(error),
        }
    }

    /// What stands against another write. An error is told once.
    fn hindrance(&mut self) -> StreamResult<()> {
        match std::mem::replace(&mut self.work, Work::Closed) {
            Work::Failed(error) => Err(StreamError::LastOperationFailed(error.into())),
            Work::Closed => Err(StreamError::Closed),
            work => {
                self.work = work;
                Ok(())
            }
        }
    }

    fn charge(&self, bytes: &Bytes) -> StreamResult<()> {
        let cost = bytes.len() + super::OPERATION;
        self.target.meter.charge_now(cost).map_err(|error| StreamError::Trap(error.into()))
    }
}

#[async_trait]
impl OutputStream for Writing {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.hindrance()?;
        if matches!(self.work, Work::UnderWay(_)) || bytes.len() > CHUNK {
            return Err(StreamError::trap("write exceeded budget"));
        }
        self.charge(&bytes)?;
        let piece = self.target.shared.file_work.piece();
        let piece = piece.map_err(|error| StreamError::LastOperationFailed(error.into()))?;
        let (target, at, place) = (self.target.clone(), self.at, self.stream.clone());
        self.work = Work::UnderWay(tokio::spawn(async move {
            let _held_until_written = (place, piece);
            target.write(bytes, at).await
        }));
        Ok(())
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.ready().await;
        self.hindrance()?;
        self.charge(&bytes)?;
        let written = self.target.write(bytes, self.at).await;
        self.settle(written);
        self.hindrance()
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.hindrance()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.hindrance()?;
        Ok(if matches!(self.work, Work::None) { CHUNK } else { 0 })
    }

    async fn cancel(&mut self) {
        self.ready().await;
    }
}

#[async_trait]
impl Pollable for Writing {
    async fn ready(&mut self) {
        if let Work::UnderWay(task) = &mut self.work {
            let written = task.await.unwrap_or_else(|error| Err(std::io::Error::other(error).into()));
            self.settle(written);
        }
        self.target.meter.pause().await;
    }
}
