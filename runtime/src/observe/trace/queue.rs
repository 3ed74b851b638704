//! The bounded queue from ended spans to the exporter, which never makes a call wait, and counters of exported and
//! dropped spans.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use super::span_data::SpanData;

/// A span in the queue. It is boxed, so that the queue moves a pointer and not the span.
pub(super) type QueuedSpan = Box<SpanData>;

/// Maximum number of spans in the queue.
pub(super) const QUEUED_SPANS: usize = 2_048;

/// Counters of exported and dropped spans since the start, for metrics.
#[derive(Debug, Default)]
pub struct SpanCounts {
    exported: AtomicU64,
    dropped: AtomicU64,
}

/// The sending end of the queue, for spans that end.
#[derive(Debug)]
pub(super) struct SpanQueue {
    sender: mpsc::Sender<QueuedSpan>,
    counts: Arc<SpanCounts>,
}

/// The receiving end of the queue, for the exporter.
#[derive(Debug)]
pub struct SpanReceiver {
    receiver: mpsc::Receiver<QueuedSpan>,
    counts: Arc<SpanCounts>,
}

/// Makes a queue and returns both ends.
pub(super) fn queue() -> (SpanQueue, SpanReceiver) {
    let (sender, receiver) = mpsc::channel(QUEUED_SPANS);
    let counts = Arc::<SpanCounts>::default();
    (SpanQueue { sender, counts: Arc::clone(&counts) }, SpanReceiver { receiver, counts })
}

impl SpanCounts {
    /// Number of spans that the collector accepted.
    #[must_use]
    pub fn exported(&self) -> u64 {
        self.exported.load(Ordering::Relaxed)
    }

    /// Number of spans that were lost because the queue was full or the collector did not accept them.
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
    /// Adds a span. If the queue is full, the span is dropped and counted.
    pub(super) fn push(&self, span: QueuedSpan) {
        if self.sender.try_send(span).is_err() {
            self.counts.add_dropped(1);
        }
    }
}

impl SpanReceiver {
    /// Waits for spans and moves up to `max` of them to `batch`. Returns how many; zero when the sending end is closed.
    /// Dropping the future loses no span.
    pub(super) async fn receive(&mut self, batch: &mut Vec<QueuedSpan>, max: usize) -> usize {
        self.receiver.recv_many(batch, max).await
    }

    /// Moves queued spans to `batch`, up to `max`, without waiting.
    pub(super) fn take_waiting(&mut self, batch: &mut Vec<QueuedSpan>, max: usize) {
        batch.extend(std::iter::from_fn(|| self.receiver.try_recv().ok()).take(max));
    }

    /// Number of spans in the queue.
    pub(super) fn waiting(&self) -> usize {
        self.receiver.len()
    }

    /// The counters of exported and dropped spans.
    pub(super) fn counts(&self) -> &Arc<SpanCounts> {
        &self.counts
    }
}
