//! The lines of stdin. A large line has a reservation of buffer space.
//!
//! While a large line waits for its reservation, no more of stdin is read, so the client's writes wait, as with any
//! full pipe. Everything that was read stays in [`StdinLines`], so the future for the next line can be dropped.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, BufReader};
use tokio::task::coop::consume_budget;
use tokio::time::Instant;

use super::super::duplex::{Input, InputLine};
use super::super::framing::{Line, LineReader};
use crate::mcp::{BufferShare, Server, UNCOUNTED_BYTES, buffer_cost};

/// How many bytes are read at once: the capacity of a pipe on Linux.
const BUFFER: usize = 64 << 10;

/// How long a large line waits for buffer space before it is rejected.
const RESERVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The lines of stdin.
pub(super) struct StdinLines<R> {
    lines: LineReader<R>,
    server: Arc<Server>,
    share: BufferShare,
    waiting: Option<WaitingLine>,
    stopped: bool,
    outcome: io::Result<()>,
}

/// A large line that waits for its reservation.
struct WaitingLine {
    line: Vec<u8>,
    deadline: Instant,
}

impl<R: AsyncRead + Unpin> StdinLines<R> {
    pub(super) fn new(input: R, max_bytes: usize, server: Arc<Server>, share: BufferShare) -> Self {
        let lines = LineReader::new(BufReader::with_capacity(BUFFER, input), max_bytes);
        Self { lines, server, share, waiting: None, stopped: false, outcome: Ok(()) }
    }

    /// Returns how reading has ended.
    pub(super) fn outcome(self) -> io::Result<()> {
        self.outcome
    }

    fn end(&mut self, outcome: io::Result<()>) {
        tracing::info!("stdin was closed; the server finishes the requests under way, then stops");
        self.outcome = outcome;
        self.stopped = true;
        // The only client is gone, so subscriptions and suspended calls end too.
        self.server.input_closed();
    }
}

impl<R: AsyncRead + Unpin + Send> Input for StdinLines<R> {
    async fn next(&mut self) -> Option<InputLine> {
        // Lines that are buffered already come without waiting, so many of them would keep other tasks from this
        // worker.
        consume_budget().await;
        if self.stopped {
            return self.stop();
        }
        if self.waiting.is_none() {
            match self.lines.next().await {
                Ok(Some(Line::Whole(line))) if line.len() > UNCOUNTED_BYTES => {
                    self.waiting = Some(WaitingLine { line, deadline: Instant::now() + RESERVE_TIMEOUT });
                }
                Ok(Some(line)) => return Some(InputLine { line, reservation: None, sender: None }),
                Ok(None) => {
                    self.end(Ok(()));
                    return None;
                }
                Err(error) => {
                    self.end(Err(error));
                    return None;
                }
            }
        }
        let WaitingLine { line, deadline } = self.waiting.as_ref()?;
        let timeout = deadline.saturating_duration_since(Instant::now());
        let reservation = self.share.reserve_timeout(buffer_cost(line.len()), timeout).await;
        let line = Line::Whole(self.waiting.take()?.line);
        Some(InputLine { line, reservation, sender: None })
    }

    fn stop(&mut self) -> Option<InputLine> {
        self.stopped = true;
        let waiting = self.waiting.take().map(|waiting| Line::Whole(waiting.line));
        let line = waiting.or_else(|| self.lines.next_buffered())?;
        Some(InputLine { line, reservation: None, sender: None })
    }

    fn has_line(&self) -> bool {
        self.lines.has_line()
    }
}
