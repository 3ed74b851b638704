//! Bytes that the server keeps for its clients: bodies on their way in, arguments of calls under way, answers,
//! notifications and event logs on their way out. One budget for the whole server, [`BufferBudget`], and what each
//! caller holds of it.
//!
//! The rule is that of shared switches (dynamic thresholds, Choudhury and Hahne): a caller may hold as much as is still
//! free. One caller alone comes to a half, two to a third each, and however many there are, something is free for the
//! next. Small messages may take a larger part, so that those of a client behind the same address as a greedy one still
//! pass. That part is for what soon is over: what [lasts](BufferShare::reserve_long_lived) gets less of it, however
//! small, or it would fill it for good. What is held is given back by dropping a guard that travels with the bytes, so
//! no queue has to count for itself. What is [`FREE`] costs nothing here: connections and sessions are bounded in
//! number, and theirs is counted with them.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::host::Caller;
use crate::sandbox::CallerKey as _;

/// A body or an answer up to this size is not counted: its connection is, and has one of each.
pub const FREE: usize = 16 << 10;

/// What a message of so many bytes takes while it is served: as it came, and as a guest is given it.
pub(crate) fn buffer_cost(bytes: usize) -> usize {
    2 * bytes
}

/// Up to these sizes a caller may hold so many times as much as is free.
const SMALL: [(usize, usize); 2] = [(4 << 10, 7), (64 << 10, 3)];

/// The same of what lasts. Less than for any small message, which so still pass; more than for large ones, which so
/// cannot keep a client from beginning a request.
const LONG: [(usize, usize); 1] = [(64 << 10, 2)];

/// Streams of one caller that are remembered as left. Beyond it the oldest is forgotten.
const LEFT: usize = 4_096;

/// The budget.
#[derive(Debug)]
pub struct BufferBudget {
    most: usize,
    used: AtomicUsize,
    callers: Mutex<HashMap<Caller, Weak<CallerUsage>>>,
    freed: Notify,
    /// How many wait for it: giving back is cheap when nobody does.
    waiting: AtomicUsize,
}

/// What one caller holds of it.
#[derive(Debug)]
struct CallerUsage {
    buffers: Arc<BufferBudget>,
    caller: Caller,
    bytes: AtomicUsize,
    left: Mutex<VecDeque<Weak<dyn Evictable>>>,
}

/// One caller's access to the budget. Clones are the same.
#[derive(Debug, Clone)]
pub struct BufferShare(Arc<CallerUsage>);

/// Bytes that are held, until this is dropped.
#[derive(Debug)]
pub struct BufferReservation {
    own: Arc<CallerUsage>,
    bytes: usize,
}

/// Something that is kept for a client that may come back, and can be forgotten when there is no room.
pub(crate) trait Evictable: std::fmt::Debug + Send + Sync {
    /// Gives up what it holds, unless its client has come back.
    fn forget(&self);
}

/// How many times as much as is free a caller may hold with so many bytes more.
fn times(sizes: &[(usize, usize)], wanted: usize) -> usize {
    sizes.iter().find(|(size, _)| wanted <= *size).map_or(1, |(_, times)| *times)
}

/// Whether `wanted` bytes are to be had by a caller who holds `own` of the `used` ones.
fn fits(most: usize, used: usize, own: usize, wanted: usize, times: usize) -> bool {
    let Some(free) = most.checked_sub(used.saturating_add(wanted)) else { return false };
    own.saturating_add(wanted) <= free.saturating_mul(times)
}

impl BufferBudget {
    /// A budget of so many bytes.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            used: AtomicUsize::new(0),
            callers: Mutex::default(),
            freed: Notify::new(),
            waiting: AtomicUsize::new(0),
        })
    }

    /// What a caller holds, shared by all that comes from the same place.
    #[must_use]
    pub fn share(self: &Arc<Self>, caller: &Caller) -> BufferShare {
        let origin = caller.key();
        let mut callers = self.lock();
        if let Some(own) = callers.get(&origin).and_then(Weak::upgrade) {
            return BufferShare(own);
        }
        let (buffers, caller) = (Arc::clone(self), origin.clone());
        let own =
            Arc::new(CallerUsage { buffers, caller, bytes: AtomicUsize::new(0), left: Mutex::default() });
        callers.insert(origin, Arc::downgrade(&own));
        BufferShare(own)
    }

    /// An answer for a caller, counted for as long as any part of it is kept. `None`: there is no room for it.
    pub(crate) fn counted(self: &Arc<Self>, caller: &Caller, answer: Bytes) -> Option<Bytes> {
        if answer.len() <= FREE {
            return Some(answer);
        }
        let reservation = self.share(caller).reserve(answer.len())?;
        Some(Bytes::from_owner(CountedBytes(answer, reservation)))
    }

    /// Bytes that are held.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Caller, Weak<CallerUsage>>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes with what is held for them.
