//! A document of an issuer, its keys or its metadata: when it is fetched, and how long it counts.
//!
//! Clients decide how often a token needs the document, so this type decides how often it is fetched. One load runs at
//! a time, and every request that needs the document waits for it. A load is a task of its own, which goes on when the
//! waiting requests are dropped: otherwise a client that sends a token with an unknown key and disconnects could cancel
//! every load, and keep this server from learning a new key. Dropping the document ends the task.
//!
//! | The document | What happens |
//! |---|---|
//! | is fresh and has what is looked for | it is used |
//! | is fresh and lacks that | it is fetched again, at most once in [`RELOAD_INTERVAL`] |
//! | is no longer fresh | it is fetched again; until that succeeds the old one counts, for at most [`MAX_AGE`] |
//! | was never fetched, or too long ago | it is fetched, at most once in [`RETRY_INTERVAL`] |

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::fetch::FetchError;
use crate::observe::with_causes;

/// Shortest time from one fetch to the next, while there is a document.
pub(super) const RELOAD_INTERVAL: Duration = Duration::from_secs(30);

/// The same while there is none, so that a server that began before its issuer does not stay closed for long.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// How long a document counts when the issuer cannot be reached.
pub(super) const MAX_AGE: Duration = Duration::from_secs(24 * 3600);

/// Bounds of how long a document is fresh, whatever its issuer says.
const MIN_FRESH: Duration = Duration::from_secs(5 * 60);

/// How long a document is fresh whose issuer says nothing.
const DEFAULT_FRESH: Duration = Duration::from_secs(10 * 60);

/// How long a load is waited for.
const MAX_WAIT: Duration = Duration::from_secs(8);

/// The same where the old document would do.
const MAX_WAIT_WITH_OLD: Duration = Duration::from_secs(2);

/// How far two readings of the clock may be out of order without meaning that the clock was set back.
const CLOCK_JITTER: Duration = Duration::from_secs(60);

/// A document as it was fetched, with how long it may be kept.
pub(super) struct Loaded<T> {
    pub(super) value: T,
    pub(super) max_age: Option<Duration>,
}

/// The document cannot be had now; how long to wait before another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unavailable(pub(super) Duration);

/// Fetches and parses the document.
type Loader<T> = Box<dyn Fn(SystemTime) -> BoxFuture<'static, Result<Loaded<T>, FetchError>> + Send + Sync>;

type LoadResult<T> = Result<(Arc<T>, Duration), Arc<FetchError>>;

/// A document, its age, and the load that runs.
pub(super) struct RemoteDocument<T> {
    /// What it is, for the log.
    name: String,
    loader: Loader<T>,
    state: Mutex<State<T>>,
}

struct State<T> {
    document: Option<FetchedDocument<T>>,
    /// When the last load began, but for that of the first document.
    attempted: Option<SystemTime>,
    has_failed: bool,
    load: Option<Load<T>>,
}

struct FetchedDocument<T> {
    value: Arc<T>,
    fetched: SystemTime,
    fresh: Duration,
}

struct Load<T> {
    began: SystemTime,
    result: Shared<BoxFuture<'static, LoadResult<T>>>,
}

