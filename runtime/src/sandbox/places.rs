//! Places for what all plugins share and one could take up whole: threads that block, connections.
//!
//! A plugin has a share of them, and takes a place of its share first: a crowd at one plugin then waits among itself and
//! leaves the common places to its neighbours. A place is held by the work itself, since a call that is gone does not end
//! what it began.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The places of one plugin, for one kind of work.
#[derive(Debug)]
pub(crate) struct Places {
    /// What one of them is.
    what: &'static str,
    share: usize,
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

/// A place, given back when dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

/// No place was free in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoPlace {
    /// The plugin has all of its share.
    #[error("the plugin has no {what} free of its {share}")]
    Plugin { what: &'static str, share: usize },
    /// Others have them.
    #[error("the server has no {what} free")]
    Server { what: &'static str },
}

impl Places {
    /// A `share` of the places of `all` plugins.
    pub(crate) fn new(what: &'static str, share: usize, all: Arc<Semaphore>) -> Self {
        Self { what, share, own: Arc::new(Semaphore::new(share)), all }
    }

    /// Takes a place, when one is free.
    pub(crate) async fn take(&self) -> Result<Taken, NoPlace> {
        self.take_within(Duration::MAX).await
    }

    /// Takes a place if one is free before `patience` ends.
    pub(crate) async fn take_within(&self, patience: Duration) -> Result<Taken, NoPlace> {
        let begun = tokio::time::Instant::now();
        let own = timeout(patience, Arc::clone(&self.own).acquire_owned()).await;
        let Ok(Ok(own)) = own else {
            return Err(NoPlace::Plugin { what: self.what, share: self.share });
        };
        let left = patience.saturating_sub(begun.elapsed());
        match timeout(left, Arc::clone(&self.all).acquire_owned()).await {
            Ok(Ok(all)) => Ok(Taken { _own: own, _all: all }),
            _ => Err(NoPlace::Server { what: self.what }),
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
        let greedy = Places::new("seat", 2, Arc::clone(&all));
        let (_first, second) = (greedy.take().await.unwrap(), greedy.take().await.unwrap());
        let refused = greedy.take_within(SOON).await.unwrap_err();
        assert_eq!(refused.to_string(), "the plugin has no seat free of its 2");
        let polite = Places::new("seat", 2, Arc::clone(&all));
        let third = polite.take_within(SOON).await.unwrap();
        let late = Places::new("seat", 2, all);
        let refused = late.take_within(SOON).await.unwrap_err();
        assert_eq!(refused.to_string(), "the server has no seat free");
        drop(third);
        drop(late.take_within(SOON).await.unwrap());
        drop(second);
        greedy.take_within(SOON).await.unwrap();
    }
}
