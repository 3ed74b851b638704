//! Permits for resources that all plugins share and that one plugin could use up: blocking threads, connections,
//! look-ups of names.
//!
//! A plugin acquires a permit of its own share first, then a common one, so that many calls of one plugin wait for each
//! other and leave the common permits to other plugins. The work itself holds the permit, because the work goes on when
//! its call ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The permits of one plugin for one kind of work.
#[derive(Debug)]
pub(crate) struct SharedPermits {
    /// The name of one permit in messages.
    what: &'static str,
    share: usize,
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

/// One permit of the share and one common permit. Dropping it returns both.
#[derive(Debug)]
pub(crate) struct SharedPermit {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

/// No permit became free in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoSharedPermit {
    /// The plugin uses its whole share.
    #[error("the plugin has no {what} free of its {share}")]
    Plugin { what: &'static str, share: usize },
    /// All common permits are in use.
    #[error("the server has no {what} free")]
    Server { what: &'static str },
}

impl SharedPermits {
    /// Makes the permits of a plugin: a `share` of its own, of the common permits `all`.
    pub(crate) fn new(what: &'static str, share: usize, all: Arc<Semaphore>) -> Self {
        Self { what, share, own: Arc::new(Semaphore::new(share)), all }
    }

    /// Acquires a permit as soon as one is free.
    pub(crate) async fn acquire(&self) -> Result<SharedPermit, NoSharedPermit> {
        self.acquire_timeout(Duration::MAX).await
    }

    /// Acquires a permit if one becomes free within `max_wait`.
    pub(crate) async fn acquire_timeout(&self, max_wait: Duration) -> Result<SharedPermit, NoSharedPermit> {
        let begun = tokio::time::Instant::now();
        let own = timeout(max_wait, Arc::clone(&self.own).acquire_owned()).await;
        let Ok(Ok(own)) = own else {
            return Err(NoSharedPermit::Plugin { what: self.what, share: self.share });
        };
        let remaining = max_wait.saturating_sub(begun.elapsed());
        match timeout(remaining, Arc::clone(&self.all).acquire_owned()).await {
            Ok(Ok(all)) => Ok(SharedPermit { _own: own, _all: all }),
            _ => Err(NoSharedPermit::Server { what: self.what }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(1);

    #[tokio::test]
    async fn a_plugin_that_takes_all_it_can_leaves_places_to_others() {
        let all = Arc::new(Semaphore::new(3));
        let greedy = SharedPermits::new("seat", 2, Arc::clone(&all));
        let (_first, second) = (greedy.acquire().await.unwrap(), greedy.acquire().await.unwrap());
        let rejected = greedy.acquire_timeout(SOON).await.unwrap_err();
        assert_eq!(rejected.to_string(), "the plugin has no seat free of its 2");
        let polite = SharedPermits::new("seat", 2, Arc::clone(&all));
        let third = polite.acquire_timeout(SOON).await.unwrap();
        let late = SharedPermits::new("seat", 2, all);
        let rejected = late.acquire_timeout(SOON).await.unwrap_err();
        assert_eq!(rejected.to_string(), "the server has no seat free");
        drop(third);
        drop(late.acquire_timeout(SOON).await.unwrap());
        drop(second);
        greedy.acquire_timeout(SOON).await.unwrap();
    }
}
