//! The stream on which a guest reads a file: a piece at a time, by a thread that counts among those of its plugin until it is
//! done. On a disk that does not answer, the library's own would leave one behind with each call.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::Bytes;
use tokio_util::task::AbortOnDropHandle;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{InputStream, Pollable, StreamError, StreamResult};

use super::blocking;
use super::open_files::{Opened, Place};
use crate::host::Shared;

/// Bytes that are read at once, at most: what WASI streams commonly allow.
const MOST: usize = 64 << 10;

/// Bytes that are read for a guest that waits and has not said how many it wants.
const UNASKED: usize = 4 << 10;

/// A stream, with the places that it takes until it is dropped.
pub(super) struct Reading {
    file: Arc<File>,
    at: u64,
    work: Work,
    shared: Arc<Shared>,
    _places: (Opened, Place),
}

enum Work {
    None,
    UnderWay(AbortOnDropHandle<io::Result<Bytes>>),
    /// Read, and not yet handed over.
    Done(Bytes),
    Failed(io::Error),
    Closed,
}

impl Reading {
    pub(super) fn new(file: Arc<File>, at: u64, shared: &Arc<Shared>, places: (Opened, Place)) -> Self {
        Self { file, at, work: Work::None, shared: Arc::clone(shared), _places: places }
    }

    /// Reads up to so many bytes.
    fn piece(&self, most: usize) -> impl Future<Output = io::Result<Bytes>> + Send + 'static {
        let (file, at, shared) = (Arc::clone(&self.file), self.at, Arc::clone(&self.shared));
        async move { blocking(&shared, move || piece(&file, at, most.min(MOST))).await? }
    }

    fn begin(&mut self, most: usize) {
        self.work = Work::UnderWay(AbortOnDropHandle::new(tokio::spawn(self.piece(most))));
    }

    fn settle(&mut self, read: io::Result<Bytes>) {
        self.work = match read {
            Ok(read) if read.is_empty() => Work::Closed,
            Ok(read) => Work::Done(read),
            Err(error) => Work::Failed(error),
        };
    }

    async fn settled(&mut self) {
        if let Work::UnderWay(task) = &mut self.work {
            let read = task.await.unwrap_or_else(|error| Err(io::Error::other(error)));
            self.settle(read);
        }
    }
}

fn piece(file: &File, at: u64, most: usize) -> io::Result<Bytes> {
    let mut buffer = vec![0; most];
    loop {
        match file.read_at(&mut buffer, at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => {
                buffer.truncate(read?);
                return Ok(buffer.into());
            }
        }
    }
}

#[async_trait]
impl InputStream for Reading {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        match std::mem::replace(&mut self.work, Work::Closed) {
            Work::None if size > 0 => self.begin(size),
            Work::Done(mut read) => {
                let piece = read.split_to(read.len().min(size));
                self.at = self.at.saturating_add(piece.len() as u64);
                self.work = if read.is_empty() { Work::None } else { Work::Done(read) };
                return Ok(piece);
            }
            Work::Failed(error) => return Err(StreamError::LastOperationFailed(error.into())),
            Work::Closed => return Err(StreamError::Closed),
            work => self.work = work,
        }
        Ok(Bytes::new())
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.settled().await;
        if matches!(self.work, Work::None) && size > 0 {
            let read = self.piece(size).await;
            self.settle(read);
        }
        self.read(size)
    }

    async fn cancel(&mut self) {
        self.settled().await;
    }
}

#[async_trait]
impl Pollable for Reading {
    async fn ready(&mut self) {
        if matches!(self.work, Work::None) {
            self.begin(UNASKED);
        }
        self.settled().await;
    }
}
