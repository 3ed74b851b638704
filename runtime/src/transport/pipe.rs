//! One client on a pair of pipes: messages in one way, messages out the other, many requests under way between them.
//!
//! Stdio and HTTP+SSE differ in how bytes come and go and in nothing else, so both pull from here what is to be written.
//! Requests run side by side and a slow one holds up nobody; what waits to be written is bounded, and a client that does
//! not read stops being read.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lines::{self, Line};
use crate::protocol::{Connection, Exchange, Frame, Received};

/// Messages that may wait for a client that is slow to read.
const WAITING: usize = 64;

/// What requests under way have left when the input has ended.
pub(super) const DRAIN: Duration = Duration::from_secs(5);

/// The pipes.
pub(super) struct Pipe {
    connection: Connection,
    input: mpsc::Receiver<Line>,
    most: usize,
    requests: JoinSet<()>,
    sender: mpsc::Sender<Bytes>,
    output: mpsc::Receiver<Bytes>,
    stopping: CancellationToken,
    /// Until when requests under way may go on, once the input has ended.
    closing: Option<Instant>,
}

impl Pipe {
    /// Serves `connection` with messages of at most `most` bytes from `input`.
    pub(super) fn new(connection: Connection, input: mpsc::Receiver<Line>, most: usize) -> Self {
        let (sender, output) = mpsc::channel(WAITING);
        let stopping = connection.stopping();
        Self { connection, input, most, requests: JoinSet::new(), sender, output, stopping, closing: None }
    }

    /// The next message for the client, on one line; `None` when the conversation is over.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(end) = self.closing {
                return self.drain(end).await;
            }
            // In no fixed order: a guest that floods its client must not keep it from cancelling, nor the other way round.
            let line = tokio::select! {
                Some(message) = self.output.recv() => return Some(message),
                Some(_) = self.requests.join_next(), if !self.requests.is_empty() => continue,
                line = self.input.recv() => line,
                // What was read before the end still counts: the end of the input stops a server, too.
                () = self.stopping.cancelled() => {
                    self.input.close();
                    self.input.try_recv().ok()
                }
                unasked = self.connection.unasked() => return unasked,
            };
            match line {
                Some(line) => {
                    if let Some(reply) = self.take(&line) {
                        return Some(reply);
                    }
                }
                // Whoever asked for a list before all was compiled gets it, if it still reads.
                None => self.closing = Some(Instant::now() + DRAIN + self.connection.starting()),
            }
        }
    }

    fn take(&mut self, line: &Line) -> Option<Bytes> {
        let received = match line {
            Line::Whole(line) if line.is_empty() => return None,
            Line::Whole(line) => self.connection.receive(line),
            Line::TooLong(skimmed) => Received::Reply(self.connection.too_long(skimmed, self.most)),
        };
        match received {
            Received::Nothing => None,
            Received::Reply(reply) => Some(reply),
            Received::Exchange(exchange) => {
                self.requests.spawn(pump(exchange, self.sender.clone()));
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
                    tracing::warn!("stopped requests that were still under way when the input ended");
                    return None;
                }
            }
        }
    }
}

async fn pump(mut exchange: Exchange, sender: mpsc::Sender<Bytes>) {
    while let Some(frame) = exchange.next().await {
        let (Frame::Message(line) | Frame::Answer(line, _)) = frame;
        if sender.send(lines::unbroken(line)).await.is_err() {
            return;
        }
    }
}
