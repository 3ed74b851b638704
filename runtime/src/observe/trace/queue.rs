//! The way of ended spans to the exporter: a bounded queue that never makes a call wait, and what became of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use super::span_data::SpanData;

/// A span in the queue. It is boxed, so that the queue moves pointers.
pub(super) type QueuedSpan = Box<SpanData>;

/// Most spans that wait for the exporter.
pub(super) const QUEUED_SPANS: usize = 2_048;

/// What became of spans since the start, for metrics.
#[derive(Debug, Default)]
pub struct SpanCounts {
    exported: AtomicU64,
    dropped: AtomicU64,
}

/// The end of the queue for those who end spans.
#[derive(Debug)]
pub(super) struct SpanQueue {
    sender: mpsc::Sender<QueuedSpan>,
    counts: Arc<SpanCounts>,
}

/// The other end of the queue, for the exporter.
#[derive(Debug)]
pub struct SpanReceiver {
    receiver: mpsc::Receiver<QueuedSpan>,
    counts: Arc<SpanCounts>,
}

/// A queue and its other end.
pub(super) fn queue() -> (SpanQueue, SpanReceiver) {
    let (sender, receiver) = mpsc::channel(QUEUED_SPANS);
    let counts = Arc::<SpanCounts>::default();
    (SpanQueue { sender, counts: Arc::clone(&counts) }, SpanReceiver { receiver, counts })
}

impl SpanCounts {
    /// Spans that the collector took.
    #[must_use]
    pub fn exported(&self) -> u64 {
        self.exported.load(Ordering::Relaxed)
    }

    /// Spans that were lost: the queue had no room for them, or the collector did not take them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn add_exported(&self, spans: u64) {
        self.exported.fetch_add(spans, Ordering::Relaxed);
    }

    pub(super) fn add_dropped(&self, spans: u64) {
        self.dropped.fetch_add(spans, Ordering::Relaxed);
    }
}

impl SpanQueue {
    /// Adds a span. A span for which there is no room is dropped and counted.
    pub(super) fn push(&self, span: QueuedSpan) {
        if self.sender.try_send(span).is_err() {
            self.counts.add_dropped(1);
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

    /// What became of spans so far.
    pub(super) fn counts(&self) -> &Arc<SpanCounts> {
        &self.counts
    }
}
