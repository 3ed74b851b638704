//! How much of the introspection each client may use.
//!
//! Otherwise a client that makes tokens up could hold all permits of an issuer, and no client with a new opaque token
//! would get in. So each client network has two shares: how many of its introspections run at the same time, and how
//! many of its tokens in a second may turn out to be invalid. Valid tokens do not count toward the second, and tokens
//! that are in the cache need no share.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::access::client_network::ClientNetwork;
use crate::token_bucket::TokenBucket;

/// Introspections of one client at the same time: a quarter of those of one issuer.
const AT_ONCE: usize = 4;

/// Tokens of one client in a second that no issuer knows.
const UNKNOWN_PER_SECOND: u64 = 20;

/// Clients with a share of their own. Beyond it, new clients have one share together.
const MAX_CLIENTS: usize = 10_000;

/// Shortest time between two searches for shares that nobody uses.
const SWEEP: Duration = Duration::from_secs(1);

/// The shares of all clients.
#[derive(Debug)]
pub(super) struct IntrospectionShares {
    shares: Mutex<Shares>,
    /// For clients beyond [`MAX_CLIENTS`].
    common: Arc<Share>,
}

#[derive(Debug, Default)]
struct Shares {
    by_client: HashMap<ClientNetwork, Arc<Share>>,
    /// When unused shares were last removed.
    swept: Option<Instant>,
}

#[derive(Debug)]
struct Share {
    permits: Arc<Semaphore>,
    unknown: TokenBucket,
}

/// The right to one introspection, until it is dropped.
#[derive(Debug)]
pub(super) struct IntrospectionPermit {
    share: Arc<Share>,
    _permit: OwnedSemaphorePermit,
}

impl Share {
    fn new() -> Arc<Self> {
        let (permits, unknown) = (Semaphore::new(AT_ONCE), TokenBucket::per_second(UNKNOWN_PER_SECOND));
        Arc::new(Self { permits: Arc::new(permits), unknown })
    }

    fn is_unused(self: &Arc<Self>, now: Instant) -> bool {
        Arc::strong_count(self) == 1 && self.unknown.is_full(now)
    }
}

impl Default for IntrospectionShares {
    fn default() -> Self {
        Self { shares: Mutex::default(), common: Share::new() }
    }
}

impl IntrospectionShares {
    /// Waits for a permit. `None`: the client has too many introspections under way, or had too many tokens that nobody
    /// knows.
    pub(super) async fn acquire(
        &self,
        client: ClientNetwork,
        max_wait: Duration,
    ) -> Option<IntrospectionPermit> {
        let share = self.share(client, Instant::now());
        let permit = timeout(max_wait, Arc::clone(&share.permits).acquire_owned()).await.ok()?.ok()?;
        share.unknown.take(1, Instant::now()).then_some(IntrospectionPermit { share, _permit: permit })
    }

    fn share(&self, client: ClientNetwork, now: Instant) -> Arc<Share> {
        let mut shares = self.shares.lock();
        if let Some(share) = shares.by_client.get(&client) {
            return Arc::clone(share);
        }
        let may_sweep = |swept: Instant| now.saturating_duration_since(swept) >= SWEEP;
        if shares.by_client.len() >= MAX_CLIENTS && shares.swept.is_none_or(may_sweep) {
            shares.swept = Some(now);
            shares.by_client.retain(|_, share| !share.is_unused(now));
        }
        if shares.by_client.len() >= MAX_CLIENTS {
            return Arc::clone(&self.common);
        }
        Arc::clone(shares.by_client.entry(client).or_insert_with(Share::new))
    }
}

impl IntrospectionPermit {
    /// The token was no invention, or nobody could say: it does not count.
    pub(super) fn was_needed(self) {
        self.share.unknown.give_back(1);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn client(last: u8) -> ClientNetwork {
        ClientNetwork::of(Some([192, 0, 2, last].into()))
    }

    #[tokio::test]
    async fn a_client_with_inventions_leaves_the_shares_of_others() {
        let shares = IntrospectionShares::default();
        let max_wait = Duration::from_secs(60);
        let mut held = Vec::new();
        for _ in 0..AT_ONCE {
            held.push(shares.acquire(client(1), max_wait).await.unwrap());
        }
        assert!(shares.acquire(client(1), max_wait).now_or_never().is_none(), "it waits for its own");
        assert!(shares.acquire(client(2), max_wait).now_or_never().flatten().is_some());
        drop(held);
        let mut asked = 0;
        while asked < 1_000 && shares.acquire(client(1), max_wait).await.is_some() {
            asked += 1;
        }
        assert!(asked <= 2 * UNKNOWN_PER_SECOND, "{asked}");
        assert!(shares.acquire(client(2), max_wait).now_or_never().flatten().is_some());
    }

    #[tokio::test]
    async fn good_tokens_do_not_count() {
        let shares = IntrospectionShares::default();
        for _ in 0..10 * UNKNOWN_PER_SECOND {
            shares.acquire(client(1), Duration::ZERO).await.unwrap().was_needed();
        }
    }

    #[test]
    fn clients_are_bounded_and_the_quiet_are_forgotten() {
        let (shares, start) = (IntrospectionShares::default(), Instant::now());
        let numbered = |n: u32| ClientNetwork::of(Some(std::net::Ipv4Addr::from_bits(n).into()));
        for n in 0..=u32::try_from(MAX_CLIENTS).unwrap() {
            let share = shares.share(numbered(n), start);
            share.unknown.take(1, start);
        }
        assert_eq!(shares.shares.lock().by_client.len(), MAX_CLIENTS);
        assert!(Arc::ptr_eq(&shares.share(numbered(u32::MAX), start), &shares.common));
        let later = start + 2 * SWEEP;
        assert!(!Arc::ptr_eq(&shares.share(numbered(u32::MAX), later), &shares.common));
        assert_eq!(shares.shares.lock().by_client.len(), 1);
    }
}
