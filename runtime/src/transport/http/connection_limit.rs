//! Bounds the number of open connections.
//!
//! At the limit, a new connection [evicts](crate::mcp::choose_evicted) one of the caller with the most connections:
//! first the connection that has waited longest for its client (for a request, for the rest of one, or for the client
//! to read a response), then an event stream, which a client opens again. A connection whose request is being served is
//! never evicted.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::mcp::{Caller, EvictionCandidate, choose_evicted};

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum ConnectionState {
    /// It waits for the client.
    Waiting,
    /// It sends an event stream.
    Streaming,
    /// Its request is being served.
    Working,
}

/// All open connections.
#[derive(Debug)]
pub(super) struct ConnectionLimit {
    max: usize,
    begun: Instant,
    /// The number of open connections, which the metrics share.
    count: Arc<AtomicUsize>,
    open: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    last: u64,
    by_number: HashMap<u64, (Caller, Arc<Activity>)>,
}

/// The state of one connection.
#[derive(Debug)]
pub(super) struct Activity {
    begun: Instant,
    state: AtomicU8,
    /// Milliseconds from `begun` to the last change of `state`.
    since: AtomicU64,
    /// Cancelled when the connection is evicted.
    pub(super) evicted: CancellationToken,
}

/// The permit for one open connection. Dropping it returns it.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    limit: Arc<ConnectionLimit>,
    number: u64,
    pub(super) activity: Arc<Activity>,
}

impl ConnectionLimit {
    /// Allows at most `max` connections, and keeps their number in `count`.
    pub(super) fn new(max: usize, count: Arc<AtomicUsize>) -> Arc<Self> {
        Arc::new(Self { max, begun: Instant::now(), count, open: Mutex::default() })
    }

    /// Acquires a permit for a new connection. Returns `None` if the limit is reached and all open connections serve
    /// requests.
    pub(super) fn acquire(self: &Arc<Self>, caller: Caller) -> Option<ConnectionPermit> {
        let mut open = self.open.lock();
        if open.by_number.len() >= self.max {
            let evicted = choose_evicted(open.candidates(), 1);
            evicted.iter().filter_map(|number| open.by_number.remove(number)).next()?.1.evicted.cancel();
        }
        open.last += 1;
        let number = open.last;
        let activity = Arc::new(Activity {
            begun: self.begun,
            state: AtomicU8::new(ConnectionState::Waiting as u8),
            since: AtomicU64::new(0),
            evicted: CancellationToken::new(),
        });
        activity.set(ConnectionState::Waiting);
        open.by_number.insert(number, (caller, Arc::clone(&activity)));
        self.count.store(open.by_number.len(), Ordering::Relaxed);
        Some(ConnectionPermit { limit: Arc::clone(self), number, activity })
    }
}

impl OpenConnections {
    fn candidates(&self) -> Vec<EvictionCandidate<u64, (u8, u64)>> {
        let candidate = |(number, (caller, activity)): (&u64, &(Caller, Arc<Activity>))| {
            let state = activity.state.load(Ordering::Relaxed);
            let worth = (state != ConnectionState::Working as u8)
                .then(|| (state, activity.since.load(Ordering::Relaxed)));
            EvictionCandidate { key: *number, caller: caller.clone(), worth }
        };
        self.by_number.iter().map(candidate).collect()
    }
}

impl Activity {
    pub(super) fn set(&self, state: ConnectionState) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.since.store(now, Ordering::Relaxed);
        self.state.store(state as u8, Ordering::Relaxed);
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.limit.open.lock();
        open.by_number.remove(&self.number);
        self.limit.count.store(open.by_number.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(number: u8) -> Caller {
        Caller::Address([192, 0, 2, number].into())
    }

    #[test]
    fn a_newcomer_displaces_what_waits_of_the_caller_who_has_the_most() {
        let connections = ConnectionLimit::new(4, Arc::default());
        let enter = |from| connections.acquire(caller(from)).unwrap();
        let (lone, streams, works, waits) = (enter(1), enter(2), enter(2), enter(2));
        streams.activity.set(ConnectionState::Streaming);
        works.activity.set(ConnectionState::Working);
        let gone = |permit: &ConnectionPermit| permit.activity.evicted.is_cancelled();
        let next = enter(3);
        assert!(gone(&waits) && !gone(&streams) && !gone(&lone));
        let third = enter(3);
        assert!(gone(&streams) && !gone(&works) && !gone(&lone) && !gone(&next));
        [&lone, &next, &third].iter().for_each(|permit| permit.activity.set(ConnectionState::Working));
        assert!(connections.acquire(caller(4)).is_none(), "all are at work");
        drop((lone, waits));
        assert!(connections.acquire(caller(4)).is_some());
    }
}
