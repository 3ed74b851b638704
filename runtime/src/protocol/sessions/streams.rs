//! The event streams of one session: one for each request that needed a stream, and one for what comes unasked.
//!
//! What belongs to a request goes on the stream of that request and nowhere else. Streams that have ended are kept for a
//! while, for a client whose connection broke in the last moment.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::super::buffers::Share;
use super::super::exchange::{Exchange, Frame};
use super::super::message::is_request;
use super::event_log::{Event, EventLog, Reader, Weight, parse_id};
use super::presence::Presence;
use super::session::{Attached, Session};

/// Streams of requests that are kept at the same time, those under way aside.
const MOST: usize = 32;

/// Bytes that are kept of streams that have ended.
const KEPT_BYTES: usize = 4 << 20;

/// How long a stream is kept after its end.
const KEPT: Duration = Duration::from_secs(60);

/// When a client whose stream was closed on purpose should come back.
pub const RETRY: Duration = Duration::from_millis(250);

/// Number of the stream for what comes unasked.
const COMMON: u64 = 0;

/// The streams.
#[derive(Debug)]
pub(crate) struct Streams {
    common: Arc<EventLog>,
    of_requests: Mutex<OfRequests>,
    share: Share,
    presence: Arc<tokio::sync::Mutex<Option<Presence>>>,
}

#[derive(Debug, Default)]
struct OfRequests {
    last: u64,
    logs: VecDeque<Arc<EventLog>>,
}

impl OfRequests {
    /// Bytes of streams that have ended.
    fn kept(&self) -> usize {
        self.logs.iter().filter(|log| log.ended_for().is_some()).map(|log| log.bytes()).sum()
    }
}

/// What an event stream brings next.
#[derive(Debug)]
pub enum Next {
    /// An event.
    Event(Event),
    /// The stream is closed although more will come; the client should ask again after [`RETRY`].
    ComeBack,
    /// It is over.
    End,
}

/// An event stream on one connection.
#[derive(Debug)]
pub struct Events {
    session: Arc<Session>,
    reader: Reader,
    prime: bool,
    /// After how long without a message the connection is closed; zero: never.
    close: Duration,
    /// Since when there was no message.
    silent: Instant,
    common: Option<Attached>,
}

impl Streams {
    /// The streams of a session; what they keep is kept for its caller.
    pub(crate) fn new(share: Share) -> Self {
        let common = EventLog::new(COMMON, share.clone());
        Self { common, of_requests: Mutex::default(), share, presence: Arc::default() }
    }

    /// Makes way for old streams to be forgotten.
    pub(crate) fn sweep(&self) {
        self.lock().logs.retain(|log| log.ended_for().is_none_or(|ended| ended < KEPT));
    }

    fn begin(&self) -> Arc<EventLog> {
        let mut streams = self.lock();
        streams.last += 1;
        let log = EventLog::new(streams.last, self.share.clone());
        // Those under way are bounded by the requests under way; the others make room, oldest first.
        while streams.logs.len() >= MOST || streams.kept() > KEPT_BYTES {
            let Some(ended) = streams.logs.iter().position(|log| log.ended_for().is_some()) else { break };
            streams.logs.remove(ended);
        }
        streams.logs.push_back(Arc::clone(&log));
        log
    }

    fn find(&self, number: u64) -> Option<Arc<EventLog>> {
        if number == COMMON {
            return Some(Arc::clone(&self.common));
        }
        self.lock().logs.iter().find(|log| log.number == number).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, OfRequests> {
        self.of_requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Events {
    /// A stream for a request of `session`: what `exchange` brings, after `first`. It goes on without a reader.
    pub(crate) fn of_request(
        session: &Arc<Session>,
        exchange: Exchange,
        first: Option<Bytes>,
        close: Duration,
    ) -> Self {
        let log = session.streams.begin();
        let reader = log.read_on();
        session.tasks.spawn(pump(Arc::clone(session), log, exchange, first));
        let prime = session.revision.has_priming_events();
        Self { session: Arc::clone(session), reader, prime, close, silent: Instant::now(), common: None }
    }

    /// The stream for what comes unasked.
    pub(crate) fn common(session: &Arc<Session>, presence: impl FnOnce() -> Presence) -> Self {
        let reader = session.streams.common.read_on();
        Self::attached(session, reader, presence)
    }

    /// The stream that the event `id` belongs to, from the event after it on.
    pub(crate) fn resumed(
        session: &Arc<Session>,
        id: &str,
        close: Duration,
        presence: impl FnOnce() -> Presence,
    ) -> Option<Self> {
        let (stream, event) = parse_id(id)?;
        let reader = session.streams.find(stream)?.read(event).ok()?;
        if stream == COMMON {
            return Some(Self::attached(session, reader, presence));
        }
        Some(Self {
            session: Arc::clone(session),
            reader,
            prime: false,
            close,
            silent: Instant::now(),
            common: None,
        })
    }

    fn attached(session: &Arc<Session>, reader: Reader, presence: impl FnOnce() -> Presence) -> Self {
        // Where it is locked, the stream before this one still has it, and gives it up when it finds itself replaced.
        if let Ok(mut place) = session.streams.presence.try_lock() {
            place.get_or_insert_with(presence);
        }
        let prime = session.revision.has_priming_events();
        let common = Some(session.attach());
        Self {
            session: Arc::clone(session),
            reader,
            prime,
            close: Duration::ZERO,
            silent: Instant::now(),
            common,
        }
    }

    /// What comes next. Can be dropped and called again without losing anything.
    pub async fn next(&mut self) -> Next {
        if std::mem::take(&mut self.prime) {
            return Next::Event(Event { id: self.reader.id(), message: None });
        }
        let Self { session, reader, close, silent, common, .. } = self;
        let next = tokio::select! {
            biased;
            event = reader.next() => event.map_or(Next::End, Next::Event),
            () = session.ended.cancelled() => Next::End,
            () = session.stopping.cancelled(), if common.is_some() => Next::End,
            () = announce(session), if common.is_some() => Next::End,
            () = tokio::time::sleep_until(*silent + *close), if !close.is_zero() => Next::ComeBack,
        };
        *silent = Instant::now();
        next
    }
}

/// Moves what the session has to say to the stream for it, until the client is gone.
async fn announce(session: &Session) {
    let mut presence = session.streams.presence.lock().await;
    let Some(presence) = presence.as_mut() else { return std::future::pending().await };
    while let Ok(message) = presence.next().await {
        if !session.streams.common.push(message.clone(), Weight::Question) {
            // The reader was cut off, and the next one hears of it.
            presence.put_back(message);
            return std::future::pending().await;
        }
    }
    tracing::debug!("a session has ended: its client did not answer a ping");
    session.end();
}

async fn pump(session: Arc<Session>, log: Arc<EventLog>, mut exchange: Exchange, first: Option<Bytes>) {
    let id = exchange.id().cloned();
    if let Some(first) = first {
        log.push(first, Weight::Question);
    }
    loop {
        let frame = tokio::select! {
            biased;
            frame = exchange.next() => frame,
            () = session.ended.cancelled() => None,
        };
        match frame {
            Some(Frame::Message(message)) => {
                let weight = if is_request(&message) { Weight::Question } else { Weight::Notification };
                log.push(message, weight);
            }
            Some(Frame::Answer(answer, _)) => {
                if !log.push(answer, Weight::Answer) {
                    log.refuse(id.as_ref());
                }
            }
            None => break,
        }
    }
    log.end();
}
