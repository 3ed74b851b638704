//! A document of an issuer, such as its keys or its metadata: when it is fetched, and how long it is used.
//!
//! Clients decide how often a token needs the document, so this type limits how often it is fetched. One load runs at a
//! time, and every request that needs the document waits for that load. A load is a task of its own, which continues
//! when the waiting requests are dropped. Otherwise a client could send a token with an unknown key and disconnect, and
//! so cancel every load and keep this server from learning a new key. Dropping the [`RemoteDocument`] aborts the task.
//!
//! | The document | What happens |
//! |---|---|
//! | is fresh and has what is looked for | it is used |
//! | is fresh and lacks that | it is fetched again, at most twice in [`RELOAD_INTERVAL`] |
//! | lacks that, may be older than the token, may not be fetched yet | it is unavailable: the next may have that |
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

/// In this time a document is fetched twice at most, and once if its issuer fails. The second fetch is for a document
/// that changes just after somebody has sent a token with an unknown key: its new tokens must not be refused.
pub(super) const RELOAD_INTERVAL: Duration = Duration::from_secs(30);

/// Minimum time between two fetches while there is no document. It is shorter, so that a server that started before its
/// issuer accepts tokens soon.
pub(super) const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// How long a document is used when the issuer cannot be reached.
pub(super) const MAX_AGE: Duration = Duration::from_secs(24 * 3600);

/// The minimum time for which a document is fresh, whatever its issuer says; [`MAX_AGE`] is the maximum.
const MIN_FRESH: Duration = Duration::from_secs(5 * 60);

/// How long a document is fresh if its issuer says nothing about that.
const DEFAULT_FRESH: Duration = Duration::from_secs(10 * 60);

/// How long a request waits for a load.
const MAX_WAIT: Duration = Duration::from_secs(8);

/// How long a request waits for a load if the old document has the answer.
const MAX_WAIT_WITH_OLD: Duration = Duration::from_secs(2);

/// Two readings of the clock may be out of order by this much; beyond it, the clock was set back.
const CLOCK_JITTER: Duration = Duration::from_secs(60);

/// A fetched document, and how long it may be cached.
pub(super) struct Loaded<T> {
    pub(super) value: T,
    pub(super) max_age: Option<Duration>,
}

/// The document is not available. The field says how long to wait before another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unavailable {
    /// After how long the client should try again.
    pub(super) retry_after: Duration,
    /// Whether the document cannot be fetched, or is being fetched; otherwise it may not be fetched again yet.
    pub(super) is_away: bool,
}

/// Fetches and parses the document.
type Loader<T> = Box<dyn Fn(SystemTime) -> BoxFuture<'static, Result<Loaded<T>, FetchError>> + Send + Sync>;

type LoadResult<T> = Result<(Arc<T>, Duration), Arc<FetchError>>;

/// A document, its age, and the running load.
pub(super) struct RemoteDocument<T> {
    /// The document's name for the log.
    name: String,
    loader: Loader<T>,
    state: Mutex<DocumentState<T>>,
}

struct DocumentState<T> {
    document: Option<FetchedDocument<T>>,
    /// When the last two loads began, the earlier one first. The load of the first document does not count: the issuer
    /// may have changed it since, and only another load can find that out.
    attempted: [Option<SystemTime>; 2],
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
        let state = DocumentState { document: None, attempted: [None, None], has_failed: false, load: None };
        Self { name, loader: Box::new(loader), state: Mutex::new(state) }
    }

    /// Returns the document, which is fetched again if it is not fresh or if `has_answer` is false for it. If the
    /// returned document has no answer either, there is none. `issued` is when the token was issued that needs the
    /// answer, if it says so: a document from before that time may lack the answer and yet be right.
    pub(super) async fn get(
        &self,
        has_answer: impl Fn(&T) -> bool,
        issued: Option<SystemTime>,
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
            let Some(load) = &state.load else { return state.best(has_answer, issued, now) };
            let old_has_answer = state.usable(now).is_some_and(|value| has_answer(value));
            (load.result.clone(), if old_has_answer { MAX_WAIT_WITH_OLD } else { MAX_WAIT })
        };
        // The result is read from the state below, which tells whether the load has ended.
        let _ = timeout(max_wait, result).await;
        let mut state = self.state.lock();
        state.finish_load(&self.name);
        state.best(has_answer, issued, now)
    }

    /// Starts a load.
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

