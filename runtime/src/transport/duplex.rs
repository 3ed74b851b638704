//! Serves one client on a duplex connection: it reads and writes messages, and runs many requests at once.
//!
//! Stdio and HTTP+SSE differ only in how bytes are read and written: each brings an [`Input`], and writes the messages
//! that [`Duplex`] returns. Most requests end with their first poll. If no other line has been read, the task that read
//! such a request also serves it, so that nothing is handed from task to task. If other lines wait, each request
//! becomes a task, so that several cores serve them. A request that does not end with its first poll always becomes a
//! task, so that it delays no other request.
//!
//! The number of messages that wait to be written is bounded. While a client does not read, its input is still handled,
//! so that it can cancel requests, but only up to the first message that needs an immediate reply.

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

/// Maximum number of messages that wait for a client that reads slowly.
const MAX_WAITING: usize = 16;

/// A line of input.
pub(super) struct InputLine {
    pub(super) line: Line,
    /// The buffer space that is reserved for the line, if the line is large.
    pub(super) reservation: Option<BufferReservation>,
    /// The caller that sent the line, for transports that authenticate each message.
    pub(super) sender: Option<Caller>,
}

/// The source of a client's lines.
pub(super) trait Input: Send {
    /// Returns the next line; `None` at the end. Cancel-safe.
    fn next(&mut self) -> impl Future<Output = Option<InputLine>> + Send;

    /// Stops reading. Returns the next line that was read before; `None` after the last one.
    fn stop(&mut self) -> Option<InputLine>;

    /// Whether another line has been read already.
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

/// How long running requests may continue after the input has ended.
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
    /// A line that was read and is not handled yet: a large message waits for a permit first.
    line: Option<InputLine>,
    /// The reply to the last line, until the caller takes it. Meanwhile no other line is read.
    reply: Option<Bytes>,
    /// How long running requests may continue, set when the input has ended.
    drain_until: Option<Instant>,
}

impl<I: Input> Duplex<I> {
    /// Serves `connection`. `max_bytes` is the maximum length of a message from `input`.
    pub(super) fn new(connection: DuplexSession, input: I, max_bytes: usize) -> Self {
        let (sender, output) = mpsc::channel(MAX_WAITING);
        let stopping = connection.stopping();
        let (requests, reading) = (JoinSet::new(), connection.reading());
        let (line, reply, drain_until) = (None, None, None);
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
            drain_until,
        }
    }

    /// Ends the connection and cancels its running requests.
    pub(super) fn into_input(self) -> I {
        self.input
    }

    /// Returns the next message for the client as one line; `None` at the end of the connection. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        self.run(true).await
    }

    /// Returns a message of a running request if one is ready.
    pub(super) fn try_next(&mut self) -> Option<Bytes> {
        self.output.try_recv().ok()
    }

    /// Handles input while the client does not read. Returns at the end of the connection. Cancel-safe.
    pub(super) async fn handle_input(&mut self) {
        self.run(false).await;
    }

    /// Handles input until there is a message for the client, and returns it. If the client has no room for a message
    /// (`has_capacity`), it returns only at the end of the connection.
    async fn run(&mut self, has_capacity: bool) -> Option<Bytes> {
        loop {
            // A request that has ended does not wake this task; it is removed when something else does.
            while self.requests.try_join_next().is_some() {}
            if self.line.is_some() {
                self.reply = self.receive_line(has_capacity).await;
            }
            if has_capacity && self.reply.is_some() {
                return self.reply.take();
            }
            if let Some(end) = self.drain_until {
                return self.drain(end, has_capacity).await;
            }
            if self.reply.is_some() {
                return std::future::pending().await;
            }
            // Not `biased`: a guest that floods its client must not prevent the client from cancelling, and a client
            // that floods the server must not hold back messages to it.
            let line = tokio::select! {
                Some(message) = self.output.recv(), if has_capacity => return Some(message),
                line = self.input.next() => line,
                // Lines that were read before the stop are still handled.
                () = self.stopping.cancelled() => self.input.stop(),
                notification = self.connection.next_notification(), if has_capacity => return notification,
            };
            match line {
                Some(line) => self.line = Some(line),
                // A client that requested a list before all plugins were compiled still gets the list if it keeps
                // reading.
                None => {
                    let drain = self.connection.shutdown_time().unwrap_or(DRAIN);
                    self.drain_until = Some(Instant::now() + drain + self.connection.startup_wait());
                }
            }
        }
    }

    /// Handles `line`. It stays in `self` until its permit is acquired, because the caller of `run` may drop the future
    /// and call again.
    async fn receive_line(&mut self, has_capacity: bool) -> Option<Bytes> {
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
            DuplexReply::Stream(stream) => self.start(stream, has_capacity),
        }
    }

    /// Starts a request. Returns its first message if that can be written now and the first poll returns it.
    fn start(&mut self, mut stream: ResponseStream, has_capacity: bool) -> Option<Bytes> {
        let is_alone = has_capacity && !self.input.has_line();
        let polled = if is_alone { stream.next().now_or_never() } else { None };
        let first = match polled {
            Some(Some(ResponsePart::Response(response, _))) => return Some(response.into_bytes()),
            Some(Some(ResponsePart::Message(message))) => Some(message),
            // The request was cancelled.
            Some(None) => return None,
            None => None,
        };
        self.requests.spawn(send_parts(stream, self.sender.clone()));
        first
    }

    /// Lets running requests finish until `end`, and returns their messages.
    async fn drain(&mut self, end: Instant, has_capacity: bool) -> Option<Bytes> {
        loop {
            if has_capacity && let Ok(message) = self.output.try_recv() {
                return Some(message);
            }
            tokio::select! {
                biased;
                Some(message) = self.output.recv(), if has_capacity => return Some(message),
                finished = self.requests.join_next(), if has_capacity => {
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

async fn send_parts(mut stream: ResponseStream, sender: mpsc::Sender<Bytes>) {
    while let Some(part) = stream.next().await {
        if sender.send(part.into_bytes()).await.is_err() {
            return;
        }
    }
}
