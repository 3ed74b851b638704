//! The events of one resumable SSE stream: a client that lost its connection reads on from the last event it saw.
//!
//! A stream outlives connections. Its writer never waits for a reader: what does not fit pushes out what was already
//! delivered, and when nothing was, a notification is dropped, while a client request or a response pushes out what is
//! older. A new reader takes over from an old one, whose connection is probably dead, so that no event goes out on two.
//! All of it is part of what of what is [kept for the caller](crate::mcp::BufferBudget): when that is full, what has
//! ended and is read by nobody is forgotten. Without room a client request ends its reader's connection, and a response
//! is replaced by an error; the stream goes on, for a client that comes back.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::mcp::{BufferReservation, BufferShare, Evictable, FREE, RequestId, RpcError, error_response};

/// Events that are kept for a reader that comes back.
const MAX_EVENTS: usize = 256;

/// Bytes that are kept, the newest event aside.
const MAX_BYTES: usize = 4 << 20;

/// What an event takes beside its message.
const BESIDE: usize = 64;

/// The stream.
#[derive(Debug)]
pub(super) struct EventStore {
    /// Unique in its session.
    pub(super) number: u64,
    state: Mutex<StoreState>,
    changed: Notify,
    share: BufferShare,
}

#[derive(Debug, Default)]
struct StoreState {
    /// The numbers of those that are kept grow, by one where nothing was pushed out.
    events: VecDeque<StoredEvent>,
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
struct StoredEvent {
    number: u64,
    message: Bytes,
    /// Not for the error that stands for an answer.
    _reservation: Option<BufferReservation>,
}

impl StoreState {
    fn push(&mut self, message: Bytes, reservation: Option<BufferReservation>) {
        self.last += 1;
        self.bytes += message.len();
        self.events.push_back(StoredEvent { number: self.last, message, _reservation: reservation });
    }

    /// Forgets the oldest event.
    fn pop(&mut self) {
        if let Some(gone) = self.events.pop_front() {
            self.bytes -= gone.message.len();
        }
    }

    /// Whether there is room for so many bytes more.
    fn has_room(&self, bytes: usize) -> bool {
        self.events.is_empty() || (self.events.len() < MAX_EVENTS && self.bytes + bytes <= MAX_BYTES)
    }

    fn clear(&mut self) {
        self.events = VecDeque::new();
        self.bytes = 0;
    }
}

/// How much a message matters when there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventPriority {
    /// It may be dropped.
    Notification,
    /// A client request: it must arrive.
    ClientRequest,
    /// The same, and what is large in it [is counted](crate::mcp::BufferBudget::counted) by itself.
    Response,
}

/// One event to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Unique in the session, with the stream's number in it.
    pub(super) id: String,
    /// The message. Without one the event only says from where to resume.
    pub(super) message: Option<Bytes>,
}

/// A place in a stream that cannot be read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventGone;

impl EventStore {
    pub(super) fn new(number: u64, share: BufferShare) -> Arc<Self> {
        Arc::new(Self { number, state: Mutex::default(), changed: Notify::new(), share })
    }

    /// Adds a message. `false`: nothing more can be kept for this caller now.
    pub(super) fn push(&self, message: Bytes, weight: EventPriority) -> bool {
        let counted =
            if weight == EventPriority::Response && message.len() > FREE { 0 } else { message.len() };
        // Before the lock, since what is forgotten for it may be any stream.
        let reservation = self.share.reserve_long_lived(counted + BESIDE);
        let is_held = reservation.is_some();
        let mut state = self.lock();
        if is_held {
            if Self::make_room(&mut state, message.len(), weight) {
                state.push(message, reservation);
            }
        } else if weight == EventPriority::ClientRequest {
            tracing::debug!(
                "closed an SSE stream: the client buffers are full (setting [server] `client_buffers_mib`)"
            );
            // As if another had taken over. The next reader may find room again.
            state.reader += 1;
        }
        drop(state);
        self.changed.notify_waiters();
        is_held
    }

