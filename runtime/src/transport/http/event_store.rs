//! The stored events of one resumable SSE stream: a client that lost its connection continues after the last event it
//! received.
//!
//! A stream outlives its connections. The writer never waits for a reader: if a message does not fit, events that were
//! already delivered are removed. If the oldest event was not delivered, a new notification is dropped, but a client
//! request or a response removes the oldest events. A new reader replaces the old one, whose connection is probably
//! dead, so that no event is sent on two connections. The events count towards the [buffers of the
//! caller](crate::mcp::BufferBudget). When these are full, the events of streams that have ended and have no reader are
//! removed. If that is not enough, a client request that does not fit ends the reader's connection, and a response that
//! does not fit is replaced by an error; the stream itself stays for a later reader.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::mcp::{
    BufferReservation, BufferShare, Evictable, RequestId, RpcError, UNCOUNTED_BYTES, error_response,
};

/// Maximum number of events that one stream stores.
const MAX_EVENTS: usize = 256;

/// Maximum number of bytes that one stream stores, besides the newest event.
const MAX_BYTES: usize = 4 << 20;

/// Bytes that an event takes besides its message.
const OVERHEAD: usize = 64;

/// The stored events of one stream.
#[derive(Debug)]
pub(super) struct EventStore {
    /// The stream's number, unique in its session.
    pub(super) number: u64,
    state: Mutex<StoreState>,
    changed: Notify,
    share: BufferShare,
}

#[derive(Debug, Default)]
struct StoreState {
    /// In the order of their numbers. Removed events leave gaps in the numbers.
    events: VecDeque<StoredEvent>,
    bytes: usize,
    last: u64,
    delivered: u64,
    /// The number of the current reader.
    reader: u64,
    /// The number of readers that are not dropped yet, including replaced ones.
    readers: usize,
    ended: Option<Instant>,
}

#[derive(Debug)]
struct StoredEvent {
    number: u64,
    message: Bytes,
    /// `None` for an error that replaces a response, which is not counted.
    _reservation: Option<BufferReservation>,
}

impl StoreState {
    fn push(&mut self, message: Bytes, reservation: Option<BufferReservation>) {
        self.last += 1;
        self.bytes += message.len();
        self.events.push_back(StoredEvent { number: self.last, message, _reservation: reservation });
    }

    /// Removes the oldest event.
    fn pop(&mut self) {
        if let Some(oldest) = self.events.pop_front() {
            self.bytes -= oldest.message.len();
        }
    }

    /// Whether a message of `bytes` fits.
    fn fits(&self, bytes: usize) -> bool {
        self.events.is_empty() || (self.events.len() < MAX_EVENTS && self.bytes + bytes <= MAX_BYTES)
    }

    fn clear(&mut self) {
        self.events = VecDeque::new();
        self.bytes = 0;
    }
}

/// What to do if a message does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventPriority {
    /// The message may be dropped.
    Notification,
    /// The message removes older events.
    ClientRequest,
    /// Like a client request; [`counted`](crate::mcp::BufferBudget::counted) has counted a large response already.
    Response,
}

/// One event to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// The event's id, unique in the session. It contains the stream's number.
    pub(super) id: String,
    /// The message; `None` in an event whose only purpose is its id.
    pub(super) message: Option<Bytes>,
}

/// The requested events are no longer stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventGone;

impl EventStore {
    pub(super) fn new(number: u64, share: BufferShare) -> Arc<Self> {
        Arc::new(Self { number, state: Mutex::default(), changed: Notify::new(), share })
    }

    /// Adds a message. Returns `false` if the buffers of this caller are full.
    pub(super) fn push(&self, message: Bytes, priority: EventPriority) -> bool {
        let counted = if priority == EventPriority::Response && message.len() > UNCOUNTED_BYTES {
            0
        } else {
            message.len()
        };
        // Before the lock, because reserving may make any stream remove its events.
        let reservation = self.share.reserve_long_lived(counted + OVERHEAD);
        let is_reserved = reservation.is_some();
        let mut state = self.state.lock();
        if is_reserved {
            if Self::remove_older(&mut state, message.len(), priority) {
                state.push(message, reservation);
            }
        } else if priority == EventPriority::ClientRequest {
            tracing::debug!(
                "closed an SSE stream: the client buffers are full (setting [server] `client_buffers_mib`)"
            );
            // Ends the current reader, as a new reader would. There may be space again for the next reader.
            state.reader += 1;
        }
        drop(state);
        self.changed.notify_waiters();
        is_reserved
    }

