//! The open connections, bounded in number.
//!
//! When there are as many as may be, the caller who has the most [makes way](crate::protocol::make_way) with the one that is
//! worth least: one that waits for its client, be it for a request, for the rest of one, or for an answer to be read, and the
//! longest of those; then an event stream, which clients open again. One whose request is at work stays.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use crate::protocol::{Caller, Holder, make_way};

/// What a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Doing {
    /// It waits for its client.
    Waiting,
    /// It tells its client what happens.
    Streaming,
    /// Its request is served.
    Working,
}

/// All that are open.
#[derive(Debug)]
pub(super) struct Connections {
    most: usize,
    begun: Instant,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    last: u64,
    by_number: HashMap<u64, (Caller, Arc<Activity>)>,
}

/// What is known of one.
#[derive(Debug)]
pub(super) struct Activity {
    begun: Instant,
    doing: AtomicU8,
    /// Milliseconds after `begun`.
    since: AtomicU64,
    /// Cancelled when it has to make way.
    pub(super) given_up: CancellationToken,
}

/// A place, given back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    owner: Arc<Connections>,
    number: u64,
    pub(super) activity: Arc<Activity>,
}

impl Connections {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, begun: Instant::now(), open: Mutex::default() })
    }

    /// A place for a new one. `None`: there are as many as may be, and all are at work.
    pub(super) fn enter(self: &Arc<Self>, caller: Caller) -> Option<Place> {
        let mut open = self.lock();
        if open.by_number.len() >= self.most {
            let gone = make_way(open.holders(), 1);
            gone.iter().filter_map(|number| open.by_number.remove(number)).next()?.1.given_up.cancel();
        }
        open.last += 1;
        let number = open.last;
        let activity = Arc::new(Activity {
            begun: self.begun,
            doing: AtomicU8::new(Doing::Waiting as u8),
            since: AtomicU64::new(0),
            given_up: CancellationToken::new(),
        });
        activity.set(Doing::Waiting);
        open.by_number.insert(number, (caller, Arc::clone(&activity)));
        Some(Place { owner: Arc::clone(self), number, activity })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn holders(&self) -> Vec<Holder<u64, (u8, u64)>> {
        let holder = |(number, (caller, activity)): (&u64, &(Caller, Arc<Activity>))| {
            let doing = activity.doing.load(Ordering::Relaxed);
            let worth =
                (doing != Doing::Working as u8).then(|| (doing, activity.since.load(Ordering::Relaxed)));
            Holder { key: *number, caller: caller.clone(), worth }
        };
        self.by_number.iter().map(holder).collect()
    }
}

impl Activity {
    pub(super) fn set(&self, doing: Doing) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.since.store(now, Ordering::Relaxed);
        self.doing.store(doing as u8, Ordering::Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.owner.lock().by_number.remove(&self.number);
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
        let connections = Connections::new(4);
        let enter = |from| connections.enter(caller(from)).unwrap();
        let (lone, streams, works, waits) = (enter(1), enter(2), enter(2), enter(2));
        streams.activity.set(Doing::Streaming);
        works.activity.set(Doing::Working);
        let gone = |place: &Place| place.activity.given_up.is_cancelled();
        let next = enter(3);
        assert!(gone(&waits) && !gone(&streams) && !gone(&lone));
        let third = enter(3);
        assert!(gone(&streams) && !gone(&works) && !gone(&lone) && !gone(&next));
        [&lone, &next, &third].iter().for_each(|place| place.activity.set(Doing::Working));
        assert!(connections.enter(caller(4)).is_none(), "all are at work");
        drop((lone, waits));
        assert!(connections.enter(caller(4)).is_some());
    }
}