struct CountedBytes(Bytes, #[expect(dead_code, reason = "held for its effect")] BufferReservation);

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl BufferShare {
    /// Whose it is.
    pub(crate) fn caller(&self) -> &Caller {
        &self.0.caller
    }

    /// Holds so many bytes if they are to be had. What this caller has left behind is forgotten first, the oldest
    /// first.
    pub(crate) fn reserve(&self, bytes: usize) -> Option<BufferReservation> {
        self.reserve_within(bytes, times(&SMALL, bytes))
    }

    /// The same for what is kept until its client ends it, which may be never: subscriptions, event streams, places of
    /// requests.
    pub(crate) fn reserve_long_lived(&self, bytes: usize) -> Option<BufferReservation> {
        self.reserve_within(bytes, times(&LONG, bytes))
    }

    fn reserve_within(&self, bytes: usize, times: usize) -> Option<BufferReservation> {
        loop {
            if let Some(reservation) = self.0.try_reserve(bytes, times) {
                return Some(reservation);
            }
            let oldest = self.0.lock_evictable().pop_front()?;
            if let Some(left) = oldest.upgrade() {
                left.forget();
            }
        }
    }

    /// The same, waiting for at most so long until others have given back enough.
    pub async fn reserve_timeout(&self, bytes: usize, patience: Duration) -> Option<BufferReservation> {
        let end = Instant::now() + patience;
        if let Some(reservation) = self.reserve(bytes) {
            return Some(reservation);
        }
        let _waiting = Waiter::new(&self.0.buffers.waiting);
        loop {
            let freed = self.0.buffers.freed.notified();
            if let Some(reservation) = self.reserve(bytes) {
                return Some(reservation);
            }
            if tokio::time::timeout_at(end, freed).await.is_err() {
                // Somebody else may have taken and given back the last of it while this looked.
                return self.reserve(bytes);
            }
        }
    }

    /// Notes what is kept for a client that may come back.
    pub(crate) fn register_evictable(&self, left: Weak<dyn Evictable>) {
        let mut all = self.0.lock_evictable();
        while all.front().is_some_and(|oldest| oldest.strong_count() == 0) {
            all.pop_front();
        }
        let oldest = if all.len() >= LEFT { all.pop_front() } else { None };
        all.push_back(left);
        drop(all);
        if let Some(oldest) = oldest.and_then(|oldest| oldest.upgrade()) {
            oldest.forget();
        }
    }
}

/// Counts one who waits.
struct Waiter<'b>(&'b AtomicUsize);

impl<'b> Waiter<'b> {
    fn new(waiting: &'b AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(waiting)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl CallerUsage {
    fn try_reserve(self: &Arc<Self>, bytes: usize, times: usize) -> Option<BufferReservation> {
        // Taken first and looked at then, so that two who come at once never both get the last room.
        let used = self.buffers.used.fetch_add(bytes, Ordering::SeqCst);
        let own = self.bytes.fetch_add(bytes, Ordering::SeqCst);
        if fits(self.buffers.most, used, own, bytes, times) {
            return Some(BufferReservation { own: Arc::clone(self), bytes });
        }
        self.release(bytes);
        None
    }

    fn release(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::SeqCst);
        self.buffers.used.fetch_sub(bytes, Ordering::SeqCst);
    }

    fn lock_evictable(&self) -> MutexGuard<'_, VecDeque<Weak<dyn Evictable>>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallerUsage {
    fn drop(&mut self) {
        let mut callers = self.buffers.lock();
        // Somebody may have come from there again meanwhile.
        if callers.get(&self.caller).is_some_and(|own| own.strong_count() == 0) {
            callers.remove(&self.caller);
        }
    }
}

impl BufferReservation {
    /// Adds what was held for more of the same.
    pub(crate) fn merge(&mut self, mut more: Self) {
        if Arc::ptr_eq(&self.own, &more.own) {
            self.bytes += std::mem::take(&mut more.bytes);
        }
    }

    /// Gives back all but so many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let more = self.bytes.saturating_sub(bytes);
        self.bytes -= more;
        self.release(more);
    }

    fn release(&self, bytes: usize) {
        self.own.release(bytes);
        if self.own.buffers.waiting.load(Ordering::SeqCst) > 0 {
            self.own.buffers.freed.notify_waiters();
        }
    }
}

