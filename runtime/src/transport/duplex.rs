//! One client on a duplex connection: messages in one way, messages out the other, many requests running at once.
//!
//! Stdio and HTTP+SSE differ only in how bytes come and go, so both read the messages to write from here. Requests run
//! concurrently, so a slow one delays no other. The messages that wait to be written are bounded, and when a client
//! does not read, no more of its input is read.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::framing::Line;
use crate::mcp::{BufferReservation, Caller, DuplexReply, DuplexSession, ResponsePart, ResponseStream};
use crate::sandbox::LargeWork;

/// Messages that may wait for a client that is slow to read.
const WAITING: usize = 16;

/// A line of input.
pub(super) struct InputLine {
    pub(super) line: Line,
    /// The buffer space that is reserved for it if it is large.
    pub(super) reservation: Option<BufferReservation>,
    /// Who sent it, where each message is authenticated.
    pub(super) sender: Option<Caller>,
}

/// How long running requests may go on when the input has ended.
pub(super) const DRAIN: Duration = Duration::from_secs(5);

/// Both directions of one connection.
pub(super) struct Duplex {
    connection: DuplexSession,
    input: mpsc::Receiver<InputLine>,
    max_bytes: usize,
    requests: JoinSet<()>,
    sender: mpsc::Sender<Bytes>,
    output: mpsc::Receiver<Bytes>,
    stopping: CancellationToken,
    reading: Arc<LargeWork>,
    /// The line that was read and not handled yet: a large message waits for a permit.
    line: Option<InputLine>,
    /// Until when running requests may go on, once the input has ended.
    closing: Option<Instant>,
}

impl Duplex {
    /// Serves `connection` with messages of at most `max_bytes` bytes from `input`.
    pub(super) fn new(connection: DuplexSession, input: mpsc::Receiver<InputLine>, max_bytes: usize) -> Self {
        let (sender, output) = mpsc::channel(WAITING);
        let stopping = connection.stopping();
        let (requests, reading) = (JoinSet::new(), connection.reading());
        let (line, closing) = (None, None);
        Self { connection, input, max_bytes, requests, sender, output, stopping, reading, line, closing }
    }

    /// The next message for the client, on one line; `None` at the end of the connection. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.line.is_some()
                && let Some(reply) = self.receive_line().await
            {
                return Some(reply);
            }
            if let Some(end) = self.closing {
                return self.drain(end).await;
            }
            // Without `biased`: a guest that floods its client must not keep the client from cancelling, nor the other
            // way round.
            let line = tokio::select! {
                Some(message) = self.output.recv() => return Some(message),
                Some(_) = self.requests.join_next(), if !self.requests.is_empty() => continue,
                line = self.input.recv() => line,
                // A line that was read before the stop is still handled: the end of the input also stops a server.
                () = self.stopping.cancelled() => {
                    self.input.close();
                    self.input.try_recv().ok()
                }
                notification = self.connection.next_notification() => return notification,
            };
            match line {
                Some(line) => self.line = Some(line),
                // A client that requested a list before all plugins were compiled gets the list, if the client still
                // reads.
                None => {
                    let drain = self.connection.shutdown_time().unwrap_or(DRAIN);
                    self.closing = Some(Instant::now() + drain + self.connection.startup_wait());
                }
            }
        }
    }

    /// Handles `line`, which stays until there is a permit: the caller of `next` may drop the future and call again.
    async fn receive_line(&mut self) -> Option<Bytes> {
        let bytes = match &self.line {
            Some(InputLine { line: Line::Whole(line), .. }) => line.len(),
            _ => 0,
        };
        let Self { connection, line, max_bytes, reading, .. } = self;
        let receive = || match line.take() {
            Some(InputLine { line: Line::Whole(line), reservation, sender }) if !line.is_empty() => {
                connection.receive_counted(&line, reservation, sender)
            }
            Some(InputLine { line: Line::TooLong(oversized), .. }) => {
                DuplexReply::Message(connection.too_long(&oversized, *max_bytes))
            }
            Some(InputLine { line: Line::Whole(_), .. }) | None => DuplexReply::Nothing,
        };
        match reading.in_place(bytes, receive).await {
            DuplexReply::Nothing => None,
            DuplexReply::Message(reply) => Some(reply),
            DuplexReply::Stream(stream) => {
                self.requests.spawn(pump(stream, self.sender.clone()));
                None
            }
        }
    }

    /// Lets running requests finish.
    async fn drain(&mut self, end: Instant) -> Option<Bytes> {
        loop {
            if let Ok(message) = self.output.try_recv() {
                return Some(message);
            }
            tokio::select! {
                biased;
                Some(message) = self.output.recv() => return Some(message),
                finished = self.requests.join_next() => {
                    if finished.is_none() {
                        return self.output.try_recv().ok();
                    }
                }
                () = tokio::time::sleep_until(end) => {
                    tracing::warn!("cancelled requests that were still running when the input ended");
                    return None;
                }
            }
        }
    }
}

async fn pump(mut stream: ResponseStream, sender: mpsc::Sender<Bytes>) {
    while let Some(part) = stream.next().await {
        let (ResponsePart::Message(line) | ResponsePart::Response(line, _)) = part;
        if sender.send(line).await.is_err() {
            return;
        }
    }
}
