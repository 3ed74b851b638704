//! Counts the bytes that the server holds for its clients: request bodies, arguments of running calls, responses,
//! notifications and event stores. [`BufferBudget`] bounds them for the whole server and counts them for each caller.
//!
//! The bound of one caller is a dynamic threshold, as in shared-memory switches (Choudhury and Hahne): a caller may
//! hold as many bytes as are still free. One caller alone can hold half of the budget, two callers a third each, and
//! some bytes are always free for the next caller. Small reservations may exceed that bound by a factor, so that small
//! messages of one client still pass if another client with the same address holds many bytes. [Long-lived][long]
//! reservations have a lower factor even if they are small, because they would occupy that extra part permanently.
//!
//! A reservation travels with its bytes and releases them when it is dropped, so queues need no counters of their own.
//! Bodies and responses of up to [`UNCOUNTED_BYTES`] are not counted here: connections and sessions are bounded in
//! number, and their memory includes such messages.
//!
//! [long]: BufferShare::reserve_long_lived

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::call_env::Caller;
use crate::token_bucket::CallerKey as _;

/// A body or a response of up to this size is not counted: connections are bounded, and each has one of each.
pub const UNCOUNTED_BYTES: usize = 16 << 10;

/// How many bytes a message of `bytes` takes while it is served: the message itself, and the copy for the guest.
pub(crate) fn buffer_cost(bytes: usize) -> usize {
    2 * bytes
}

/// Pairs of a size and a factor. With a reservation of up to the size, a caller may hold the free bytes times the
/// factor. Above the last size the factor is 1.
type Factors = [(usize, usize)];

const SMALL: &Factors = &[(4 << 10, 7), (64 << 10, 3)];

/// Lower than the factors of small messages, so that small messages still pass when long-lived bytes do not. Higher
/// than the factor of large messages, so that large messages cannot keep a client from starting a request.
const LONG_LIVED: &Factors = &[(64 << 10, 2)];

/// Maximum number of evictable entries of one caller. Beyond it the oldest is evicted.
const MAX_EVICTABLE: usize = 4_096;

/// The budget.
#[derive(Debug)]
pub struct BufferBudget {
    capacity: usize,
    used: AtomicUsize,
    callers: Mutex<HashMap<Caller, Weak<CallerUsage>>>,
    released: Notify,
    /// How many tasks wait for `released`, which is notified only if there are any.
    waiters: AtomicUsize,
}

/// What one caller holds of the budget.
#[derive(Debug)]
struct CallerUsage {
    budget: Arc<BufferBudget>,
    caller: Caller,
    bytes: AtomicUsize,
    evictable: Mutex<VecDeque<Weak<dyn Evictable>>>,
}

/// The budget as one caller uses it. Clones share one usage.
#[derive(Debug, Clone)]
pub struct BufferShare(Arc<CallerUsage>);

/// Reserved bytes. Dropping the reservation releases them.
#[derive(Debug)]
pub struct BufferReservation {
    usage: Arc<CallerUsage>,
    bytes: usize,
}

/// Bytes that are held for a client that may come back. They are evicted when the caller needs space for other bytes.
pub(crate) trait Evictable: std::fmt::Debug + Send + Sync {
    /// Releases the bytes, unless the client has come back.
    fn evict(&self);
}

fn factor(factors: &Factors, bytes: usize) -> usize {
    factors.iter().find(|(size, _)| bytes <= *size).map_or(1, |(_, factor)| *factor)
}

/// Whether a caller that holds `own` of the `used` bytes may reserve `bytes` more.
fn fits(capacity: usize, used: usize, own: usize, bytes: usize, factor: usize) -> bool {
    let Some(free) = capacity.checked_sub(used.saturating_add(bytes)) else { return false };
    own.saturating_add(bytes) <= free.saturating_mul(factor)
}

