//! One client on a duplex connection: messages in one way, messages out the other, many requests running at once.
//!
//! Stdio and HTTP+SSE differ in how bytes come and go and in nothing else, so both pull from here what is to be
//! written. Requests run side by side and a slow one holds up nobody; what waits to be written is bounded, and a client
//! that does not read stops being read.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::framing::Line;
use crate::mcp::{BufferReservation, DuplexReply, DuplexSession, ResponsePart, ResponseStream};
use crate::sandbox::LargeWork;

/// Messages that may wait for a client that is slow to read.
const WAITING: usize = 16;

/// A line of input, with the buffer space that is reserved for it if it is large.
pub(super) type CountedLine = (Line, Option<BufferReservation>);

/// What requests under way have left when the input has ended.
pub(super) const DRAIN: Duration = Duration::from_secs(5);

/// Both directions of one connection.
pub(super) struct Duplex {
    connection: DuplexSession,
    input: mpsc::Receiver<CountedLine>,
    most: usize,
    requests: JoinSet<()>,
    sender: mpsc::Sender<Bytes>,
    output: mpsc::Receiver<Bytes>,
    stopping: CancellationToken,
    reading: Arc<LargeWork>,
    /// What was read and is not taken yet, since a large message waits until there is a place to read it.
    line: Option<CountedLine>,
    /// Until when requests under way may go on, once the input has ended.
    closing: Option<Instant>,
}

impl Duplex {
    /// Serves `connection` with messages of at most `most` bytes from `input`.
    pub(super) fn new(connection: DuplexSession, input: mpsc::Receiver<CountedLine>, most: usize) -> Self {
        let (sender, output) = mpsc::channel(WAITING);
        let stopping = connection.stopping();
        let (requests, reading) = (JoinSet::new(), connection.reading());
        let (line, closing) = (None, None);
        Self { connection, input, most, requests, sender, output, stopping, reading, line, closing }
    }

    /// The next message for the client, on one line; `None` when the conversation is over.
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
            // In no fixed order: a guest that floods its client must not keep it from cancelling, nor the other way
            // round.
            let line = tokio::select! {
                Some(message) = self.output.recv() => return Some(message),
                Some(_) = self.requests.join_next(), if !self.requests.is_empty() => continue,
                line = self.input.recv() => line,
                // What was read before the end still counts: the end of the input stops a server, too.
                () = self.stopping.cancelled() => {
                    self.input.close();
                    self.input.try_recv().ok()
                }
                unasked = self.connection.next_notification() => return unasked,
            };
            match line {
                Some(line) => self.line = Some(line),
                // A client that requested a list before all plugins were compiled gets the list, if the client still
                // reads.
                None => self.closing = Some(Instant::now() + DRAIN + self.connection.startup_wait()),
            }
        }
    }

    /// Handles the line that was read. The line stays until it can be: the caller of `next` may drop it and call again.
    async fn receive_line(&mut self) -> Option<Bytes> {
        let bytes = match &self.line {
            Some((Line::Whole(line), _)) => line.len(),
            _ => 0,
        };
        let Self { connection, line, most, reading, .. } = self;
        let receive = || match line.take() {
            Some((Line::Whole(line), held)) if !line.is_empty() => connection.receive_counted(&line, held),
            Some((Line::TooLong(skimmed), _)) => DuplexReply::Message(connection.too_long(&skimmed, *most)),
            Some((Line::Whole(_), _)) | None => DuplexReply::Nothing,
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

    /// Lets requests under way finish.
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
