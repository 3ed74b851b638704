//! The queue from the tasks that record events to the thread that writes them. It holds finished lines, and events
//! whose lines the thread serializes.
//!
//! An async task may record an event, so recording waits for the disk only when the queue is full, and not for long.
//! Lines that do not fit after that wait are dropped and counted, and a line in the file says how many are missing. The
//! thread repeats a failed write until it succeeds.

use std::fmt;
use std::io;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Condvar, Mutex};
use serde::Serialize;

/// How long the thread gathers lines before it writes them.
const GATHER: Duration = Duration::from_millis(5);

/// Maximum number of bytes in the queue; above that, recording waits. The batch that the thread is writing may be as
/// large again.
const MAX_WAITING: usize = 4 << 20;

/// With more bytes in the queue than this, calls serialize their own lines.
const BEHIND_ABOVE: usize = MAX_WAITING / 4;

/// The thread writes when it has serialized this many bytes of lines; the line that exceeds them is still written
/// whole.
const MAX_WRITE: usize = 1 << 20;

/// Number of records, and bytes of lines, that the thread's buffers keep allocated between batches: enough for some ten
/// thousand calls a second.
const KEPT_RECORDS: usize = 64;
const KEPT_BYTES: usize = 32 << 10;

/// How long the queue may be full before lines are dropped, counted from when it became full. All tasks share this one
/// wait.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// How long after a failed write it is repeated.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// How long failed writes are repeated after the queue is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The destination of the lines.
pub(super) trait LineSink {
    /// Writes all of these lines or none.
    fn append(&mut self, lines: &[u8]) -> io::Result<()>;
}

/// An entry of the queue.
pub(super) enum QueuedRecord {
    /// A line, which ends with a line feed.
    Line(Vec<u8>),
    /// An event that is not yet serialized.
    Event {
        time: SystemTime,
        event: Box<dyn QueuedEvent>,
        /// The event's size in memory.
        bytes: usize,
    },
}

/// An event that the audit's thread serializes.
pub(super) trait QueuedEvent: Send {
    /// Appends the event's line to `lines`.
    fn write(&self, time: SystemTime, lines: &mut Vec<u8>) -> serde_json::Result<()>;
}

impl<E: Serialize + Send> QueuedEvent for E {
    fn write(&self, time: SystemTime, lines: &mut Vec<u8>) -> serde_json::Result<()> {
        super::write_line(self, time, lines)
    }
}

impl QueuedRecord {
    fn bytes(&self) -> usize {
        let bytes = match self {
            Self::Line(line) => line.len(),
            Self::Event { bytes, .. } => *bytes,
        };
        bytes.saturating_add(size_of::<Self>())
    }

    fn write(self, lines: &mut Vec<u8>) {
        match self {
            Self::Line(mut line) => lines.append(&mut line),
            Self::Event { time, event, .. } => {
                if let Err(error) = event.write(time, lines) {
                    super::log_failure(&error);
                }
            }
        }
    }
}

impl fmt::Debug for QueuedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A record may contain arguments of calls, which must not appear in a log.
        f.debug_struct("QueuedRecord").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

/// The queued records, and the conditions that the thread and the recording tasks wait for.
#[derive(Debug, Default)]
pub(super) struct Queue {
    lines: Mutex<Lines>,
    added: Condvar,
    emptied: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    waiting: Vec<QueuedRecord>,
    /// Bytes of all queued records.
    bytes: usize,
    full_since: Option<Instant>,
    /// Number of lines that were dropped since the thread last took a batch.
    lost: u64,
    /// Number of lines that were dropped since the start.
    all_lost: u64,
    /// Set when the [`AuditWriter`](super::AuditWriter) is being dropped.
    closed: bool,
}

impl Lines {
    /// How much longer a task may wait to add a record; `None` if the record fits now.
    fn remaining_wait(&mut self) -> Option<Duration> {
        if self.closed {
            return Some(Duration::ZERO);
        }
        if self.bytes <= MAX_WAITING {
            return None;
        }
        let now = Instant::now();
        let since = *self.full_since.get_or_insert(now);
        Some(MAX_WAIT.saturating_sub(now.saturating_duration_since(since)))
    }
}

/// The event that is written in place of lines that were dropped.
#[derive(Serialize)]
struct LinesLost {
    event: &'static str,
    lines: u64,
}

impl Queue {
    /// Whether the queue is so long that tasks should serialize their lines themselves.
    pub(super) fn is_behind(&self) -> bool {
        self.lines.lock().bytes > BEHIND_ABOVE
    }

    /// Adds a line or an event.
    pub(super) fn add(&self, record: QueuedRecord) {
        let mut lines = self.lines.lock();
        while let Some(left) = lines.remaining_wait() {
            if left.is_zero() {
                lines.lost += 1;
                lines.all_lost += 1;
                return;
            }
            self.emptied.wait_for(&mut lines, left);
        }
        if lines.waiting.is_empty() {
            self.added.notify_one();
        }
        lines.bytes = lines.bytes.saturating_add(record.bytes());
        lines.waiting.push(record);
    }

    /// Number of lines that were lost so far.
    pub(super) fn lost_lines(&self) -> u64 {
        self.lines.lock().all_lost
    }

    /// Closes the queue: the thread ends when it has written all lines.
    pub(super) fn close(&self) {
        self.lines.lock().closed = true;
        self.added.notify_all();
        self.emptied.notify_all();
    }

