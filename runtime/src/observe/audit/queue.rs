//! The queue of lines, and of events that become lines, from the recording tasks to the thread that writes them.
//!
//! Recording may happen in an async task, so it waits for a disk only when the queue is full, and not for long. Lines
//! that still do not fit are dropped and counted, and the file says how many are missing. Lines that could not be
//! written stay and are written again.

use std::fmt;
use std::io;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Condvar, Mutex};
use serde::Serialize;

/// How long lines are gathered before they are written.
const GATHER: Duration = Duration::from_millis(5);

/// Maximum number of bytes in the queue; recording waits above that. The writer may hold as many.
const MAX_WAITING: usize = 4 << 20;

/// With more bytes in the queue than this, the thread gets no more lines to make.
const BEHIND: usize = MAX_WAITING / 4;

/// Bytes of lines that are written at once; the line that exceeds them is still written whole.
const MAX_WRITE: usize = 1 << 20;

/// What the thread's buffers keep from one batch to the next: enough for some ten thousand calls a second.
const KEPT_RECORDS: usize = 64;
const KEPT_BYTES: usize = 32 << 10;

/// How long the queue may be full before lines are dropped; counted from when it became full, for all tasks together.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// After how long a failed write is repeated.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// For how long failed writes are repeated when the program is about to end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The destination of the lines.
pub(super) trait LineSink {
    /// Writes all of these lines or none.
    fn append(&mut self, lines: &[u8]) -> io::Result<()>;
}

/// What waits for the thread.
pub(super) enum QueuedRecord {
    /// A line, which ends with a line feed.
    Line(Vec<u8>),
    /// An event whose line is not made yet.
    Event {
        time: SystemTime,
        event: Box<dyn QueuedEvent>,
        /// What it takes in memory.
        bytes: usize,
    },
}

/// An event that becomes a line on the thread.
pub(super) trait QueuedEvent: Send {
    /// Appends the line.
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
        // Arguments of calls are no text for a log.
        f.debug_struct("QueuedRecord").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

/// The lines that wait, and the conditions to wait for.
#[derive(Debug, Default)]
pub(super) struct Queue {
    lines: Mutex<Lines>,
    added: Condvar,
    emptied: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    waiting: Vec<QueuedRecord>,
    /// Bytes of all that waits.
    bytes: usize,
    full_since: Option<Instant>,
    /// Number of lines that were dropped after those that wait.
    lost: u64,
    /// Number of all lines that were lost.
    all_lost: u64,
    /// The writer is about to end or has ended.
    closed: bool,
}

impl Lines {
    /// How much longer a line may wait; `None` if it fits.
    fn wait_left(&mut self) -> Option<Duration> {
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

/// The event that says how many lines are missing here.
#[derive(Serialize)]
struct LinesLost {
    event: &'static str,
    lines: u64,
}

impl Queue {
    /// Whether so much waits that the thread should not have to make lines as well.
    pub(super) fn is_behind(&self) -> bool {
        self.lines.lock().bytes > BEHIND
    }

    /// Adds a line or an event.
    pub(super) fn add(&self, record: QueuedRecord) {
        let mut lines = self.lines.lock();
        while let Some(left) = lines.wait_left() {
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

    /// Lets the writer end when all lines are written.
    pub(super) fn close(&self) {
        self.lines.lock().closed = true;
        self.added.notify_all();
        self.emptied.notify_all();
    }

    /// Writes lines until the queue is closed and all are written.
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
            // Otherwise they would stay as large as the largest batch ever.
            batch.shrink_to(KEPT_RECORDS);
            lines.shrink_to(KEPT_BYTES);
            std::thread::sleep(GATHER);
        }
    }

    /// Waits for lines and events, and exchanges them for `batch`, which is empty. Returns whether they are the last.
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

    /// Writes lines, and repeats that until it succeeds, or until `end`: [`CLOSE_TIMEOUT`] after the queue was closed.
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

    /// A disk that may be full.
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
        queue.add(event(BEHIND / 2));
        assert!(!queue.is_behind());
        queue.add(event(BEHIND / 2));
        assert!(queue.is_behind());
        for _ in 0..3 {
            queue.add(event(BEHIND));
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
