//! The library's stream for reading a file, with the places that it takes.

use bytes::Bytes;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{DynInputStream, InputStream, Pollable, StreamResult};

use super::open_files::{Opened, Place};

/// A stream that gives its places back when it is dropped.
pub(super) struct Reading {
    pub(super) inner: DynInputStream,
    pub(super) _file: Opened,
    pub(super) _stream: Place,
}

#[async_trait]
impl InputStream for Reading {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.inner.read(size)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.inner.blocking_read(size).await
    }

    fn skip(&mut self, size: usize) -> StreamResult<usize> {
        self.inner.skip(size)
    }

    async fn blocking_skip(&mut self, size: usize) -> StreamResult<usize> {
        self.inner.blocking_skip(size).await
    }

    async fn cancel(&mut self) {
        self.inner.cancel().await;
    }
}

#[async_trait]
impl Pollable for Reading {
    async fn ready(&mut self) {
        self.inner.ready().await;
    }
}
