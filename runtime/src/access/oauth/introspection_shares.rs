//! The share of each client in the introspections.
//!
//! Without shares, a client that makes up tokens could hold all permits of an issuer, and no other client with a new
//! opaque token would be authenticated. So each client network has two limits: how many of its introspections run at
//! the same time, and how many of its tokens a second may turn out to be invalid. Valid tokens do not count toward the
//! second limit, and cached tokens need no share.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::access::client_network::ClientNetwork;
use crate::token_bucket::TokenBucket;

/// Maximum number of simultaneous introspections of one client: a quarter of those of one issuer.
const MAX_CONCURRENT: usize = 4;

/// Maximum number of tokens a second of one client that turn out to be invalid.
const UNKNOWN_PER_SECOND: u64 = 20;

/// Maximum number of clients with shares of their own. Further clients have one share together.
const MAX_CLIENTS: usize = 10_000;

/// Minimum time between two scans for unused shares.
const SWEEP: Duration = Duration::from_secs(1);

/// The shares of all clients.
#[derive(Debug)]
pub(super) struct IntrospectionShares {
    shares: Mutex<Shares>,
    /// The share of clients beyond [`MAX_CLIENTS`].
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

/// The permit for one introspection. Dropping it returns the permit, but not the invalid token that it counted.
#[derive(Debug)]
pub(super) struct IntrospectionPermit {
    share: Arc<Share>,
    _permit: OwnedSemaphorePermit,
}

impl Share {
    fn new() -> Arc<Self> {
        let (permits, unknown) =
            (Semaphore::new(MAX_CONCURRENT), TokenBucket::per_second(UNKNOWN_PER_SECOND));
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
    /// Waits for a permit. Returns `None` if the client has too many introspections running, or has sent too many
    /// invalid tokens.
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
    /// The token was valid, or the issuer could not be asked: it does not count as invalid.
    pub(super) fn was_needed(self) {
        self.share.unknown.refund(1);
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
        for _ in 0..MAX_CONCURRENT {
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
