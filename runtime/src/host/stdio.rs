//! A guest's stdout and stderr: lines of its log.
//!
//! The stream never closes and never blocks. A stream that reported itself full would make `println!` panic in the
//! guest, and a call that works would then fail for talking too much; so it takes everything and forgets the excess.

use bytes::Bytes;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use super::Logs;
use super::logs::Source;
use crate::sandbox::Meter;

/// Bytes that a guest may write at once: what WASI streams commonly allow.
const CHUNK: usize = 64 << 10;

/// One of the two streams. Every handle that a guest opens starts a line of its own.
pub(crate) struct LogStream {
    logs: Logs,
    meter: Meter,
    source: Source,
}

impl LogStream {
    pub(crate) fn new(logs: Logs, meter: Meter, source: Source) -> Self {
        Self { logs, meter, source }
    }

    fn lines(&self) -> Lines {
        let (logs, meter) = (self.logs.clone(), self.meter.clone());
        Lines { logs, meter, source: self.source, partial: Vec::new(), cut: 0 }
    }
}

impl IsTerminal for LogStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LogStream {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only WASI 0.3 asks for this one, and it is not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.lines())
    }
}

/// Cuts a stream of bytes into lines of bounded length.
struct Lines {
    logs: Logs,
    meter: Meter,
    source: Source,
    partial: Vec<u8>,
    cut: usize,
}

impl Lines {
    fn push(&mut self, bytes: &[u8]) {
        if self.logs.is_spent() {
            self.logs.drop_bytes(bytes.len());
            return;
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            let room = self.logs.line_max().saturating_sub(self.partial.len()).min(text.len());
            self.partial.extend_from_slice(text.get(..room).unwrap_or_default());
            self.cut += text.len() - room;
            if text.len() < piece.len() {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        if !self.partial.is_empty() {
            self.logs.line(self.source, &self.partial);
        }
        if self.cut > 0 {
            self.logs.note(&format!("{} bytes of a long line were cut", self.cut));
        }
        self.partial.clear();
        self.cut = 0;
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if !self.partial.is_empty() {
            self.end_line();
        }
    }
}

impl OutputStream for Lines {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.meter.charge_now(bytes.len()).map_err(|error| StreamError::Trap(error.into()))?;
        self.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK)
    }
}

#[async_trait]
impl Pollable for Lines {
    async fn ready(&mut self) {
        self.meter.pause().await;
    }
}