impl BufferBudget {
    /// Makes a budget of `capacity` bytes.
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            capacity,
            used: AtomicUsize::new(0),
            callers: Mutex::default(),
            released: Notify::new(),
            waiters: AtomicUsize::new(0),
        })
    }

    /// Returns the share of one caller. All clients that count as this caller use the same share.
    #[must_use]
    pub fn share(self: &Arc<Self>, caller: &Caller) -> BufferShare {
        let caller = caller.key();
        let mut callers = self.callers.lock();
        if let Some(usage) = callers.get(&caller).and_then(Weak::upgrade) {
            return BufferShare(usage);
        }
        let usage = Arc::new(CallerUsage {
            budget: Arc::clone(self),
            caller: caller.clone(),
            bytes: AtomicUsize::new(0),
            evictable: Mutex::default(),
        });
        callers.insert(caller, Arc::downgrade(&usage));
        BufferShare(usage)
    }

    /// Counts a response as long as any slice of it exists. Returns `None` when the budget has too few bytes left.
    pub(crate) fn counted(self: &Arc<Self>, caller: &Caller, response: Bytes) -> Option<Bytes> {
        if response.len() <= UNCOUNTED_BYTES {
            return Some(response);
        }
        Some(self.share(caller).reserve(response.len())?.hold(response))
    }

    /// The reserved bytes of all callers.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// Bytes with their reservation.
struct CountedBytes(Bytes, #[expect(dead_code, reason = "held for its effect")] BufferReservation);

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl BufferShare {
    pub(crate) fn caller(&self) -> &Caller {
        &self.0.caller
    }

    /// Reserves bytes. Until they fit, this evicts the caller's evictable entries, oldest first.
    pub(crate) fn reserve(&self, bytes: usize) -> Option<BufferReservation> {
        self.reserve_within(bytes, factor(SMALL, bytes))
    }

    /// Like [`Self::reserve`], for bytes that stay until the client ends something, possibly forever: subscriptions,
    /// event streams, entries of running requests.
    pub(crate) fn reserve_long_lived(&self, bytes: usize) -> Option<BufferReservation> {
        self.reserve_within(bytes, factor(LONG_LIVED, bytes))
    }

    fn reserve_within(&self, bytes: usize, factor: usize) -> Option<BufferReservation> {
        loop {
            if let Some(reservation) = self.0.try_reserve(bytes, factor) {
                return Some(reservation);
            }
            let oldest = self.0.evictable.lock().pop_front()?;
            if let Some(oldest) = oldest.upgrade() {
                oldest.evict();
            }
        }
    }

    /// Like `BufferShare::reserve`, but waits for up to `timeout` until other reservations are released.
    pub async fn reserve_timeout(&self, bytes: usize, timeout: Duration) -> Option<BufferReservation> {
        let deadline = Instant::now() + timeout;
        if let Some(reservation) = self.reserve(bytes) {
            return Some(reservation);
        }
        let _waiter = Waiter::new(&self.0.budget.waiters);
        loop {
            let released = self.0.budget.released.notified();
            if let Some(reservation) = self.reserve(bytes) {
                return Some(reservation);
            }
            if tokio::time::timeout_at(deadline, released).await.is_err() {
                // Another task may have reserved and released the last bytes during the attempt above.
                return self.reserve(bytes);
            }
        }
    }

    /// Registers bytes as evictable: they are held for a client that may come back.
    pub(crate) fn register_evictable(&self, evictable: Weak<dyn Evictable>) {
        let mut all = self.0.evictable.lock();
        while all.front().is_some_and(|oldest| oldest.strong_count() == 0) {
            all.pop_front();
        }
        let oldest = if all.len() >= MAX_EVICTABLE { all.pop_front() } else { None };
        all.push_back(evictable);
        drop(all);
        if let Some(oldest) = oldest.and_then(|oldest| oldest.upgrade()) {
            oldest.evict();
        }
    }
}

/// Counts one waiting task until it is dropped.
struct Waiter<'b>(&'b AtomicUsize);