impl Drop for BufferReservation {
    fn drop(&mut self) {
        self.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn caller(number: u8) -> Caller {
        Caller::Address([192, 0, 2, number].into())
    }

    #[test]
    fn a_caller_may_hold_as_much_as_is_free() {
        let buffers = BufferBudget::new(12 * MIB);
        let take = |share: &BufferShare| std::iter::from_fn(|| share.reserve(MIB)).collect::<Vec<_>>();
        let first = buffers.share(&caller(1));
        let reservation = take(&first);
        assert_eq!(reservation.len(), 6, "one alone comes to a half");
        let second = take(&buffers.share(&caller(2)));
        assert_eq!(second.len(), 3, "and the next to a half of the rest");
        drop(reservation);
        let third = take(&buffers.share(&caller(1)));
        assert_eq!(third.len(), 4, "the caller who comes back finds less");
        drop((second, third));
        assert_eq!(buffers.used(), 0);
    }

    #[test]
    fn small_messages_pass_where_large_ones_do_not() {
        let share = BufferBudget::new(16 * MIB).share(&caller(1));
        let _large: Vec<_> = std::iter::from_fn(|| share.reserve(MIB)).collect();
        let medium: Vec<_> = std::iter::from_fn(|| share.reserve(64 << 10)).collect();
        assert_eq!(medium.len(), 64, "up to three quarters of all");
        assert!(share.reserve(4 << 10).is_some());
        assert!(!fits(8, 8, 0, 1, 7) && !fits(8, usize::MAX, 0, 1, 7) && fits(8, 0, 0, 0, 7));
    }

    #[test]
    fn what_lasts_leaves_room_for_short_messages_and_has_some_beside_large_ones() {
        let share = BufferBudget::new(16 * MIB).share(&caller(1));
        let _large: Vec<_> = std::iter::from_fn(|| share.reserve(MIB)).collect();
        let long: Vec<_> = std::iter::from_fn(|| share.reserve_long_lived(4 << 10)).collect();
        assert!(long.len() > 512, "more than 2 MiB beside the 8 of the large ones");
        assert!(share.reserve(4 << 10).is_some() && share.reserve(64 << 10).is_some());
    }

    #[test]
    fn all_addresses_of_one_network_are_one_caller_and_nobody_is_remembered() {
        let buffers = BufferBudget::new(MIB);
        let of = |text: &str| buffers.share(&Caller::Address(text.parse().unwrap()));
        let (one, other) = (of("2001:db8::1"), of("2001:db8::2"));
        assert!(Arc::ptr_eq(&one.0, &other.0));
        let reservation = one.reserve(5).unwrap();
        drop((one, other));
        assert_eq!(buffers.lock().len(), 1);
        drop(reservation);
        assert_eq!(buffers.lock().len(), 0);
    }

    #[test]
    fn an_answer_is_counted_until_nothing_of_it_is_kept() {
        let buffers = BufferBudget::new(4 * MIB);
        let answer = buffers.counted(&caller(1), vec![7; MIB].into()).unwrap();
        let part = answer.slice(5..9);
        drop(answer);
        assert_eq!(buffers.used(), MIB);
        drop(part);
        assert_eq!(buffers.used(), 0);
        assert!(buffers.counted(&caller(1), vec![7; 3 * MIB].into()).is_none());
        assert!(buffers.counted(&caller(1), vec![7; FREE].into()).is_some());
        assert_eq!(buffers.used(), 0);
    }

    #[tokio::test]
    async fn whoever_waits_gets_what_others_give_back() {
        let share = BufferBudget::new(2 * MIB).share(&caller(1));
        let reservation = share.reserve(MIB).unwrap();
        assert!(share.reserve_timeout(MIB, Duration::from_millis(1)).await.is_none());
        let waiting = tokio::spawn({
            let share = share.clone();
            async move { share.reserve_timeout(MIB, Duration::from_secs(60)).await.is_some() }
        });
        tokio::time::sleep(Duration::from_millis(5)).await;
        drop(reservation);
        assert!(waiting.await.unwrap());
    }

    #[test]
    fn what_was_left_behind_makes_room() {
        #[derive(Debug)]
        struct Stream(Mutex<Option<BufferReservation>>);
        impl Evictable for Stream {
            fn forget(&self) {
                self.0.lock().unwrap().take();
            }
        }
        let share = BufferBudget::new(2 * MIB).share(&caller(1));
        let stream = Arc::new(Stream(Mutex::new(share.reserve(MIB))));
        assert!(share.reserve(MIB).is_none());
        let left: Weak<Stream> = Arc::downgrade(&stream);
        share.register_evictable(left);
        let mut reservation = share.reserve(MIB / 2).unwrap();
        assert!(stream.0.lock().unwrap().is_none());
        reservation.merge(share.reserve(MIB / 4).unwrap());
        assert_eq!(share.0.buffers.used(), MIB / 4 * 3);
        reservation.shrink_to(MIB);
        reservation.shrink_to(5);
        assert_eq!(share.0.buffers.used(), 5);
    }
}
