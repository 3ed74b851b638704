//! Lines on their way from whoever notes them to the thread that writes them.
//!
//! Whoever notes a line may be a task among many, so it waits for a disk only when there is no room left, and then not
//! for long; what finds no room even so is counted, and the file says how many lines it lacks. What could not be
//! written is kept and tried again.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

/// How long lines are gathered before they are written.
const GATHER: Duration = Duration::from_millis(5);

/// Bytes that wait to be written before whoever adds to them has to wait too. As many may be with the writer.
const MOST_WAITING: usize = 4 << 20;

/// How long there may be no room before lines are lost. It counts from when there was none, for all who wait together.
const PATIENCE: Duration = Duration::from_secs(1);

/// When what could not be written is tried again.
const AGAIN: Duration = Duration::from_millis(100);

/// How long it is tried when the program is about to end.
const LAST: Duration = Duration::from_secs(1);

/// Where lines go in the end.
pub(super) trait LineSink {
    /// Writes all of these lines or none.
    fn append(&mut self, lines: &[u8]) -> io::Result<()>;
}

/// Lines that wait, and who waits for them.
#[derive(Debug, Default)]
pub(super) struct Queue {
    lines: Mutex<Lines>,
    added: Condvar,
    taken: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    waiting: Vec<u8>,
    full_since: Option<Instant>,
    /// Lines that found no room after those that wait.
    lost: u64,
    /// The writer is about to end, or has ended.
    closed: bool,
}

impl Lines {
    /// How much longer a line may wait for room; `None` when there is some.
    fn patience(&mut self, now: Instant) -> Option<Duration> {
        if self.closed {
            return Some(Duration::ZERO);
        }
        if self.waiting.len() <= MOST_WAITING {
            return None;
        }
        let since = *self.full_since.get_or_insert(now);
        Some(PATIENCE.saturating_sub(now.saturating_duration_since(since)))
    }
}

/// Lines are missing here.
#[derive(Serialize)]
struct LinesLost {
    event: &'static str,
    lines: u64,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line, which has its end.
    pub(super) fn add(&self, mut line: Vec<u8>) {
        let mut lines = self.lock();
        while let Some(left) = lines.patience(Instant::now()) {
            if left.is_zero() {
                lines.lost += 1;
                return;
            }
            lines = self.taken.wait_timeout(lines, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        if lines.waiting.is_empty() {
            self.added.notify_one();
        }
        lines.waiting.append(&mut line);
    }

    /// Has the writer end when all is written.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.added.notify_all();
        self.taken.notify_all();
    }

    /// Writes what is added, until it is closed and all is written.
    pub(super) fn write(&self, mut sink: impl LineSink) {
        loop {
            let (batch, closed) = self.next_batch();
            if !batch.is_empty() {
                self.deliver(&mut sink, &batch);
            }
            if closed {
                return;
            }
            std::thread::sleep(GATHER);
        }
    }

    /// Waits for lines, and whether they are the last.
    fn next_batch(&self) -> (Vec<u8>, bool) {
        let mut lines = self.lock();
        while lines.waiting.is_empty() && !lines.closed {
            lines = self.added.wait(lines).unwrap_or_else(PoisonError::into_inner);
        }
        lines.full_since = None;
        self.taken.notify_all();
        let mut batch = std::mem::take(&mut lines.waiting);
        let lost = std::mem::take(&mut lines.lost);
        if lost > 0 {
            batch.extend(super::line(&LinesLost { event: "lines_lost", lines: lost }).unwrap_or_default());
        }
        (batch, lines.closed)
    }

    /// Writes lines, however often that has to be tried.
    fn deliver(&self, sink: &mut impl LineSink, batch: &[u8]) {
        let (mut failing, mut end) = (false, None);
        while let Err(error) = sink.append(batch) {
            if !failing {
                tracing::error!(%error, "the audit file cannot be written; lines are queued, and dropped when the queue is full");
            }
            failing = true;
            if self.lock().closed && *end.get_or_insert(Instant::now() + LAST) <= Instant::now() {
                let lines = batch.iter().filter(|byte| **byte == b'\n').count();
                tracing::error!(lines, "the last lines of the audit could not be written");
                return;
            }
            std::thread::sleep(AGAIN);
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
            self.written.lock().unwrap().extend(lines);
            Ok(())
        }
    }

    fn started(disk: &Disk) -> (Arc<Queue>, std::thread::JoinHandle<()>) {
        let (queue, disk) = (Arc::<Queue>::default(), disk.clone());
        let writing = Arc::clone(&queue);
        (queue, std::thread::spawn(move || writing.write(disk)))
    }

    #[test]
    fn what_a_full_disk_refuses_is_kept_and_what_is_too_much_is_counted() {
        let disk = Disk::default();
        disk.full.store(true, Ordering::Relaxed);
        let (queue, thread) = started(&disk);
        let (begun, most) = (Instant::now(), 300);
        for n in 0..most {
            queue.add(format!("{n} {}\n", "x".repeat(32 << 10)).into_bytes());
        }
        assert!(begun.elapsed() < 3 * PATIENCE, "everyone waited: {:?}", begun.elapsed());
        disk.full.store(false, Ordering::Relaxed);
        queue.close();
        thread.join().unwrap();
        let text = String::from_utf8(disk.written.lock().unwrap().clone()).unwrap();
        let (last, kept) =
            text.lines().collect::<Vec<_>>().split_last().map(|(l, k)| (*l, k.to_vec())).unwrap();
        assert!(
            kept.iter().enumerate().all(|(n, line)| line.starts_with(&format!("{n} "))),
            "in their order"
        );
        let last: serde_json::Value = serde_json::from_str(last).unwrap();
        assert_eq!((&last["event"], &last["lines"]), (&"lines_lost".into(), &(most - kept.len()).into()));
        assert!((100..most).contains(&kept.len()), "{} of {most} were kept", kept.len());
    }

    #[test]
    fn a_disk_that_stays_full_does_not_keep_the_program() {
        let disk = Disk::default();
        disk.full.store(true, Ordering::Relaxed);
        let (queue, thread) = started(&disk);
        queue.add(b"x\n".to_vec());
        let begun = Instant::now();
        queue.close();
        thread.join().unwrap();
        queue.add(b"late\n".to_vec());
        assert!(begun.elapsed() < 3 * LAST);
    }
}
