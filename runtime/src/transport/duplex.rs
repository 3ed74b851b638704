//! One client on a duplex connection: messages in one way, messages out the other, many requests running at once.
//!
//! Stdio and HTTP+SSE differ only in how bytes come and go, so both bring an [`Input`], and read the messages to write
//! from here. Most requests end with their first poll. If no other line waits, the task that has read such a request
//! also serves it, and nothing is handed from task to task. If others wait, each request becomes a task, so that they
//! are served on several cores; a request that goes on becomes a task in any case, so that it delays no other.
//!
//! The messages that wait to be written are bounded. When a client does not read, its input is still handled, so that
//! it can cancel, up to the first message that has to be answered at once.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::framing::Line;
use crate::mcp::{BufferReservation, Caller, DuplexReply, DuplexSession, ResponsePart, ResponseStream};
use crate::sandbox::{LargeWork, json_work};

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

/// Where the lines of a client come from.
pub(super) trait Input: Send {
    /// The next line; `None` at the end. Cancel-safe.
    fn next(&mut self) -> impl Future<Output = Option<InputLine>> + Send;

    /// Reads no more. Returns the next line that was read already; `None` after the last one.
    fn stop(&mut self) -> Option<InputLine>;

    /// Whether another line was read already.
    fn has_line(&self) -> bool;
}

impl Input for mpsc::Receiver<InputLine> {
    async fn next(&mut self) -> Option<InputLine> {
        self.recv().await
    }

    fn stop(&mut self) -> Option<InputLine> {
        self.close();
        self.try_recv().ok()
    }

    fn has_line(&self) -> bool {
        !self.is_empty()
    }
}

/// How long running requests may go on when the input has ended.
pub(super) const DRAIN: Duration = Duration::from_secs(5);

/// Both directions of one connection.
pub(super) struct Duplex<I> {
    connection: DuplexSession,
    input: I,
    max_bytes: usize,
    requests: JoinSet<()>,
    sender: mpsc::Sender<Bytes>,
    output: mpsc::Receiver<Bytes>,
    stopping: CancellationToken,
    reading: Arc<LargeWork>,
    /// The line that was read and not handled yet: a large message waits for a permit.
    line: Option<InputLine>,
    /// The reply to the last line, if nobody took it yet. Until then no other line is read.
    reply: Option<Bytes>,
    /// Until when running requests may go on, once the input has ended.
    closing: Option<Instant>,
}

impl<I: Input> Duplex<I> {
    /// Serves `connection` with messages of at most `max_bytes` bytes from `input`.
    pub(super) fn new(connection: DuplexSession, input: I, max_bytes: usize) -> Self {
        let (sender, output) = mpsc::channel(WAITING);
        let stopping = connection.stopping();
        let (requests, reading) = (JoinSet::new(), connection.reading());
        let (line, reply, closing) = (None, None, None);
        Self {
            connection,
            input,
            max_bytes,
            requests,
            sender,
            output,
            stopping,
            reading,
            line,
            reply,
            closing,
        }
    }

    /// Ends the connection and its running requests.
    pub(super) fn into_input(self) -> I {
        self.input
    }

    /// The next message for the client, on one line; `None` at the end of the connection. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        self.run(true).await
    }

    /// A message of a running request that waits already.
    pub(super) fn try_next(&mut self) -> Option<Bytes> {
        self.output.try_recv().ok()
    }

    /// Handles the input of a client that does not read. Returns at the end of the connection. Cancel-safe.
    pub(super) async fn handle_input(&mut self) {
        self.run(false).await;
    }

    /// Handles input until there is a message for the client. Without `has_room` for a message, only the end of the
    /// connection is returned.
    async fn run(&mut self, has_room: bool) -> Option<Bytes> {
        loop {
            // The ends of requests wake nobody: without a message they change nothing.
            while self.requests.try_join_next().is_some() {}
            if self.line.is_some() {
                self.reply = self.receive_line(has_room).await;
            }
            if has_room && self.reply.is_some() {
                return self.reply.take();
            }
            if let Some(end) = self.closing {
                return self.drain(end, has_room).await;
            }
            if self.reply.is_some() {
                return std::future::pending().await;
            }
            // Without `biased`: a guest that floods its client must not keep the client from cancelling, nor the other
            // way round.
            let line = tokio::select! {
                Some(message) = self.output.recv(), if has_room => return Some(message),
                line = self.input.next() => line,
                // A line that was read before the stop is still handled.
                () = self.stopping.cancelled() => self.input.stop(),
                notification = self.connection.next_notification(), if has_room => return notification,
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

    /// Handles `line`, which stays until there is a permit: the caller of `run` may drop the future and call again.
    async fn receive_line(&mut self, has_room: bool) -> Option<Bytes> {
        let work = match &self.line {
            Some(InputLine { line: Line::Whole(line), .. }) => json_work(line),
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
        let reply = reading.in_place(work, receive).await;
        match reply {
            DuplexReply::Nothing => None,
            DuplexReply::Message(reply) => Some(reply),
            DuplexReply::Stream(stream) => self.start(stream, has_room),
        }
    }

    /// Starts a request. Returns its first message, if that can be written now and comes with the first poll.
    fn start(&mut self, mut stream: ResponseStream, has_room: bool) -> Option<Bytes> {
        let is_alone = has_room && !self.input.has_line();
        let polled = if is_alone { stream.next().now_or_never() } else { None };
        let first = match polled {
            Some(Some(ResponsePart::Response(response, _))) => return Some(response.into_bytes()),
            Some(Some(ResponsePart::Message(message))) => Some(message),
            // Cancelled.
            Some(None) => return None,
            None => None,
        };
        self.requests.spawn(pump(stream, self.sender.clone()));
        first
    }

    /// Lets running requests finish.
    async fn drain(&mut self, end: Instant, has_room: bool) -> Option<Bytes> {
        loop {
            if has_room && let Ok(message) = self.output.try_recv() {
                return Some(message);
            }
            tokio::select! {
                biased;
                Some(message) = self.output.recv(), if has_room => return Some(message),
                finished = self.requests.join_next(), if has_room => {
                    if finished.is_none() {
                        return self.output.try_recv().ok();
                    }
                }
                () = tokio::time::sleep_until(end) => {
                    if !self.requests.is_empty() {
                        tracing::warn!("cancelled requests that were still running when the input ended");
                    }
                    return None;
                }
            }
        }
    }
}

async fn pump(mut stream: ResponseStream, sender: mpsc::Sender<Bytes>) {
    while let Some(part) = stream.next().await {
        if sender.send(part.into_bytes()).await.is_err() {
            return;
        }
    }
}
