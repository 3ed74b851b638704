//! One event stream of a session, with a memory: who lost the connection reads on from the last event it saw.
//!
//! A stream outlives connections. Its writer never waits for a reader: what does not fit pushes out what was already
//! delivered, and when nothing was, a notification is dropped, while a question or an answer pushes out what is older. A new
//! reader takes over from an old one, whose connection is probably dead, so that no event goes out on two. All of it is part
//! of what is [kept for the caller](super::super::buffers): when that is full, what has ended and is read by nobody is
//! forgotten. Without room a question ends its reader's connection, and an answer is replaced by an error; the stream goes on,
//! for a client that comes back.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Notify;

use super::super::buffers::{FREE, Held, Left, Share};
use super::super::error::RpcError;
use super::super::message::{Id, error_response};

/// Events that are kept for a reader that comes back.
const KEPT: usize = 256;

/// Bytes that are kept, the newest event aside.
const KEPT_BYTES: usize = 4 << 20;

/// What an event takes beside its message.
const BESIDE: usize = 64;

/// The stream.
#[derive(Debug)]
pub(crate) struct EventLog {
    /// Unique in its session.
    pub(crate) number: u64,
    state: Mutex<State>,
    changed: Notify,
    share: Share,
}

#[derive(Debug, Default)]
struct State {
    /// The numbers of those that are kept grow, by one where nothing was pushed out.
    events: VecDeque<Kept>,
    bytes: usize,
    last: u64,
    delivered: u64,
    /// Which reader is the present one.
    reader: u64,
    /// Readers that are still there, those that were taken over included.
    readers: usize,
    ended: Option<Instant>,
}

#[derive(Debug)]
struct Kept {
    number: u64,
    message: Bytes,
    /// Not for the error that stands for an answer.
    _held: Option<Held>,
}

impl State {
    fn push(&mut self, message: Bytes, held: Option<Held>) {
        self.last += 1;
        self.bytes += message.len();
        self.events.push_back(Kept { number: self.last, message, _held: held });
    }

    /// Forgets the oldest event.
    fn pop(&mut self) {
        if let Some(gone) = self.events.pop_front() {
            self.bytes -= gone.message.len();
        }
    }

    /// Whether there is room for so many bytes more.
    fn has_room(&self, bytes: usize) -> bool {
        self.events.is_empty() || (self.events.len() < KEPT && self.bytes + bytes <= KEPT_BYTES)
    }

    fn clear(&mut self) {
        self.events = VecDeque::new();
        self.bytes = 0;
    }
}

/// How much a message matters when there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It may be dropped.
    Notification,
    /// A question: it must arrive.
    Question,
    /// The same, and what is large in it [is counted](super::super::buffers::Buffers::keep) by itself.
    Answer,
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
    pub(crate) fn new(number: u64, share: Share) -> Arc<Self> {
        Arc::new(Self { number, state: Mutex::default(), changed: Notify::new(), share })
    }

    /// Adds a message. `false`: nothing more can be kept for this caller now.
    pub(crate) fn push(&self, message: Bytes, weight: Weight) -> bool {
        let counted = if weight == Weight::Answer && message.len() > FREE { 0 } else { message.len() };
        // Before the lock, since what is forgotten for it may be any stream.
        let held = self.share.hold_long(counted + BESIDE);
        let is_held = held.is_some();
        let mut state = self.lock();
        if is_held {
            if Self::make_room(&mut state, message.len(), weight) {
                state.push(message, held);
            }
        } else if weight == Weight::Question {
            tracing::debug!(
                "a stream is cut off: there is no room for its messages (setting [server] `buffers_mib`)"
            );
            // As if another had taken over. The next reader may find room again.
            state.reader += 1;
        }
        drop(state);
        self.changed.notify_waiters();
        is_held
    }

    /// Answers a request, instead of with what there is no room for. It is short and comes once, so that it is not counted.
    pub(crate) fn refuse(&self, id: Option<&Id>) {
        let message = error_response(id, &RpcError::no_room("the answer"));
        let mut state = self.lock();
        if Self::make_room(&mut state, message.len(), Weight::Answer) {
            state.push(message, None);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Pushes out what is older, as far as this message may. `false`: there is still no room for it.
    fn make_room(state: &mut State, bytes: usize, weight: Weight) -> bool {
        while !state.has_room(bytes) {
            let delivered = state.events.front().is_some_and(|oldest| oldest.number <= state.delivered);
            if !delivered && weight == Weight::Notification {
                return false;
            }
            state.pop();
        }
        true
    }

    /// Nothing more will come.
    pub(crate) fn end(self: &Arc<Self>) {
        let mut state = self.lock();
        state.ended.get_or_insert_with(Instant::now);
        let left = state.readers == 0;
        drop(state);
        self.changed.notify_waiters();
        if left {
            self.leave();
        }
    }

    /// It has ended and nobody reads it: it is kept for as long as there is room.
    fn leave(self: &Arc<Self>) {
        let own: Weak<Self> = Arc::downgrade(self);
        self.share.leave(own);
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
        let oldest = state.events.front().map_or(state.last + 1, |event| event.number);
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
        state.readers += 1;
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
        let next = state.events.iter().find(|event| event.number > self.after);
        match next.map(|event| (event.number, event.message.clone())) {
            Some((number, message)) => {
                state.delivered = state.delivered.max(number);
                drop(state);
                self.after = number;
                Some(Some(Event { id: self.id(), message: Some(message) }))
            }
            None if state.ended.is_some() => Some(None),
            None => None,
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.log.lock();
        state.readers -= 1;
        let left = state.readers == 0 && state.ended.is_some() && !state.events.is_empty();
        drop(state);
        if left {
            self.log.leave();
        }
    }
}

impl Left for EventLog {
    fn forget(&self) {
        let mut state = self.lock();
        if state.readers == 0 {
            state.clear();
        }
    }
}

/// Splits an event's id into the numbers of stream and event.
pub(crate) fn parse_id(id: &str) -> Option<(u64, u64)> {
    let (stream, event) = id.split_once('-')?;
    Some((u64::from_str_radix(stream, 16).ok()?, u64::from_str_radix(event, 16).ok()?))
}

#[cfg(test)]
mod tests;
