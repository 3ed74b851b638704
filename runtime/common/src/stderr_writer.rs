//! A server's stderr, which one thread writes from a bounded queue. Otherwise a client that starts a server and never
//! reads its stderr would block every call once the pipe is full.
//!
//! Lines that do not fit into the queue are dropped and counted. Commands that end soon and may ask the user something
//! write without a queue, so that all output comes in order.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Maximum number of waiting writes. Each has 32 bytes of the queue from the start on.
const MAX_WRITES: usize = 1_024;

/// Maximum number of waiting bytes.
const MAX_BYTES: usize = 1 << 20;

/// How long writing the last lines may take when the process ends.
const END_TIMEOUT: Duration = Duration::from_secs(1);

static QUEUE: OnceLock<Queue> = OnceLock::new();

/// Writes to stderr, through the queue if there is one. Each write is one or several whole lines.
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

/// While this exists, writing to stderr does not block. Dropped at the very end, it waits for the last lines for a
/// limited time.
#[derive(Debug)]
pub struct StderrGuard(());

/// Starts the thread that writes to stderr.
///
/// # Errors
/// When no thread can be started.
pub fn spawn_stderr_writer() -> io::Result<StderrGuard> {
    let (queue, waiting) = Queue::new();
    let shared = Arc::clone(&queue.shared);
    let writer = std::thread::Builder::new().name("stderr".to_owned());
    writer.spawn(move || write_all(&waiting, &shared, io::stderr))?;
    // The thread runs until the process ends: it may be blocked on a line that nobody reads.
    let _ = QUEUE.set(queue);
    Ok(StderrGuard(()))
}

impl Drop for StderrGuard {
    fn drop(&mut self) {
        let Some(queue) = QUEUE.get() else { return };
        let deadline = Instant::now() + END_TIMEOUT;
        while queue.shared.bytes.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The lines that wait to be written.
#[derive(Debug)]
struct Queue {
    lines: SyncSender<Vec<u8>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Bytes of the waiting lines and of the line that is being written.
    bytes: AtomicUsize,
    /// Number of dropped writes since that number was last written.
    lost: AtomicU64,
}

impl Queue {
    fn new() -> (Self, Receiver<Vec<u8>>) {
        let (lines, waiting) = sync_channel(MAX_WRITES);
        (Self { lines, shared: Arc::default() }, waiting)
    }

    fn push(&self, lines: &[u8]) {
        let before = self.shared.bytes.fetch_add(lines.len(), Ordering::AcqRel);
        if before + lines.len() > MAX_BYTES || self.lines.try_send(lines.to_vec()).is_err() {
            self.shared.bytes.fetch_sub(lines.len(), Ordering::AcqRel);
            self.shared.lost.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// Writes the lines of the queue. Errors are ignored: a closed stderr means that nobody reads it.
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
    fn lines_that_do_not_fit_are_dropped_and_counted() {
        let (queue, waiting) = Queue::new();
        queue.push(b"first\n");
        queue.push(&vec![b'x'; MAX_BYTES]);
        (0..2 * MAX_WRITES).for_each(|_| queue.push(b"l\n"));
        assert_eq!(queue.shared.bytes.load(Ordering::Relaxed), 6 + 2 * (MAX_WRITES - 1));
        let (page, shared) = (Page::default(), Arc::clone(&queue.shared));
        drop(queue);
        write_all(&waiting, &shared, || page.clone());
        let said = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
        let missing = MAX_WRITES + 2;
        assert!(
            said.starts_with(&format!("first\nplugport: {missing} log lines are missing here")),
            "{said}"
        );
        assert_eq!(said.lines().count(), MAX_WRITES + 1);
        assert_eq!(shared.bytes.load(Ordering::Relaxed), 0);
    }
}
