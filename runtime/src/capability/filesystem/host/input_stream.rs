//! The stream on which a guest reads a file, a piece at a time. Each piece is read by a thread that counts among the
//! threads of its plugin until the read is done: on a disk that does not respond, the library's own stream would leave
//! one more thread behind with each call.

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

/// Most bytes that are read at once: what WASI streams commonly allow.
const CHUNK: usize = 64 << 10;

/// Bytes that are read ahead for a guest that waits and has not said how many it wants.
const READ_AHEAD: usize = 4 << 10;

/// A stream, with the permits that it holds until it is dropped.
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

    /// Reads up to `max` bytes.
    fn read_piece(&self, max: usize) -> impl Future<Output = io::Result<Bytes>> + Send + 'static {
        let (file, at, plugin) = (Arc::clone(&self.file), self.at, Arc::clone(&self.plugin));
        async move { blocking(&plugin, move || read_piece_at(&file, at, max.min(CHUNK))).await? }
    }

    fn start_read(&mut self, max: usize) {
        self.work = ReadState::UnderWay(AbortOnDropHandle::new(tokio::spawn(self.read_piece(max))));
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

fn read_piece_at(file: &File, at: u64, max: usize) -> io::Result<Bytes> {
    let mut buffer = vec![0; max];
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
            let read = self.read_piece(size).await;
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
            self.start_read(READ_AHEAD);
        }
        self.wait_for_read().await;
    }
}
