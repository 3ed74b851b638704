//! A server's stderr, which one thread writes from a bounded queue: a client that starts a server and never reads its
//! stderr would otherwise hold up every call as soon as the pipe is full.
//!
//! What does not fit into the queue is dropped and counted. Commands that end soon, and may ask a person something,
//! write without a queue, so that everything comes in order.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Lines that wait at most.
const LINES: usize = 4_096;

/// Bytes that wait at most.
const BYTES: usize = 1 << 20;

/// How long the last lines may take at the end.
const END: Duration = Duration::from_secs(1);

static QUEUE: OnceLock<Queue> = OnceLock::new();

/// Stderr for whoever has something to say. Each write is one or several whole lines.
#[derive(Debug, Default)]
pub struct StderrWriter;

impl Write for StderrWriter {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        match QUEUE.get() {
            Some(queue) => queue.push(lines),
            None => io::stderr().write_all(lines)?,
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Nobody waits for stderr from now on. Dropped at the very end, it waits for what was said last, but not for ever.
#[derive(Debug)]
pub struct StderrGuard(());

/// Starts the thread that writes.
///
/// # Errors
/// When there can be no more threads.
pub fn spawn_stderr_writer() -> io::Result<StderrGuard> {
    let (queue, waiting) = Queue::new();
    let shared = Arc::clone(&queue.shared);
    let writer = std::thread::Builder::new().name("stderr".to_owned());
    writer.spawn(move || write_all(&waiting, &shared, io::stderr))?;
    // Nothing ends the thread but the end of the process: it may be in the middle of a line that nobody reads.
    let _ = QUEUE.set(queue);
    Ok(StderrGuard(()))
}

impl Drop for StderrGuard {
    fn drop(&mut self) {
        let Some(queue) = QUEUE.get() else { return };
        let deadline = Instant::now() + END;
        while queue.shared.bytes.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// What waits to be written.
#[derive(Debug)]
struct Queue {
    lines: SyncSender<Vec<u8>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Of the lines that wait, and of the one that is being written.
    bytes: AtomicUsize,
    /// Lines that were left out since it was last said.
    lost: AtomicU64,
}

impl Queue {
    fn new() -> (Self, Receiver<Vec<u8>>) {
        let (lines, waiting) = sync_channel(LINES);
        (Self { lines, shared: Arc::default() }, waiting)
    }

    fn push(&self, lines: &[u8]) {
        let before = self.shared.bytes.fetch_add(lines.len(), Ordering::AcqRel);
        if before + lines.len() > BYTES || self.lines.try_send(lines.to_vec()).is_err() {
            self.shared.bytes.fetch_sub(lines.len(), Ordering::AcqRel);
            self.shared.lost.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// Writes what comes. Whoever has closed stderr does not want it.
fn write_all<W: Write>(waiting: &Receiver<Vec<u8>>, shared: &Shared, out: impl Fn() -> W) {
    for lines in waiting {
        let _ = out().write_all(&lines);
        let lost = shared.lost.swap(0, Ordering::AcqRel);
        if lost > 0 {
            let _ =
                writeln!(out(), "plugport: {lost} log lines are missing here: they were not read in time");
        }
        shared.bytes.fetch_sub(lines.len(), Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_told() {
        let (queue, waiting) = Queue::new();
        queue.push(b"first\n");
        queue.push(&vec![b'x'; BYTES]);
        (0..2 * LINES).for_each(|_| queue.push(b"l\n"));
        assert_eq!(queue.shared.bytes.load(Ordering::Relaxed), 6 + 2 * (LINES - 1));
        let (page, shared) = (Page::default(), Arc::clone(&queue.shared));
        drop(queue);
        write_all(&waiting, &shared, || page.clone());
        let said = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
        let missing = LINES + 2;
        assert!(
            said.starts_with(&format!("first\nplugport: {missing} log lines are missing here")),
            "{said}"
        );
        assert_eq!(said.lines().count(), LINES + 1);
        assert_eq!(shared.bytes.load(Ordering::Relaxed), 0);
    }
}