    /// Adds an error in place of a response that does not fit. The error is short and comes only once, so it is not
    /// counted.
    pub(super) fn push_error(&self, id: Option<&RequestId>) {
        let message = error_response(id, &RpcError::overloaded("the response"));
        let mut state = self.state.lock();
        if Self::remove_older(&mut state, message.len(), EventPriority::Response) {
            state.push(message, None);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Removes older events, as far as this priority permits. Returns `false` if the message still does not fit.
    fn remove_older(state: &mut StoreState, bytes: usize, priority: EventPriority) -> bool {
        while !state.fits(bytes) {
            let delivered = state.events.front().is_some_and(|oldest| oldest.number <= state.delivered);
            if !delivered && priority == EventPriority::Notification {
                return false;
            }
            state.pop();
        }
        true
    }

    /// Ends the stream: no more messages follow.
    pub(super) fn end(self: &Arc<Self>) {
        let mut state = self.state.lock();
        state.ended.get_or_insert_with(Instant::now);
        let is_evictable = state.readers == 0;
        drop(state);
        self.changed.notify_waiters();
        if is_evictable {
            self.register_evictable();
        }
    }

    /// Allows the budget to remove the events, because the stream has ended and has no reader.
    fn register_evictable(self: &Arc<Self>) {
        let own: Weak<Self> = Arc::downgrade(self);
        self.share.register_evictable(own);
    }

    /// The number of stored bytes.
    pub(super) fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    /// The time since the stream ended; `None` while it continues.
    pub(super) fn ended_for(&self) -> Option<Duration> {
        self.state.lock().ended.map(|ended| ended.elapsed())
    }

    /// Returns a reader for the events after the event number `after`. It replaces an earlier reader.
    ///
    /// # Errors
    /// When events after `after` are no longer stored.
    pub(super) fn read_after(self: &Arc<Self>, after: u64) -> Result<EventReader, EventGone> {
        let mut state = self.state.lock();
        let oldest = state.events.front().map_or(state.last + 1, |event| event.number);
        if after > state.last || after + 1 < oldest {
            return Err(EventGone);
        }
        Ok(self.replace_reader(&mut state, after))
    }

    /// Returns a reader for new events only. It replaces an earlier reader.
    pub(super) fn read_new(self: &Arc<Self>) -> EventReader {
        let mut state = self.state.lock();
        let after = state.last;
        self.replace_reader(&mut state, after)
    }

    fn replace_reader(self: &Arc<Self>, state: &mut StoreState, after: u64) -> EventReader {
        state.reader += 1;
        state.readers += 1;
        self.changed.notify_waiters();
        EventReader { store: Arc::clone(self), reader: state.reader, after }
    }
}

/// Reads the events of a stream from a position on.
#[derive(Debug)]
pub(super) struct EventReader {
    store: Arc<EventStore>,
    reader: u64,
    after: u64,
}

impl EventReader {
    /// The event id of the current position.
    pub(super) fn id(&self) -> String {
        format!("{:x}-{:x}", self.store.number, self.after)
    }

    /// Returns the next event; `None` if the stream has ended or another reader has replaced this one, or if this
    /// reader may not have the event, which then counts as not delivered. Cancel-safe.
    pub(super) async fn next_if(&mut self, may_read: impl Fn() -> bool) -> Option<Event> {
        let store = Arc::clone(&self.store);
        loop {
            let changed = store.changed.notified();
            if let Some(event) = self.try_next(&may_read) {
                return event;
            }
            changed.await;
        }
    }

    /// Returns the result of `next_if` if it is available now.
    fn try_next(&mut self, may_read: &impl Fn() -> bool) -> Option<Option<Event>> {
        let mut state = self.store.state.lock();
        if state.reader != self.reader {
            return Some(None);
        }
        let next = state.events.iter().find(|event| event.number > self.after);
        match next.map(|event| (event.number, event.message.clone())) {
            Some(_) if !may_read() => Some(None),
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
        let mut state = self.store.state.lock();
        state.readers -= 1;
        let is_evictable = state.readers == 0 && state.ended.is_some() && !state.events.is_empty();
        drop(state);
        if is_evictable {
            self.store.register_evictable();
        }
    }
}

impl Evictable for EventStore {
    fn evict(&self) {
        let mut state = self.state.lock();
        if state.readers == 0 {
            state.clear();
        }
    }
}

/// Splits an event id into the number of its stream and its own number.
pub(super) fn parse_id(id: &str) -> Option<(u64, u64)> {
    let (stream, event) = id.split_once('-')?;
    Some((u64::from_str_radix(stream, 16).ok()?, u64::from_str_radix(event, 16).ok()?))
}

#[cfg(test)]
mod tests;
