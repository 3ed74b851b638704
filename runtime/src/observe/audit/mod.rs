//! The audit: one line of JSON per load, denial, limit and call, so that an operator can see later what a plugin did.
//!
//! A line is made where the event happens, and a thread writes it a few milliseconds later, so that a call does not
//! wait for a disk. Only when the disk cannot keep up do calls wait a little, since a lost line is worse. Lines are
//! written whole: if a killed server leaves a partial line, the next write removes it.

mod queue;
mod rotating_file;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::SystemTime;

use serde::Serialize;

use queue::Queue;
use rotating_file::RotatingFile;

/// Records events. Clones write to the same file.
#[derive(Debug, Clone)]
pub struct Audit {
    queue: Option<Arc<Queue>>,
    arguments: bool,
}

/// Writes recorded events until it is dropped; by then every line is in the file, if the file can be written.
#[derive(Debug)]
pub struct AuditWriter {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

/// An event with its time.
#[derive(Serialize)]
struct TimedEvent<'a, E> {
    time: String,
    #[serde(flatten)]
    event: &'a E,
}

/// The line for an event, with its time and a line feed.
fn line<E: Serialize>(event: &E) -> serde_json::Result<Vec<u8>> {
    let time = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
    let mut line = serde_json::to_vec(&TimedEvent { time, event })?;
    line.push(b'\n');
    Ok(line)
}

impl Audit {
    /// An audit that records nothing.
    #[must_use]
    pub fn disabled() -> Self {
        Self { queue: None, arguments: false }
    }

    /// An audit in a file, which is made with its folder if missing. The file is rotated at `max_bytes`, and
    /// `rotated_files` older ones stay. It is written until the writer is dropped.
    ///
    /// # Errors
    /// When the file cannot be opened, or a partial line cannot be removed.
    pub fn open(path: PathBuf, max_bytes: u64, rotated_files: u32) -> io::Result<(Self, AuditWriter)> {
        let file = RotatingFile::open(path, max_bytes, rotated_files)?;
        let queue = Arc::<Queue>::default();
        let writing = Arc::clone(&queue);
        let thread =
            std::thread::Builder::new().name("audit".to_owned()).spawn(move || writing.write(file))?;
        let audit = Self { queue: Some(Arc::clone(&queue)), arguments: false };
        Ok((audit, AuditWriter { queue, thread: Some(thread) }))
    }

    /// The same audit, which records the arguments of calls instead of their digest if `arguments`.
    #[must_use]
    pub fn with_arguments(self, arguments: bool) -> Self {
        Self { arguments, ..self }
    }

    /// Whether arguments of calls are recorded; `None` if the audit is disabled.
    #[must_use]
    pub fn includes_arguments(&self) -> Option<bool> {
        self.queue.is_some().then_some(self.arguments)
    }

    /// Lines that were lost because the disk did not keep up.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.queue.as_ref().map_or(0, |queue| queue.lost_lines())
    }

    /// Records an event: an object whose first field names the kind of event.
    pub fn record<E: Serialize>(&self, event: &E) {
        let Some(queue) = &self.queue else { return };
        match line(event) {
            Ok(line) => queue.add(line),
            Err(error) => tracing::error!(%error, "an event could not be written to the audit"),
        }
    }
}

impl Drop for AuditWriter {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes the audit failed");
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
