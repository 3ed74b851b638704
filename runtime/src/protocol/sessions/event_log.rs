//! One event stream of a session, with a memory: who lost the connection reads on from the last event it saw.
//!
//! A stream outlives connections. Its writer never waits for a reader: what does not fit pushes out what was already
//! delivered, and when nothing was, notifications are dropped; questions and answers never. A new reader takes over from
//! an old one, whose connection is probably dead, so that no event goes out on two.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Notify;

/// Events that are kept for a reader that comes back.
const KEPT: usize = 256;

/// Bytes that are kept, the newest event aside.
const KEPT_BYTES: usize = 4 << 20;

/// Bytes that all streams of the process keep together.
static ALL_KEPT: AtomicUsize = AtomicUsize::new(0);

/// How many they may be before streams that were read are forgotten at once.
const MOST_KEPT: usize = 256 << 20;

/// The stream.
#[derive(Debug)]
pub(crate) struct EventLog {
    /// Unique in its session.
    pub(crate) number: u64,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// With their numbers, which grow by one.
    events: VecDeque<(u64, Bytes)>,
    bytes: usize,
    last: u64,
    delivered: u64,
    /// Which reader is the present one.
    reader: u64,
    ended: Option<Instant>,
}

impl State {
    /// Notes how many bytes are kept now.
    fn count(&mut self, bytes: usize) {
        ALL_KEPT.fetch_add(bytes, Ordering::Relaxed);
        ALL_KEPT.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.count(0);
    }
}

/// How much a message matters when there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It may be dropped.
    Notification,
    /// It must arrive.
    Essential,
}

/// One event to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Unique in the session, with the stream's number in it.
    pub id: String,
    /// The message. Without one the event only says from where to resume.
    pub message: Option<Bytes>,
}

/// A place in a stream that cannot be read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forgotten;

impl EventLog {
    pub(crate) fn new(number: u64) -> Arc<Self> {
        Arc::new(Self { number, state: Mutex::default(), changed: Notify::new() })
    }

