//! The lines of stdin, large ones with a reservation of buffer space.
//!
//! While a large line waits for its reservation, no more of stdin is read: the client waits, as it does for a full
//! pipe. Everything that was read stays here, so the future for the next line can be dropped.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, BufReader};
use tokio::task::coop::consume_budget;
use tokio::time::Instant;

use super::super::duplex::{Input, InputLine};
use super::super::framing::{Line, LineReader};
use crate::mcp::{BufferShare, Server, UNCOUNTED_BYTES, buffer_cost};

/// Bytes that are read at once: what a pipe of Linux holds.
const BUFFER: usize = 64 << 10;

/// How long a large line waits for buffer space, which then is rejected.
const PATIENCE: Duration = Duration::from_secs(5);

/// The lines of stdin.
pub(super) struct StdioInput<R> {
    lines: LineReader<R>,
    server: Arc<Server>,
    share: BufferShare,
    /// A large line without a reservation so far.
    large: Option<LargeLine>,
    stopped: bool,
    outcome: io::Result<()>,
}

struct LargeLine {
    line: Vec<u8>,
    /// Until when it waits.
    deadline: Instant,
}

impl<R: AsyncRead + Unpin> StdioInput<R> {
    pub(super) fn new(input: R, max_bytes: usize, server: Arc<Server>, share: BufferShare) -> Self {
        let lines = LineReader::new(BufReader::with_capacity(BUFFER, input), max_bytes);
        Self { lines, server, share, large: None, stopped: false, outcome: Ok(()) }
    }

    /// How reading has ended.
    pub(super) fn outcome(self) -> io::Result<()> {
        self.outcome
    }

    fn end(&mut self, outcome: io::Result<()>) {
        tracing::info!("stdin was closed; the server finishes the requests under way, then stops");
        self.outcome = outcome;
        self.stopped = true;
        // The only client has ended, so subscriptions and suspended calls end too.
        self.server.input_closed();
    }
}

impl<R: AsyncRead + Unpin + Send> Input for StdioInput<R> {
    async fn next(&mut self) -> Option<InputLine> {
        // Lines that were read already come without waiting, so many of them would keep other tasks from this worker.
        consume_budget().await;
        if self.stopped {
            return self.stop();
        }
        if self.large.is_none() {
            match self.lines.next().await {
                Ok(Some(Line::Whole(line))) if line.len() > UNCOUNTED_BYTES => {
                    self.large = Some(LargeLine { line, deadline: Instant::now() + PATIENCE });
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
        let LargeLine { line, deadline } = self.large.as_ref()?;
        let patience = deadline.saturating_duration_since(Instant::now());
        let reservation = self.share.reserve_timeout(buffer_cost(line.len()), patience).await;
        let line = Line::Whole(self.large.take()?.line);
        Some(InputLine { line, reservation, sender: None })
    }

    fn stop(&mut self) -> Option<InputLine> {
        self.stopped = true;
        let large = self.large.take().map(|large| Line::Whole(large.line));
        let line = large.or_else(|| self.lines.next_buffered())?;
        Some(InputLine { line, reservation: None, sender: None })
    }

    fn has_line(&self) -> bool {
        self.lines.has_line()
    }
}