impl<T> fmt::Debug for RemoteDocument<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteDocument").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<T: Send + Sync + 'static> RemoteDocument<T> {
    pub(super) fn new<F>(name: String, loader: F) -> Self
    where
        F: Fn(SystemTime) -> BoxFuture<'static, Result<Loaded<T>, FetchError>> + Send + Sync + 'static,
    {
        let state = State { document: None, attempted: None, has_failed: false, load: None };
        Self { name, loader: Box::new(loader), state: Mutex::new(state) }
    }

    /// The document, fetched again if it is not fresh or `has_answer` finds nothing in it. The document that is
    /// returned may still lack the answer, which then is that there is none.
    pub(super) async fn get(
        &self,
        has_answer: impl Fn(&T) -> bool,
        now: SystemTime,
    ) -> Result<Arc<T>, Unavailable> {
        let (result, max_wait) = {
            let mut state = self.state.lock();
            state.finish_load(&self.name);
            if let Some(document) = state.document.as_ref().filter(|document| document.is_fresh(now))
                && has_answer(&document.value)
            {
                return Ok(Arc::clone(&document.value));
            }
            if state.load.is_none() && state.wait_for_next(now).is_zero() {
                state.load = Some(self.start(now));
            }
            let Some(load) = &state.load else { return state.best(has_answer, now) };
            let would_do = state.usable(now).is_some_and(|value| has_answer(value));
            (load.result.clone(), if would_do { MAX_WAIT_WITH_OLD } else { MAX_WAIT })
        };
        // The state has the result too, or says that there is none yet.
        let _ = timeout(max_wait, result).await;
        let mut state = self.state.lock();
        state.finish_load(&self.name);
        state.best(has_answer, now)
    }

    /// Begins a load.
    fn start(&self, now: SystemTime) -> Load<T> {
        let task = AbortOnDropHandle::new(tokio::spawn((self.loader)(now)));
        let result = task.map(|ended| match ended {
            Ok(Ok(loaded)) => Ok((Arc::new(loaded.value), fresh(loaded.max_age))),
            Ok(Err(error)) => Err(Arc::new(error)),
            Err(_) => Err(Arc::new(FetchError::Stopped)),
        });
        Load { began: now, result: result.boxed().shared() }
    }
}

impl<T> State<T> {
    /// Takes over what a load that has ended brought.
    fn finish_load(&mut self, name: &str) {
        let Some(load) = &self.load else { return };
        let Some(result) = load.result.clone().now_or_never() else { return };
        let fetched = load.began;
        self.load = None;
        // The first document does not count: its issuer may have changed it since, and the next load finds that out.
        let is_first = self.document.is_none() && result.is_ok();
        self.attempted = (!is_first).then_some(fetched);
        match result {
            Ok((value, fresh)) => {
                self.document = Some(FetchedDocument { value, fetched, fresh });
                if self.has_failed {
                    tracing::info!("{name} could be fetched again");
                }
                self.has_failed = false;
            }
            Err(error) => {
                let error = with_causes(&error);
                // Once, not at each attempt while the issuer is down.
                if !self.has_failed {
                    tracing::warn!(
                        error,
                        "{name} could not be fetched; what is known of it counts for a day"
                    );
                }
                self.has_failed = true;
            }
        }
    }

    /// How long until another load may begin.
    fn wait_for_next(&self, now: SystemTime) -> Duration {
        let interval = if self.usable(now).is_some() { RELOAD_INTERVAL } else { RETRY_INTERVAL };
        let since = self.attempted.map_or(Duration::MAX, |attempted| age(attempted, now));
        interval.saturating_sub(since)
    }

    /// The document, unless it is too old.
    fn usable(&self, now: SystemTime) -> Option<&Arc<T>> {
        let document = self.document.as_ref()?;
        (age(document.fetched, now) < MAX_AGE).then_some(&document.value)
    }

    /// The best document without another load.
    fn best(&self, has_answer: impl Fn(&T) -> bool, now: SystemTime) -> Result<Arc<T>, Unavailable> {
        let is_certain = self.load.is_none() && !self.has_failed;
        match self.usable(now) {
            // The answer may be in a newer document.
            Some(value) if is_certain || has_answer(value) => Ok(Arc::clone(value)),
            Some(_) | None => Err(Unavailable(self.wait_for_next(now).max(Duration::from_secs(1)))),
        }
    }
}

impl<T> FetchedDocument<T> {
    fn is_fresh(&self, now: SystemTime) -> bool {
        age(self.fetched, now) < self.fresh
    }
}

/// How long ago something was. When the clock was set back, nobody knows, and it was too long ago.
fn age(then: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(then).unwrap_or_else(|error| match error.duration() {
        ahead if ahead <= CLOCK_JITTER => Duration::ZERO,
        _ => Duration::MAX,
    })
}

fn fresh(max_age: Option<Duration>) -> Duration {
    max_age.unwrap_or(DEFAULT_FRESH).clamp(MIN_FRESH, MAX_AGE)
}

#[cfg(test)]
mod tests;