    /// Answers a request, instead of with what there is no room for. It is short and comes once, so that it is not
    /// counted.
    pub(super) fn push_error(&self, id: Option<&RequestId>) {
        let message = error_response(id, &RpcError::no_room("the answer"));
        let mut state = self.lock();
        if Self::make_room(&mut state, message.len(), EventPriority::Response) {
            state.push(message, None);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Pushes out what is older, as far as this message may. `false`: there is still no room for it.
    fn make_room(state: &mut StoreState, bytes: usize, weight: EventPriority) -> bool {
        while !state.has_room(bytes) {
            let delivered = state.events.front().is_some_and(|oldest| oldest.number <= state.delivered);
            if !delivered && weight == EventPriority::Notification {
                return false;
            }
            state.pop();
        }
        true
    }

    /// Nothing more will come.
    pub(super) fn end(self: &Arc<Self>) {
        let mut state = self.lock();
        state.ended.get_or_insert_with(Instant::now);
        let left = state.readers == 0;
        drop(state);
        self.changed.notify_waiters();
        if left {
            self.register_evictable();
        }
    }

    /// It has ended and nobody reads it: it is kept for as long as there is room.
    fn register_evictable(self: &Arc<Self>) {
        let own: Weak<Self> = Arc::downgrade(self);
        self.share.register_evictable(own);
    }

    /// Bytes that it keeps.
    pub(super) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// For how long it has ended.
    pub(super) fn ended_for(&self) -> Option<Duration> {
        self.lock().ended.map(|ended| ended.elapsed())
    }

    /// Reads what comes after event number `after`; an earlier reader stops.
    ///
    /// # Errors
    /// When events after that one are no longer kept.
    pub(super) fn read_after(self: &Arc<Self>, after: u64) -> Result<EventReader, EventGone> {
        let mut state = self.lock();
        let oldest = state.events.front().map_or(state.last + 1, |event| event.number);
        if after > state.last || after + 1 < oldest {
            return Err(EventGone);
        }
        Ok(self.take_over(&mut state, after))
    }

    /// Reads what comes from now on; an earlier reader stops.
    pub(super) fn read_new(self: &Arc<Self>) -> EventReader {
        let mut state = self.lock();
        let after = state.last;
        self.take_over(&mut state, after)
    }

    fn take_over(self: &Arc<Self>, state: &mut StoreState, after: u64) -> EventReader {
        state.reader += 1;
        state.readers += 1;
        self.changed.notify_waiters();
        EventReader { store: Arc::clone(self), reader: state.reader, after }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, StoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in a stream.
#[derive(Debug)]
pub(super) struct EventReader {
    store: Arc<EventStore>,
    reader: u64,
    after: u64,
}

impl EventReader {
    /// The id of the place where it stands.
    pub(super) fn id(&self) -> String {
        format!("{:x}-{:x}", self.store.number, self.after)
    }

    /// The next event; `None` when the stream has ended or another reads on. Can be dropped and called again.
    pub(super) async fn next(&mut self) -> Option<Event> {
        let store = Arc::clone(&self.store);
        loop {
            let changed = store.changed.notified();
            if let Some(found) = self.try_next() {
                return found;
            }
            changed.await;
        }
    }

    /// `None`: nothing yet.
    fn try_next(&mut self) -> Option<Option<Event>> {
        let mut state = self.store.lock();
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

impl Drop for EventReader {
    fn drop(&mut self) {
        let mut state = self.store.lock();
        state.readers -= 1;
        let left = state.readers == 0 && state.ended.is_some() && !state.events.is_empty();
        drop(state);
        if left {
            self.store.register_evictable();
        }
    }
}

impl Evictable for EventStore {
    fn forget(&self) {
        let mut state = self.lock();
        if state.readers == 0 {
            state.clear();
        }
    }
}

/// Splits an event's id into the numbers of stream and event.
pub(super) fn parse_id(id: &str) -> Option<(u64, u64)> {
    let (stream, event) = id.split_once('-')?;
    Some((u64::from_str_radix(stream, 16).ok()?, u64::from_str_radix(event, 16).ok()?))
}

#[cfg(test)]
mod tests;
