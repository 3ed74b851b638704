//! The audit: one line of JSON per load, denial, limit and call, so that an operator can see later what a plugin did.
//!
//! A thread writes the lines some milliseconds after their events, so that a call does not wait for the disk. Calls
//! wait only when the disk cannot keep up, and only briefly, because losing a line is worse. A write appends whole
//! lines. If a killed server leaves a partial line, the next write removes that line.
//!
//! For a rare event, the task that records the event serializes the line. Most lines are about calls; the audit's
//! thread serializes those in batches. If the thread falls behind, calls serialize their own lines again, so that one
//! thread does not limit how many calls a large machine serves.

mod queue;
mod rotating_file;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::SystemTime;

use serde::{Serialize, Serializer};

use queue::{Queue, QueuedRecord};
use rotating_file::RotatingFile;

/// Records events. Clones write to the same file.
#[derive(Debug, Clone)]
pub struct Audit {
    queue: Option<Arc<Queue>>,
    arguments: bool,
}

/// Writes recorded events until it is dropped. When it has been dropped, every line is in the file, unless the file
/// could not be written.
#[derive(Debug)]
pub struct AuditWriter {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

/// An event with its time.
#[derive(Serialize)]
struct TimedEvent<'a, E> {
    time: SerializeDisplay<humantime::Rfc3339Timestamp>,
    #[serde(flatten)]
    event: &'a E,
}

/// Serializes a value as the string that its `Display` writes, without allocating a `String`.
#[derive(Debug)]
pub(crate) struct SerializeDisplay<T>(pub(crate) T);

impl<T: fmt::Display> Serialize for SerializeDisplay<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// The initial capacity for one line, in bytes: enough for a usual line.
const LINE: usize = 512;

/// Serializes an event as a line that ends with a line feed, with the current time.
fn line<E: Serialize>(event: &E) -> serde_json::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(LINE);
    write_line(event, SystemTime::now(), &mut line)?;
    Ok(line)
}

/// Appends an event's line to `lines`. If serializing fails, `lines` is unchanged.
fn write_line<E: Serialize>(event: &E, time: SystemTime, lines: &mut Vec<u8>) -> serde_json::Result<()> {
    let before = lines.len();
    let time = SerializeDisplay(humantime::format_rfc3339_micros(time));
    serde_json::to_writer(&mut *lines, &TimedEvent { time, event })
        .inspect_err(|_| lines.truncate(before))?;
    lines.push(b'\n');
    Ok(())
}

impl Audit {
    /// An audit that records nothing.
    #[must_use]
    pub fn disabled() -> Self {
        Self { queue: None, arguments: false }
    }

    /// Opens an audit file, and creates the file and its folder if they are missing. The file is rotated when it
    /// reaches `max_bytes`; `rotated_files` older files are kept. The audit is written until the [`AuditWriter`] is
    /// dropped.
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

    /// Returns the same audit, which records the arguments of calls if `arguments` is true, and otherwise their digest.
    #[must_use]
    pub fn with_arguments(self, arguments: bool) -> Self {
        Self { arguments, ..self }
    }

    /// Whether arguments of calls are recorded; `None` if the audit is disabled.
    #[must_use]
    pub fn includes_arguments(&self) -> Option<bool> {
        self.queue.is_some().then_some(self.arguments)
    }

    /// Number of lines that were lost because the disk did not keep up.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.queue.as_ref().map_or(0, |queue| queue.lost_lines())
    }

    /// Records an event: an object whose first field names the kind of event.
    pub fn record<E: Serialize>(&self, event: &E) {
        let Some(queue) = &self.queue else { return };
        match line(event) {
            Ok(line) => queue.add(QueuedRecord::Line(line)),
            Err(error) => log_failure(&error),
        }
    }

    /// Records an event that occurs often. The audit's thread serializes the line later, with the time of this call.
    /// `bytes` is the memory that the event owns on the heap.
    pub fn record_later<E: Serialize + Send + 'static>(&self, event: E, bytes: usize) {
        let Some(queue) = &self.queue else { return };
        if queue.is_behind() {
            return self.record(&event);
        }
        let bytes = bytes.saturating_add(size_of::<E>());
        queue.add(QueuedRecord::Event { time: SystemTime::now(), event: Box::new(event), bytes });
    }
}

fn log_failure(error: &serde_json::Error) {
    tracing::error!(%error, "an event could not be written to the audit");
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
        audit.record_later(Event { event: "late", n: 0 }, 0);
        assert_eq!(audit.lost(), 2);
    }

    #[test]
    fn a_line_that_is_made_later_has_the_time_and_the_place_of_its_event() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let (audit, writer) = Audit::open(path.clone(), 1 << 30, 1).unwrap();
        let before = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
        for n in 0..100 {
            match n % 2 {
                0 => audit.record(&Event { event: "now", n }),
                _ => audit.record_later(Event { event: "later", n }, 5),
            }
        }
        let after = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
        drop(writer);
        let mut last = before;
        for (n, line) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let (time, event) = (line["time"].as_str().unwrap(), if n % 2 == 0 { "now" } else { "later" });
            assert_eq!((&line["n"], &line["event"]), (&n.into(), &event.into()));
            assert!(*last <= *time && *time <= *after, "{last} {time} {after}");
            last = time.to_owned();
        }
    }
}
