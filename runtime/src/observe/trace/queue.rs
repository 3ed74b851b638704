//! The way of ended spans to the exporter: a bounded queue that never makes a call wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use super::span_data::SpanData;

/// A span in the queue. It is boxed, so that the queue moves pointers.
pub(super) type QueuedSpan = Box<SpanData>;

/// Most spans that wait for the exporter.
pub(super) const QUEUED_SPANS: usize = 2_048;

/// The end of the queue for those who end spans.
#[derive(Debug)]
pub(super) struct SpanQueue {
    sender: mpsc::Sender<QueuedSpan>,
    dropped: Arc<AtomicU64>,
}

/// The other end of the queue, for the exporter.
#[derive(Debug)]
pub struct SpanReceiver {
    receiver: mpsc::Receiver<QueuedSpan>,
    dropped: Arc<AtomicU64>,
}

/// A queue and its other end.
pub(super) fn queue() -> (SpanQueue, SpanReceiver) {
    let (sender, receiver) = mpsc::channel(QUEUED_SPANS);
    let dropped = Arc::<AtomicU64>::default();
    (SpanQueue { sender, dropped: Arc::clone(&dropped) }, SpanReceiver { receiver, dropped })
}

impl SpanQueue {
    /// Adds a span. A span for which there is no room is dropped and counted.
    pub(super) fn push(&self, span: QueuedSpan) {
        if self.sender.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl SpanReceiver {
    /// Waits for spans and adds up to `max` of them to a batch. Returns how many; zero when there will be no more. It
    /// can be dropped without losing a span.
    pub(super) async fn receive(&mut self, batch: &mut Vec<QueuedSpan>, max: usize) -> usize {
        self.receiver.recv_many(batch, max).await
    }

    /// Adds what waits to a batch, up to `max` spans.
    pub(super) fn take_waiting(&mut self, batch: &mut Vec<QueuedSpan>, max: usize) {
        batch.extend(std::iter::from_fn(|| self.receiver.try_recv().ok()).take(max));
    }

    /// How many spans wait.
    pub(super) fn waiting(&self) -> usize {
        self.receiver.len()
    }

    /// Spans that were dropped since this was last asked.
    pub(super) fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }
}