impl<'b> Waiter<'b> {
    fn new(waiters: &'b AtomicUsize) -> Self {
        waiters.fetch_add(1, Ordering::SeqCst);
        Self(waiters)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl CallerUsage {
    fn try_reserve(self: &Arc<Self>, bytes: usize, factor: usize) -> Option<BufferReservation> {
        // The bytes are added before the check, so that of two concurrent reservations never both get the last bytes.
        let used = self.budget.used.fetch_add(bytes, Ordering::SeqCst);
        let own = self.bytes.fetch_add(bytes, Ordering::SeqCst);
        if fits(self.budget.capacity, used, own, bytes, factor) {
            return Some(BufferReservation { usage: Arc::clone(self), bytes });
        }
        self.release(bytes);
        None
    }

    fn release(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::SeqCst);
        self.budget.used.fetch_sub(bytes, Ordering::SeqCst);
    }
}

impl Drop for CallerUsage {
    fn drop(&mut self) {
        let mut callers = self.budget.callers.lock();
        // The same caller may have a new usage by now.
        if callers.get(&self.caller).is_some_and(|usage| usage.strong_count() == 0) {
            callers.remove(&self.caller);
        }
    }
}

impl BufferReservation {
    /// Attaches the reservation to these bytes until no slice of them is left.
    pub(crate) fn hold(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(CountedBytes(bytes, self))
    }

    /// Adds another reservation of the same caller.
    pub(crate) fn merge(&mut self, mut more: Self) {
        if Arc::ptr_eq(&self.usage, &more.usage) {
            self.bytes += std::mem::take(&mut more.bytes);
        }
    }

    /// Releases all but `bytes`.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let more = self.bytes.saturating_sub(bytes);
        self.bytes -= more;
        self.release(more);
    }

    fn release(&self, bytes: usize) {
        self.usage.release(bytes);
        if self.usage.budget.waiters.load(Ordering::SeqCst) > 0 {
            self.usage.budget.released.notify_waiters();
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
        let fill = |share: &BufferShare| std::iter::from_fn(|| share.reserve(MIB)).collect::<Vec<_>>();
        let first = buffers.share(&caller(1));
        let reservation = fill(&first);
        assert_eq!(reservation.len(), 6, "one alone comes to a half");
        let second = fill(&buffers.share(&caller(2)));
        assert_eq!(second.len(), 3, "and the next to a half of the rest");
        drop(reservation);
        let third = fill(&buffers.share(&caller(1)));
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
        assert_eq!(buffers.callers.lock().len(), 1);
        drop(reservation);
        assert_eq!(buffers.callers.lock().len(), 0);
    }

    #[test]
    fn a_response_is_counted_until_no_slice_of_it_is_left() {
        let buffers = BufferBudget::new(4 * MIB);
        let response = buffers.counted(&caller(1), vec![7; MIB].into()).unwrap();
        let part = response.slice(5..9);
        drop(response);
        assert_eq!(buffers.used(), MIB);
        drop(part);
        assert_eq!(buffers.used(), 0);
        assert!(buffers.counted(&caller(1), vec![7; 3 * MIB].into()).is_none());
        assert!(buffers.counted(&caller(1), vec![7; UNCOUNTED_BYTES].into()).is_some());
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
            fn evict(&self) {
                self.0.lock().take();
            }
        }
        let share = BufferBudget::new(2 * MIB).share(&caller(1));
        let stream = Arc::new(Stream(Mutex::new(share.reserve(MIB))));
        assert!(share.reserve(MIB).is_none());
        let evictable: Weak<Stream> = Arc::downgrade(&stream);
        share.register_evictable(evictable);
        let mut reservation = share.reserve(MIB / 2).unwrap();
        assert!(stream.0.lock().is_none());
        reservation.merge(share.reserve(MIB / 4).unwrap());
        assert_eq!(share.0.budget.used(), MIB / 4 * 3);
        reservation.shrink_to(MIB);
        reservation.shrink_to(5);
        assert_eq!(share.0.budget.used(), 5);
    }
}
