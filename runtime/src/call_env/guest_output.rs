//! A guest's stdout and stderr: lines of its log.
//!
//! A stream never closes and never blocks. A stream that reported itself full would make `println!` panic in the guest,
//! and a call that works would fail because it prints too much. So a stream takes everything and drops the excess.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
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
    pub(crate) fn new(logs: &GuestLog, host_fuel: &HostFuel) -> Self {
        let stream = |source| LogStream::new(logs.clone(), host_fuel.clone(), source);
        Self { stdout: stream(LogSource::Stdout), stderr: stream(LogSource::Stderr) }
    }

    /// Ends unfinished lines, as the end of the instance would: a line of one call must not go on in the log of the
    /// next.
    pub(crate) fn end_lines(&self) {
        for stream in [&self.stdout, &self.stderr] {
            stream.lines.lock().end_unfinished();
        }
    }
}

/// One of the two streams.
#[derive(Clone)]
pub(crate) struct LogStream {
    lines: Arc<Mutex<LineSplitter>>,
    host_fuel: HostFuel,
}

impl LogStream {
    pub(crate) fn new(logs: GuestLog, host_fuel: HostFuel, source: LogSource) -> Self {
        let lines = LineSplitter { logs, source, partial: Vec::new(), length: 0 };
        Self { lines: Arc::new(Mutex::new(lines)), host_fuel }
    }
}

impl IsTerminal for LogStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LogStream {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only WASI 0.3 uses this function, and it is not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(OutputHandle {
            lines: Arc::clone(&self.lines),
            host_fuel: self.host_fuel.clone(),
            permitted: 0,
        })
    }
}

/// A stream as a guest opened it. All handles of one stream write to the same line, as they do for a file: a secret
/// that is printed in two pieces must not come out as two lines.
struct OutputHandle {
    lines: Arc<Mutex<LineSplitter>>,
    host_fuel: HostFuel,
    /// Bytes that the last `check-write` permitted.
    permitted: usize,
}

/// Cuts a stream of bytes into lines of bounded length.
struct LineSplitter {
    logs: GuestLog,
    source: LogSource,
    /// The beginning of the unfinished line, as far as the log needs it.
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
            let buffered = self.logs.bytes_needed().saturating_sub(self.partial.len()).min(text.len());
            self.partial.extend_from_slice(text.get(..buffered).unwrap_or_default());
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

    fn end_unfinished(&mut self) {
        if !self.partial.is_empty() {
            self.end_line();
        }
    }
}

impl Drop for LineSplitter {
    fn drop(&mut self) {
        self.end_unfinished();
    }
}

impl OutputStream for OutputHandle {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let left = self
            .permitted
            .checked_sub(bytes.len())
            .ok_or_else(|| StreamError::trap("write exceeded budget"))?;
        self.permitted = left;
        self.host_fuel.charge_now(bytes.len()).map_err(|error| StreamError::Trap(error.into()))?;
        self.lines.lock().push(&bytes);
        Ok(())
    }

    // Wasmtime's own function would call `check_write` again, which may permit nothing by now, and then trap the guest.
    fn write_zeroes(&mut self, count: usize) -> StreamResult<()> {
        if count > self.permitted {
            return Err(StreamError::trap("cannot write more zeroes than may be written"));
        }
        self.write(vec![0; count].into())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        // A guest that prints without end must pause, so that others run in between.
        self.permitted = if self.host_fuel.wants_pause() { 0 } else { CHUNK };
        Ok(self.permitted)
    }
}

#[async_trait]
impl Pollable for OutputHandle {
    async fn ready(&mut self) {
        self.host_fuel.pause().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;
    use crate::observe::Redactor;

    fn lines(limits: &Limits, redactor: Redactor) -> LogStream {
        let bucket = Arc::new(GuestLog::token_bucket(limits));
        let logs = GuestLog::new("p".into(), bucket, limits, redactor);
        LogStream::new(logs, HostFuel::new(u64::MAX), LogSource::Stdout)
    }

    fn print(stream: &LogStream, bytes: Bytes) -> StreamResult<()> {
        let mut handle = stream.p2_stream();
        handle.check_write()?;
        handle.write(bytes)
    }

    #[test]
    fn a_guest_that_prints_without_end_has_to_wait_for_others() {
        let stream = lines(&Limits::default(), Redactor::default());
        let mut handle = stream.p2_stream();
        assert!(handle.write(Bytes::from_static(b"x")).is_err(), "it has to call `check-write` first");
        let mut written = 0;
        while handle.check_write().unwrap() > 0 {
            handle.write(Bytes::from(vec![b'x'; CHUNK])).unwrap();
            written += 1;
        }
        assert!((2..20).contains(&written), "{written}");
        let mut handle = lines(&Limits::default(), Redactor::default()).p2_stream();
        let permitted = handle.check_write().unwrap();
        handle.write(Bytes::from(vec![b'x'; permitted - 8])).unwrap();
        handle.write_zeroes(8).unwrap();
        assert!(handle.write_zeroes(1).is_err());
    }

    #[test]
    fn handles_of_one_stream_write_to_one_line() {
        let stream = lines(&Limits::default(), Redactor::default());
        for piece in ["sec", "ret"] {
            print(&stream, Bytes::from_static(piece.as_bytes())).unwrap();
        }
        assert_eq!(stream.lines.lock().partial, b"secret");
        print(&stream, Bytes::from_static(b"\n")).unwrap();
        assert!(stream.lines.lock().partial.is_empty());
    }

    #[test]
    fn a_line_without_an_end_ends_with_its_call() {
        let limits = Limits::default();
        let bucket = Arc::new(GuestLog::token_bucket(&limits));
        let logs = GuestLog::new("p".into(), bucket, &limits, Redactor::default());
        let output = GuestOutput::new(&logs, &HostFuel::new(u64::MAX));
        print(&output.stdout, Bytes::from_static(b"first")).unwrap();
        output.end_lines();
        let lines = output.stdout.lines.lock();
        assert_eq!((lines.partial.len(), lines.length), (0, 0));
    }

    #[test]
    fn a_line_is_kept_as_far_as_a_secret_may_reach_beyond_the_cut() {
        let stream = lines(&Limits::default(), Redactor::new(["hunter2!"]));
        print(&stream, Bytes::from(vec![b'x'; 8_000])).unwrap();
        let lines = stream.lines.lock();
        assert_eq!((lines.partial.len(), lines.length), (LOG_LINE_BYTES + 8, 8_000));
    }
}
