//! The task that sends ended spans to the collector, in batches.
//!
//! A collector may be gone, slow or broken. Then spans are lost and nothing else happens: the queue is bounded, each
//! batch has a time-out, and the log has at most one line a minute with the number of lost spans. A batch is never sent
//! twice: a collector that answers 500 may have stored the batch already, and spans that wait for a second attempt
//! would take the space of newer ones.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::http_sender::{OtlpTarget, SendError};
use super::otlp;
use super::queue::{QueuedSpan, SpanCounts, SpanReceiver};
use crate::observe::with_causes;

/// Maximum number of spans in one batch.
const BATCH: usize = 512;

/// How long a batch waits for more spans after its first span.
const LINGER: Duration = Duration::from_secs(1);

/// Time-out for sending one batch.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time-out for sending the remaining spans when the server stops.
const FLUSH_TIME: Duration = Duration::from_secs(2);

/// Minimum time between two log lines about lost spans.
const LOG_PERIOD: Duration = Duration::from_secs(60);

/// Sends spans to a collector.
#[derive(Debug)]
pub struct TraceExporter {
    spans: SpanReceiver,
    target: OtlpTarget,
    log: LossLog,
    /// Tells the spans of this server from those of others.
    instance_id: Option<String>,
    /// Number of spans in the batch that is being sent; they are lost if the server stops before it is sent.
    sending: u64,
}

/// What the log has said about lost spans.
#[derive(Debug, Default)]
struct LossLog {
    /// Number of lost spans in the log so far.
    reported: u64,
    /// Why the last batch was lost; `None` if spans were lost only because the queue was full.
    reason: Option<String>,
    logged: Option<Instant>,
}

impl TraceExporter {
    /// An exporter of these spans.
    #[must_use]
    pub fn new(spans: SpanReceiver, target: OtlpTarget) -> Self {
        Self { spans, target, log: LossLog::default(), instance_id: otlp::random_instance_id(), sending: 0 }
    }

    /// Counters of exported and dropped spans, which go on counting while the exporter runs.
    #[must_use]
    pub fn counts(&self) -> Arc<SpanCounts> {
        Arc::clone(self.spans.counts())
    }

    /// Sends spans until `stop` is cancelled, and then sends the remaining ones for at most two seconds (`FLUSH_TIME`).
    pub async fn run(mut self, stop: CancellationToken) {
        let too_late = async {
            stop.cancelled().await;
            sleep(FLUSH_TIME).await;
        };
        tokio::select! {
            biased;
            () = self.send_batches(&stop) => {}
            () = too_late => self.log.reason = Some("the server stopped before they were sent".to_owned()),
        }
        let counts = self.spans.counts();
        counts.add_dropped(self.sending + self.spans.waiting() as u64);
        self.log.write(counts);
    }

    async fn send_batches(&mut self, stop: &CancellationToken) {
        loop {
            let batch = self.next_batch(stop).await;
            if batch.is_empty() {
                return;
            }
            self.sending = batch.len() as u64;
            let sent = self.send(batch).await;
            let (counts, count) = (self.spans.counts(), std::mem::take(&mut self.sending));
            match sent {
                Ok(()) => counts.add_exported(count),
                Err(error) => {
                    counts.add_dropped(count);
                    self.log.reason = Some(with_causes(&error));
                }
            }
            self.log.write_if_due(counts);
        }
    }

    /// Waits for the first span, and up to [`LINGER`] for more. When the server stops, it returns the spans in the
    /// queue; an empty batch means that all are sent.
    async fn next_batch(&mut self, stop: &CancellationToken) -> Vec<QueuedSpan> {
        let mut batch = Vec::new();
        let fill = async {
            let mut received = self.spans.receive(&mut batch, BATCH).await;
            let mut linger = std::pin::pin!(sleep(LINGER));
            while received > 0 && batch.len() < BATCH {
                let missing = BATCH - batch.len();
                received = tokio::select! {
                    biased;
                    received = self.spans.receive(&mut batch, missing) => received,
                    () = &mut linger => 0,
                };
            }
        };
        if stop.run_until_cancelled(fill).await.is_none() {
            let missing = BATCH.saturating_sub(batch.len());
            self.spans.take_waiting(&mut batch, missing);
        }
        batch
    }

