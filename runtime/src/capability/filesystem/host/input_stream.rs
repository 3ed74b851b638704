//! The stream on which a guest reads a file: a piece at a time, by a thread that counts among those of its plugin until
//! it is done. On a disk that does not answer, the library's own would leave one behind with each call.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::Bytes;
use tokio_util::task::AbortOnDropHandle;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{InputStream, Pollable, StreamError, StreamResult};

use super::blocking;
use super::open_files::{FilePermit, OpenDescriptor};
use crate::capability::PluginCtx;

/// Bytes that are read at once, at most: what WASI streams commonly allow.
const MOST: usize = 64 << 10;

/// Bytes that are read for a guest that waits and has not said how many it wants.
const UNASKED: usize = 4 << 10;

/// A stream, with the places that it takes until it is dropped.
pub(super) struct FileInputStream {
    file: Arc<File>,
    at: u64,
    work: ReadState,
    plugin: Arc<PluginCtx>,
    _permits: (OpenDescriptor, FilePermit),
}

enum ReadState {
    None,
    UnderWay(AbortOnDropHandle<io::Result<Bytes>>),
    /// Read, and not yet handed over.
    Done(Bytes),
    Failed(io::Error),
    Closed,
}

impl FileInputStream {
    pub(super) fn new(
        file: Arc<File>,
        at: u64,
        plugin: &Arc<PluginCtx>,
        permits: (OpenDescriptor, FilePermit),
    ) -> Self {
        Self { file, at, work: ReadState::None, plugin: Arc::clone(plugin), _permits: permits }
    }

    /// Reads up to so many bytes.
    fn piece(&self, most: usize) -> impl Future<Output = io::Result<Bytes>> + Send + 'static {
        let (file, at, plugin) = (Arc::clone(&self.file), self.at, Arc::clone(&self.plugin));
        async move { blocking(&plugin, move || piece(&file, at, most.min(MOST))).await? }
    }

    fn start_read(&mut self, most: usize) {
        self.work = ReadState::UnderWay(AbortOnDropHandle::new(tokio::spawn(self.piece(most))));
    }

    fn finish_read(&mut self, read: io::Result<Bytes>) {
        self.work = match read {
            Ok(read) if read.is_empty() => ReadState::Closed,
            Ok(read) => ReadState::Done(read),
            Err(error) => ReadState::Failed(error),
        };
    }

    async fn wait_for_read(&mut self) {
        if let ReadState::UnderWay(task) = &mut self.work {
            let read = task.await.unwrap_or_else(|error| Err(io::Error::other(error)));
            self.finish_read(read);
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
impl InputStream for FileInputStream {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        match std::mem::replace(&mut self.work, ReadState::Closed) {
            ReadState::None if size > 0 => self.start_read(size),
            ReadState::Done(mut read) => {
                let piece = read.split_to(read.len().min(size));
                self.at = self.at.saturating_add(piece.len() as u64);
                self.work = if read.is_empty() { ReadState::None } else { ReadState::Done(read) };
                return Ok(piece);
            }
            ReadState::Failed(error) => return Err(StreamError::LastOperationFailed(error.into())),
            ReadState::Closed => return Err(StreamError::Closed),
            work => self.work = work,
        }
        Ok(Bytes::new())
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.wait_for_read().await;
        if matches!(self.work, ReadState::None) && size > 0 {
            let read = self.piece(size).await;
            self.finish_read(read);
        }
        self.read(size)
    }

    async fn cancel(&mut self) {
        self.wait_for_read().await;
    }
}

#[async_trait]
impl Pollable for FileInputStream {
    async fn ready(&mut self) {
        if matches!(self.work, ReadState::None) {
            self.start_read(UNASKED);
        }
        self.wait_for_read().await;
    }
}