    /// Writes lines until the queue is closed and empty. The audit's thread runs this.
    pub(super) fn write(&self, mut sink: impl LineSink) {
        let (mut batch, mut lines, mut end) = (Vec::new(), Vec::new(), None);
        loop {
            let closed = self.next_batch(&mut batch);
            for record in batch.drain(..) {
                record.write(&mut lines);
                if lines.len() >= MAX_WRITE {
                    self.deliver(&mut sink, &lines, &mut end);
                    lines.clear();
                }
            }
            if !lines.is_empty() {
                self.deliver(&mut sink, &lines, &mut end);
                lines.clear();
            }
            if closed {
                return;
            }
            // Without this, the buffers would stay as large as the largest batch so far.
            batch.shrink_to(KEPT_RECORDS);
            lines.shrink_to(KEPT_BYTES);
            std::thread::sleep(GATHER);
        }
    }

    /// Waits for records and swaps them with `batch`, which must be empty. Returns whether the queue is closed, so that
    /// this batch is the last.
    fn next_batch(&self, batch: &mut Vec<QueuedRecord>) -> bool {
        let mut lines = self.lines.lock();
        while lines.waiting.is_empty() && !lines.closed {
            self.added.wait(&mut lines);
        }
        lines.full_since = None;
        self.emptied.notify_all();
        lines.bytes = 0;
        std::mem::swap(batch, &mut lines.waiting);
        let lost = std::mem::take(&mut lines.lost);
        if lost > 0 {
            let line = super::line(&LinesLost { event: "lines_lost", lines: lost });
            batch.push(QueuedRecord::Line(line.unwrap_or_default()));
        }
        lines.closed
    }

    /// Writes lines, and repeats that until it succeeds or [`CLOSE_TIMEOUT`] has passed since the queue was closed.
    /// `end` is that deadline, once it is known.
    fn deliver(&self, sink: &mut impl LineSink, batch: &[u8], end: &mut Option<Instant>) {
        let mut failing = false;
        while let Err(error) = sink.append(batch) {
            if !failing {
                tracing::error!(
                    %error,
                    "the audit file cannot be written; lines are queued, and dropped when the queue is full"
                );
            }
            failing = true;
            if self.lines.lock().closed
                && *end.get_or_insert(Instant::now() + CLOSE_TIMEOUT) <= Instant::now()
            {
                let lines = batch.iter().filter(|byte| **byte == b'\n').count();
                tracing::error!(lines, "the last lines of the audit could not be written");
                return;
            }
            std::thread::sleep(RETRY_AFTER);
        }
        if failing {
            tracing::warn!("the audit file is writable again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A disk that is full while `full` is set.
    #[derive(Clone, Default)]
    struct Disk {
        full: Arc<AtomicBool>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl LineSink for Disk {
        fn append(&mut self, lines: &[u8]) -> io::Result<()> {
            if self.full.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.written.lock().extend(lines);
            Ok(())
        }
    }

    fn started(disk: &Disk) -> (Arc<Queue>, std::thread::JoinHandle<()>) {
        let (queue, disk) = (Arc::<Queue>::default(), disk.clone());
        let writing = Arc::clone(&queue);
        (queue, std::thread::spawn(move || writing.write(disk)))
    }

    #[test]
    fn lines_for_a_full_disk_wait_and_lines_beyond_the_queue_are_counted() {
        let disk = Disk::default();
        disk.full.store(true, Ordering::Relaxed);
        let (queue, thread) = started(&disk);
        let (begun, total) = (Instant::now(), 300);
        for n in 0..total {
            queue.add(QueuedRecord::Line(format!("{n} {}\n", "x".repeat(32 << 10)).into_bytes()));
        }
        assert!(begun.elapsed() < 3 * MAX_WAIT, "everyone waited: {:?}", begun.elapsed());
        disk.full.store(false, Ordering::Relaxed);
        queue.close();
        thread.join().unwrap();
        let text = String::from_utf8(disk.written.lock().clone()).unwrap();
        let (last, written) =
            text.lines().collect::<Vec<_>>().split_last().map(|(l, k)| (*l, k.to_vec())).unwrap();
        assert!(
            written.iter().enumerate().all(|(n, line)| line.starts_with(&format!("{n} "))),
            "in their order"
        );
        let last: serde_json::Value = serde_json::from_str(last).unwrap();
        assert_eq!((&last["event"], &last["lines"]), (&"lines_lost".into(), &(total - written.len()).into()));
        assert!((100..total).contains(&written.len()), "{} of {total} were written", written.len());
    }

    #[test]
    fn a_disk_that_stays_full_does_not_keep_the_program() {
        let disk = Disk::default();
        disk.full.store(true, Ordering::Relaxed);
        let (queue, thread) = started(&disk);
        queue.add(QueuedRecord::Line(b"x\n".to_vec()));
        let begun = Instant::now();
        queue.close();
        thread.join().unwrap();
        queue.add(QueuedRecord::Line(b"late\n".to_vec()));
        assert!(begun.elapsed() < 3 * CLOSE_TIMEOUT);
    }

    #[test]
    fn events_take_part_of_the_queue_and_the_thread_may_fall_behind() {
        let queue = Queue::default();
        let event = |bytes| QueuedRecord::Event { time: SystemTime::now(), event: Box::new("x"), bytes };
        queue.add(event(BEHIND_ABOVE / 2));
        assert!(!queue.is_behind());
        queue.add(event(BEHIND_ABOVE / 2));
        assert!(queue.is_behind());
        for _ in 0..3 {
            queue.add(event(BEHIND_ABOVE));
        }
        let begun = Instant::now();
        queue.add(event(0));
        assert!(begun.elapsed() >= MAX_WAIT && queue.lost_lines() == 1, "the queue is full");
        let mut batch = Vec::new();
        queue.next_batch(&mut batch);
        assert_eq!(batch.len(), 6, "and the line about the lost one");
        assert!(!queue.is_behind());
    }
}