    async fn send(&self, batch: Vec<QueuedSpan>) -> Result<(), SendError> {
        let spans = batch.into_iter().map(|span| *span);
        let body = Bytes::from(otlp::encode(self.instance_id.as_deref(), spans));
        timeout(EXPORT_TIMEOUT, self.target.post(body)).await.unwrap_or(Err(SendError::TimedOut))
    }
}

impl LossLog {
    fn write_if_due(&mut self, counts: &SpanCounts) {
        if self.logged.is_none_or(|logged| logged.elapsed() >= LOG_PERIOD) {
            self.write(counts);
        }
    }

    /// Logs how many spans were lost since the last log line, if any were.
    fn write(&mut self, counts: &SpanCounts) {
        let dropped = counts.dropped();
        let lost = dropped.saturating_sub(self.reported);
        if lost == 0 {
            return;
        }
        let reason = self.reason.take();
        let reason = reason.as_deref().unwrap_or("more spans ended than the collector accepted in time");
        tracing::warn!(lost, "spans were lost on their way to the collector of [telemetry]: {reason}");
        *self = Self { reported: dropped, reason: None, logged: Some(Instant::now()) };
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::super::tracer::Tracer;
    use super::*;

    /// An exporter to a collector on this machine, with three spans to send.
    fn exporter(port: u16) -> (Tracer, TraceExporter) {
        let (tracer, spans) = Tracer::new(1_000);
        (0..3).for_each(|_| drop(tracer.begin("a", None, || true).unwrap()));
        let place = ("127.0.0.1".to_owned(), port, false);
        let target = OtlpTarget::new(place, "127.0.0.1", "/v1/traces".to_owned(), &[("x-key", "k3y")]);
        (tracer, TraceExporter::new(spans, target.unwrap()))
    }

    #[tokio::test]
    async fn what_is_left_is_sent_when_the_server_stops() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (_tracer, exporter) = exporter(listener.local_addr().unwrap().port());
        let stop = CancellationToken::new();
        stop.cancel();
        let collector = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4_096];
            let length = stream.read(&mut request).await.unwrap();
            // The body never ends, and the exporter must not wait for it.
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").await.unwrap();
            (String::from_utf8_lossy(&request[..length]).into_owned(), stream)
        };
        let begun = Instant::now();
        let counts = exporter.counts();
        let ((), (request, _stream)) = tokio::join!(exporter.run(stop), collector);
        assert!(begun.elapsed() < FLUSH_TIME, "{:?}", begun.elapsed());
        assert_eq!((counts.exported(), counts.dropped()), (3, 0));
        assert!(request.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("content-type: application/x-protobuf\r\n"), "{request}");
        assert!(request.contains("x-key: k3y\r\n"), "{request}");
    }

    #[tokio::test]
    async fn a_collector_that_never_answers_does_not_hold_up_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (_tracer, exporter) = exporter(listener.local_addr().unwrap().port());
        let stop = CancellationToken::new();
        stop.cancel();
        let begun = Instant::now();
        let counts = exporter.counts();
        exporter.run(stop).await;
        assert!(begun.elapsed() < FLUSH_TIME + Duration::from_secs(5), "{:?}", begun.elapsed());
        assert_eq!((counts.exported(), counts.dropped()), (0, 3));
    }

    #[tokio::test]
    async fn a_lost_batch_is_counted_and_logged_once_a_minute() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let (tracer, mut exporter) = exporter(port);
        let stop = CancellationToken::new();
        drop(tracer);
        exporter.log.logged = Some(Instant::now());
        exporter.send_batches(&stop).await;
        let counts = exporter.counts();
        assert_eq!((counts.exported(), counts.dropped(), exporter.log.reported), (0, 3, 0));
        assert!(
            exporter
                .log
                .reason
                .as_deref()
                .is_some_and(|reason| reason.starts_with("it could not be reached: "))
        );
        exporter.log.write(&counts);
        assert_eq!((exporter.log.reported, exporter.log.reason.is_some()), (3, false));
    }

    #[test]
    fn an_invalid_header_is_named_without_its_value() {
        let place = || ("a".to_owned(), 1, false);
        for (name, value) in [("x y", "secret"), ("x", "secret\r\ny: z")] {
            let error = OtlpTarget::new(place(), "a", "/".to_owned(), &[(name, value)]).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let target = OtlpTarget::new(place(), "a", "/".to_owned(), &[("x", "secret")]).unwrap();
        assert!(!format!("{target:?}").contains("secret"));
    }
}