    /// Adds a message.
    pub(crate) fn push(&self, message: Bytes, weight: Weight) {
        let mut state = self.lock();
        state.last += 1;
        let number = state.last;
        let bytes = state.bytes + message.len();
        state.count(bytes);
        state.events.push_back((number, message));
        while state.events.len() > KEPT || state.bytes > KEPT_BYTES {
            let Some((oldest, _)) = state.events.front() else { break };
            let deliverable = *oldest > state.delivered;
            let gone = match (deliverable, weight) {
                (false, _) => state.events.pop_front(),
                (true, Weight::Notification) => state.events.pop_back(),
                (true, Weight::Essential) => break,
            };
            let bytes = state.bytes - gone.map_or(0, |(_, message)| message.len());
            state.count(bytes);
            if deliverable {
                state.last -= 1;
                break;
            }
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Nothing more will come. What all streams of the server keep together is bounded too: beyond it, a stream that has
    /// been read to its end is not kept for a client that may have lost it.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.ended.get_or_insert_with(Instant::now);
        self.forget_if_crowded(&mut state);
        drop(state);
        self.changed.notify_waiters();
    }

    fn forget_if_crowded(&self, state: &mut State) {
        if state.ended.is_some()
            && state.delivered == state.last
            && ALL_KEPT.load(Ordering::Relaxed) > MOST_KEPT
        {
            state.events.clear();
            state.count(0);
        }
    }

    /// Bytes that it keeps.
    pub(crate) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// For how long it has ended.
    pub(crate) fn ended_for(&self) -> Option<Duration> {
        self.lock().ended.map(|ended| ended.elapsed())
    }

    /// Reads what comes after event number `after`; whoever read before stops.
    ///
    /// # Errors
    /// When events after that one are no longer kept.
    pub(crate) fn read(self: &Arc<Self>, after: u64) -> Result<Reader, Forgotten> {
        let mut state = self.lock();
        let oldest = state.events.front().map_or(state.last + 1, |(number, _)| *number);
        if after > state.last || after + 1 < oldest {
            return Err(Forgotten);
        }
        Ok(self.take_over(&mut state, after))
    }

    /// Reads what comes from now on; whoever read before stops.
    pub(crate) fn read_on(self: &Arc<Self>) -> Reader {
        let mut state = self.lock();
        let after = state.last;
        self.take_over(&mut state, after)
    }

    fn take_over(self: &Arc<Self>, state: &mut State, after: u64) -> Reader {
        state.reader += 1;
        self.changed.notify_waiters();
        Reader { log: Arc::clone(self), reader: state.reader, after }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in a stream.
#[derive(Debug)]
pub(crate) struct Reader {
    log: Arc<EventLog>,
    reader: u64,
    after: u64,
}

impl Reader {
    /// The id of the place where it stands.
    pub(crate) fn id(&self) -> String {
        format!("{:x}-{:x}", self.log.number, self.after)
    }

    /// The next event; `None` when the stream has ended or another reads on. Can be dropped and called again.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        let log = Arc::clone(&self.log);
        loop {
            let changed = log.changed.notified();
            if let Some(found) = self.look() {
                return found;
            }
            changed.await;
        }
    }

    /// `None`: nothing yet.
    fn look(&mut self) -> Option<Option<Event>> {
        let mut state = self.log.lock();
        if state.reader != self.reader {
            return Some(None);
        }
        let next = state.events.iter().find(|(number, _)| *number > self.after).cloned();
        match next {
            Some((number, message)) => {
                state.delivered = state.delivered.max(number);
                self.log.forget_if_crowded(&mut state);
                drop(state);
                self.after = number;
                Some(Some(Event { id: self.id(), message: Some(message) }))
            }
            None if state.ended.is_some() => Some(None),
            None => None,
        }
    }
}

/// Splits an event's id into the numbers of stream and event.
pub(crate) fn parse_id(id: &str) -> Option<(u64, u64)> {
    let (stream, event) = id.split_once('-')?;
    Some((u64::from_str_radix(stream, 16).ok()?, u64::from_str_radix(event, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn message(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    fn read(reader: &mut Reader) -> Option<Option<String>> {
        let event = reader.next().now_or_never()?;
        Some(event.map(|event| String::from_utf8(event.message.unwrap().to_vec()).unwrap()))
    }

    #[test]
    fn a_reader_resumes_where_another_was_cut_off() {
        let log = EventLog::new(5);
        for text in ["a", "b", "c"] {
            log.push(message(text), Weight::Notification);
        }
        let mut first = log.read(0).unwrap();
        assert_eq!(read(&mut first), Some(Some("a".into())));
        let (stream, event) = parse_id(&first.id()).unwrap();
        assert_eq!((stream, event), (5, 1));
        let mut second = log.read(event).unwrap();
        assert_eq!(read(&mut first), Some(None), "it was taken over");
        assert_eq!(read(&mut second), Some(Some("b".into())));
        assert_eq!(read(&mut second), Some(Some("c".into())));
        assert_eq!(read(&mut second), None);
        log.end();
        assert_eq!(read(&mut second), Some(None));
    }

    #[test]
    fn without_a_reader_notifications_are_dropped_and_answers_are_not() {
        let log = EventLog::new(1);
        for at in 0..2 * KEPT {
            log.push(message(&at.to_string()), Weight::Notification);
        }
        log.push(message("answer"), Weight::Essential);
        let mut reader = log.read(0).unwrap();
        for at in 0..KEPT {
            assert_eq!(read(&mut reader), Some(Some(at.to_string())));
        }
        assert_eq!(read(&mut reader), Some(Some("answer".into())));
    }

    #[test]
    fn what_was_delivered_makes_room() {
        let log = EventLog::new(1);
        let mut reader = log.read(0).unwrap();
        for at in 0..3 * KEPT {
            log.push(message(&at.to_string()), Weight::Notification);
            assert_eq!(read(&mut reader), Some(Some(at.to_string())));
        }
        assert_eq!(log.read(1).err(), Some(Forgotten));
        assert_eq!(log.read(u64::MAX).err(), Some(Forgotten));
        assert!(log.read(log.read_on().after - 5).is_ok());
    }

    #[test]
    fn ids_that_we_did_not_make_are_refused() {
        for id in ["", "1", "-", "x-1", "1-x", "1-2-3"] {
            assert_eq!(parse_id(id), None, "{id}");
        }
    }
}
