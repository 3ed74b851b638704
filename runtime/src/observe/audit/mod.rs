//! The audit: one line of JSON per load, denial, limit and call, for whoever has to say later what a plugin did.
//!
//! A line is put together where it happens and written by a thread of its own a few milliseconds later, so that a call
//! does not wait for a disk; only when the disk cannot keep up do calls wait, since a line that is lost is worse. Lines are
//! written whole: a killed server leaves no half of one behind that the next start would not mend.

mod file;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use file::LogFile;

/// How long lines are gathered before they are written.
const GATHER: Duration = Duration::from_millis(5);

/// Bytes that wait to be written before whoever adds to them has to wait too.
const MOST_WAITING: usize = 4 << 20;

/// Where events are noted. Clones write to the same place.
#[derive(Debug, Clone)]
pub struct Audit {
    shared: Option<Arc<Shared>>,
    arguments: bool,
}

#[derive(Debug, Default)]
struct Shared {
    lines: Mutex<Lines>,
    added: Condvar,
    taken: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    waiting: Vec<u8>,
    /// The writer is about to end, or has ended.
    closed: bool,
}

/// Writes what is noted, until it is dropped; by then every line is in the file.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// An event with its time.
#[derive(Serialize)]
struct Line<'a, E> {
    time: String,
    #[serde(flatten)]
    event: &'a E,
}

impl Audit {
    /// An audit that notes nothing.
    #[must_use]
    pub fn none() -> Self {
        Self { shared: None, arguments: false }
    }

    /// An audit in a file, made with its folder if need be, that begins anew at `most` bytes; `kept` older ones stay beside it. It is written until the
    /// writer is dropped.
    ///
    /// # Errors
    /// When the file cannot be opened or mended.
    pub fn open(path: PathBuf, most: u64, kept: u32) -> io::Result<(Self, Writer)> {
        let file = LogFile::open(path, most, kept)?;
        let shared = Arc::<Shared>::default();
        let writing = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("audit".to_owned()).spawn(move || writing.write(file))?;
        let audit = Self { shared: Some(Arc::clone(&shared)), arguments: false };
        Ok((audit, Writer { shared, thread: Some(thread) }))
    }

    /// The same audit, with the arguments of calls written down instead of their digest.
    #[must_use]
    pub fn with_arguments(self, arguments: bool) -> Self {
        Self { arguments, ..self }
    }

    /// Whether arguments of calls are written down; `None` when nothing is noted at all.
    #[must_use]
    pub fn tells_arguments(&self) -> Option<bool> {
        self.shared.is_some().then_some(self.arguments)
    }

    /// Notes an event: an object, whose first field says which.
    pub fn record<E: Serialize>(&self, event: &E) {
        let Some(shared) = &self.shared else { return };
        let time = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
        match serde_json::to_vec(&Line { time, event }) {
            Ok(line) => shared.add(line),
            Err(error) => tracing::error!(%error, "an event could not be noted in the audit"),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        let mut lines = self.lock();
        while lines.waiting.len() > MOST_WAITING && !lines.closed {
            lines = self.taken.wait(lines).unwrap_or_else(PoisonError::into_inner);
        }
        if lines.waiting.is_empty() {
            self.added.notify_one();
        }
        lines.waiting.append(&mut line);
    }

    /// Writes what is added, until it is closed and all is written.
    fn write(&self, mut file: LogFile) {
        let mut failing = false;
        loop {
            let (batch, closed) = self.take();
            if !batch.is_empty() {
                let written = file.append(&batch);
                if let (Err(error), false) = (&written, failing) {
                    tracing::error!(%error, "the audit cannot be written; lines are lost until it can");
                }
                failing = written.is_err();
            }
            if closed {
                return;
            }
            std::thread::sleep(GATHER);
        }
    }

    /// Waits for lines, and whether they are the last.
    fn take(&self) -> (Vec<u8>, bool) {
        let mut lines = self.lock();
        while lines.waiting.is_empty() && !lines.closed {
            lines = self.added.wait(lines).unwrap_or_else(PoisonError::into_inner);
        }
        self.taken.notify_all();
        (std::mem::take(&mut lines.waiting), lines.closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.added.notify_all();
        self.shared.taken.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the audit's writer failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Event {
        event: &'static str,
        n: usize,
    }

    #[test]
    fn every_event_is_a_line_and_none_is_lost_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let (audit, writer) = Audit::open(path.clone(), 1 << 30, 1).unwrap();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let audit = audit.clone();
                std::thread::spawn(move || {
                    (0..2_500).for_each(|n| audit.record(&Event { event: "x\ny", n }));
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        drop(writer);
        let text = std::fs::read_to_string(path).unwrap();
        let mut seen = 0;
        for line in text.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["event"], "x\ny");
            assert!(line["time"].as_str().unwrap().ends_with('Z'));
            seen += 1;
        }
        assert_eq!(seen, 10_000);
        audit.record(&Event { event: "late", n: 0 });
    }
}