impl<T> DocumentState<T> {
    /// If the load has ended, moves its result to the state.
    fn finish_load(&mut self, name: &str) {
        let Some(load) = &self.load else { return };
        let Some(result) = load.result.clone().now_or_never() else { return };
        let fetched = load.began;
        self.load = None;
        let is_first = self.document.is_none() && result.is_ok();
        let [_, last] = self.attempted;
        self.attempted = if is_first { [None, None] } else { [last, Some(fetched)] };
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
                // Logged once, and not for each attempt while the issuer is down.
                if !self.has_failed {
                    tracing::warn!(
                        error,
                        "{name} could not be fetched; the last fetched version is used for up to a day"
                    );
                }
                self.has_failed = true;
            }
        }
    }

    /// How long to wait until another load may start.
    fn wait_for_next(&self, now: SystemTime) -> Duration {
        let [earlier, last] = self.attempted;
        let (interval, attempted) = match self.usable(now) {
            None => (RETRY_INTERVAL, last),
            Some(_) if self.has_failed => (RELOAD_INTERVAL, last),
            Some(_) => (RELOAD_INTERVAL, earlier),
        };
        let since = attempted.map_or(Duration::MAX, |attempted| age(attempted, now));
        interval.saturating_sub(since)
    }

    /// Returns the document, unless it is older than [`MAX_AGE`].
    fn usable(&self, now: SystemTime) -> Option<&Arc<T>> {
        let document = self.document.as_ref()?;
        (age(document.fetched, now) < MAX_AGE).then_some(&document.value)
    }

    /// Whether the document may be older than a token. Tokens tell their time in whole seconds, so a token of the second
    /// of the fetch may be newer. A fetch that began for this token or after it came is not older, whatever the token
    /// says.
    fn may_be_older_than(&self, issued: Option<SystemTime>, now: SystemTime) -> bool {
        let document = self.document.as_ref();
        document.zip(issued).is_some_and(|(FetchedDocument { fetched, .. }, issued)| {
            *fetched < now && whole_seconds(*fetched) <= whole_seconds(issued)
        })
    }

    /// Returns the document without starting a load, or an error if a newer document may have the answer.
    fn best(
        &self,
        has_answer: impl Fn(&T) -> bool,
        issued: Option<SystemTime>,
        now: SystemTime,
    ) -> Result<Arc<T>, Unavailable> {
        let usable = self.usable(now);
        let is_away = usable.is_none() || self.load.is_some() || self.has_failed;
        let is_certain = !is_away && !self.may_be_older_than(issued, now);
        match usable {
            // A document without the answer is returned only if no load could bring a newer one.
            Some(value) if is_certain || has_answer(value) => Ok(Arc::clone(value)),
            Some(_) | None => {
                let retry_after = self.wait_for_next(now).max(Duration::from_secs(1));
                Err(Unavailable { retry_after, is_away })
            }
        }
    }
}

impl<T> FetchedDocument<T> {
    fn is_fresh(&self, now: SystemTime) -> bool {
        age(self.fetched, now) < self.fresh
    }
}

/// Returns how long ago `then` was. If the clock was set back, that is unknown, and the result is the maximum.
fn age(then: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(then).unwrap_or_else(|error| match error.duration() {
        ahead if ahead <= CLOCK_JITTER => Duration::ZERO,
        _ => Duration::MAX,
    })
}

fn whole_seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn fresh(max_age: Option<Duration>) -> Duration {
    max_age.unwrap_or(DEFAULT_FRESH).clamp(MIN_FRESH, MAX_AGE)
}

#[cfg(test)]
mod tests;
