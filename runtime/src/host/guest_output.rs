//! A guest's stdout and stderr: lines of its log.
//!
//! The stream never closes and never blocks. A stream that reported itself full would make `println!` panic in the
//! guest, and a call that works would then fail for talking too much; so it takes everything and forgets the excess.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use super::GuestLog;
use super::guest_log::LogSource;
use crate::config::fixed_limits::LOG_LINE_BYTES;
use crate::sandbox::HostFuel;

/// Bytes that a guest may write at once: what WASI streams commonly allow.
const CHUNK: usize = 64 << 10;

/// Both streams of one guest.
pub(crate) struct GuestOutput {
    pub(crate) stdout: LogStream,
    pub(crate) stderr: LogStream,
}

impl GuestOutput {
    pub(crate) fn new(logs: &GuestLog, meter: &HostFuel) -> Self {
        let stream = |source| LogStream::new(logs.clone(), meter.clone(), source);
        Self { stdout: stream(LogSource::Stdout), stderr: stream(LogSource::Stderr) }
    }

    /// Ends lines that have no end, as the end of their guest would: what one call began is no part of the next one's
    /// log.
    pub(crate) fn end_lines(&self) {
        for stream in [&self.stdout, &self.stderr] {
            stream.lines.lock().unwrap_or_else(PoisonError::into_inner).end_rest();
        }
    }
}

/// One of the two streams.
#[derive(Clone)]
pub(crate) struct LogStream {
    lines: Arc<Mutex<LineSplitter>>,
    meter: HostFuel,
}

impl LogStream {
    pub(crate) fn new(logs: GuestLog, meter: HostFuel, source: LogSource) -> Self {
        let lines = LineSplitter { logs, source, partial: Vec::new(), length: 0 };
        Self { lines: Arc::new(Mutex::new(lines)), meter }
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
        Box::new(OutputHandle { lines: Arc::clone(&self.lines), meter: self.meter.clone(), room: 0 })
    }
}

/// A stream as a guest opened it. All handles of one stream write to the same line, as they do for a file: a secret
/// that is printed in two pieces must not come out as two lines.
struct OutputHandle {
    lines: Arc<Mutex<LineSplitter>>,
    meter: HostFuel,
    /// What the guest was last told that it may write.
    room: usize,
}

/// Cuts a stream of bytes into lines of bounded length.
struct LineSplitter {
    logs: GuestLog,
    source: LogSource,
    /// The beginning of the line that has not ended, as far as the log has to know it.
    partial: Vec<u8>,
    /// The whole length of that line.
    length: usize,
}

impl LineSplitter {
    fn push(&mut self, bytes: &[u8]) {
        if self.logs.is_spent() {
            self.logs.drop_bytes(bytes.len());
            return;
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            let room = self.logs.bytes_needed().saturating_sub(self.partial.len()).min(text.len());
            self.partial.extend_from_slice(text.get(..room).unwrap_or_default());
            self.length += text.len();
            if text.len() < piece.len() {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        if !self.partial.is_empty() {
            self.logs.line(self.source, &self.partial);
        }
        let cut = self.length.saturating_sub(LOG_LINE_BYTES);
        if cut > 0 {
            self.logs.host_line(&format!("{cut} bytes of a long line were cut"));
        }
        self.partial.clear();
        self.length = 0;
    }

    fn end_rest(&mut self) {
        if !self.partial.is_empty() {
            self.end_line();
        }
    }
}

impl Drop for LineSplitter {
    fn drop(&mut self) {
        self.end_rest();
    }
}

impl OutputStream for OutputHandle {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let left =
            self.room.checked_sub(bytes.len()).ok_or_else(|| StreamError::trap("write exceeded budget"))?;
        self.room = left;
        self.meter.charge_now(bytes.len()).map_err(|error| StreamError::Trap(error.into()))?;
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(&bytes);
        Ok(())
    }

    // Wasmtime's own would ask again how much may be written, and trap a guest that was told.
    fn write_zeroes(&mut self, count: usize) -> StreamResult<()> {
        if count > self.room {
            return Err(StreamError::trap("cannot write more zeroes than may be written"));
        }
        self.write(vec![0; count].into())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        // There is always room, but not always time: a guest that prints without end lets others run in between.
        self.room = if self.meter.wants_pause() { 0 } else { CHUNK };
        Ok(self.room)
    }
}

#[async_trait]
impl Pollable for OutputHandle {
    async fn ready(&mut self) {
        self.meter.pause().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;
    use crate::observe::Redactor;

    fn lines(limits: &Limits, redactor: Redactor) -> LogStream {
        let rate = std::sync::Arc::new(GuestLog::rate(limits));
        let logs = GuestLog::new("p".into(), rate, limits, redactor);
        LogStream::new(logs, HostFuel::new(u64::MAX), LogSource::Stdout)
    }

    fn say(stream: &LogStream, bytes: Bytes) -> StreamResult<()> {
        let mut handle = stream.p2_stream();
        handle.check_write()?;
        handle.write(bytes)
    }

    #[test]
    fn a_guest_that_prints_without_end_has_to_wait_for_others() {
        let stream = lines(&Limits::default(), Redactor::default());
        let mut handle = stream.p2_stream();
        assert!(handle.write(Bytes::from_static(b"x")).is_err(), "it has to ask first");
        let mut written = 0;
        while handle.check_write().unwrap() > 0 {
            handle.write(Bytes::from(vec![b'x'; CHUNK])).unwrap();
            written += 1;
        }
        assert!((2..20).contains(&written), "{written}");
        let mut handle = lines(&Limits::default(), Redactor::default()).p2_stream();
        let room = handle.check_write().unwrap();
        handle.write(Bytes::from(vec![b'x'; room - 8])).unwrap();
        handle.write_zeroes(8).unwrap();
        assert!(handle.write_zeroes(1).is_err());
    }

    #[test]
    fn handles_of_one_stream_write_to_one_line() {
        let stream = lines(&Limits::default(), Redactor::default());
        for piece in ["sec", "ret"] {
            say(&stream, Bytes::from_static(piece.as_bytes())).unwrap();
        }
        assert_eq!(stream.lines.lock().unwrap().partial, b"secret");
        say(&stream, Bytes::from_static(b"\n")).unwrap();
        assert!(stream.lines.lock().unwrap().partial.is_empty());
    }

    #[test]
    fn a_line_without_an_end_ends_with_its_call() {
        let limits = Limits::default();
        let logs = GuestLog::new("p".into(), Arc::new(GuestLog::rate(&limits)), &limits, Redactor::default());
        let output = GuestOutput::new(&logs, &HostFuel::new(u64::MAX));
        say(&output.stdout, Bytes::from_static(b"first")).unwrap();
        output.end_lines();
        let lines = output.stdout.lines.lock().unwrap();
        assert_eq!((lines.partial.len(), lines.length), (0, 0));
    }

    #[test]
    fn a_line_is_kept_as_far_as_a_secret_may_reach_beyond_the_cut() {
        let stream = lines(&Limits::default(), Redactor::new(["hunter2!"]));
        say(&stream, Bytes::from(vec![b'x'; 8_000])).unwrap();
        let lines = stream.lines.lock().unwrap();
        assert_eq!((lines.partial.len(), lines.length), (LOG_LINE_BYTES + 8, 8_000));
    }
}
