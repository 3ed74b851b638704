//! The event streams of one session: one for each request that needed a stream, and the standalone stream that GET
//! opens.
//!
//! Messages for a request go only on the stream of that request. Ended streams are stored for a while, for clients
//! whose connection broke before they received the end. `resumable_stream` reads the streams for a connection, and
//! decides for which callers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::event_store::{EventGone, EventReader, EventStore};
use crate::mcp::{BufferShare, Caller, ListeningCaller, RequestSender, ServerNotifications, Session};

/// Maximum number of stored streams of requests; streams of running requests may exceed it.
const MAX_STREAMS: usize = 32;

/// Maximum number of stored bytes of ended streams.
const MAX_ENDED_BYTES: usize = 4 << 20;

/// How long a stream is stored after it has ended.
const RETENTION: Duration = Duration::from_secs(60);

/// The number of the standalone stream, which has the server notifications.
pub(super) const STANDALONE: u64 = 0;

/// A session with its event streams, which only HTTP has.
#[derive(Debug)]
pub(super) struct HttpSession {
    pub(super) session: Arc<Session>,
    /// Event streams that can be resumed.
    pub(super) streams: SessionStreams,
}

impl HttpSession {
    pub(super) fn new(session: Arc<Session>) -> Arc<Self> {
        let streams = SessionStreams::new(session.share.clone());
        Arc::new(Self { session, streams })
    }
}

/// The streams.
#[derive(Debug)]
pub(super) struct SessionStreams {
    pub(super) standalone: Arc<EventStore>,
    request_streams: Mutex<RequestStreams>,
    share: BufferShare,
    /// The source of the standalone stream, set when a client first opens that stream.
    pub(super) notifications: Arc<tokio::sync::Mutex<Option<ServerNotifications>>>,
    /// Who last opened or resumed the standalone stream. The server notifications follow what this caller sees.
    pub(super) listener: ListeningCaller,
    /// Held while another connection takes over the standalone stream, so that its reader and `listener` are of the
    /// same connection.
    taking_over: Mutex<()>,
}

/// The stream of one request, and who sent the request.
#[derive(Debug, Clone)]
pub(super) struct RequestStream {
    pub(super) store: Arc<EventStore>,
    pub(super) sender: RequestSender,
}

#[derive(Debug, Default)]
struct RequestStreams {
    last: u64,
    streams: VecDeque<RequestStream>,
}

impl RequestStreams {
    /// The stored bytes of ended streams.
    fn ended_bytes(&self) -> usize {
        let stores = self.streams.iter().map(|stream| &stream.store);
        stores.filter(|store| store.ended_for().is_some()).map(|store| store.bytes()).sum()
    }
}

impl SessionStreams {
    /// The streams of a session, whose events count against `share`.
    fn new(share: BufferShare) -> Self {
        let standalone = EventStore::new(STANDALONE, share.clone());
        let listener = Arc::new(ArcSwap::from_pointee(Caller::Unknown));
        Self {
            standalone,
            request_streams: Mutex::default(),
            share,
            notifications: Arc::default(),
            listener,
            taking_over: Mutex::default(),
        }
    }

    /// Reads the standalone stream for a caller from now on. Server notifications follow what this caller sees.
    pub(super) fn listen(&self, caller: &Caller) -> EventReader {
        let _taking_over = self.taking_over.lock();
        // The reader comes first: so it has the notifications that the listener's view makes from now on.
        let reader = self.standalone.read_new();
        self.listener.store(Arc::new(caller.clone()));
        reader
    }

    /// Like [`Self::listen`], from the event after `last`.
    ///
    /// # Errors
    /// If the events after `last` are gone.
    pub(super) fn listen_after(&self, last: u64, caller: &Caller) -> Result<EventReader, EventGone> {
        let _taking_over = self.taking_over.lock();
        let reader = self.standalone.read_after(last)?;
        self.listener.store(Arc::new(caller.clone()));
        Ok(reader)
    }

    /// Removes streams that ended long ago.
    pub(super) fn sweep(&self) {
        let is_kept = |stream: &RequestStream| stream.store.ended_for().is_none_or(|ended| ended < RETENTION);
        self.request_streams.lock().streams.retain(is_kept);
    }

    /// Makes the store for the stream of another request.
    pub(super) fn open_stream(&self, sender: RequestSender) -> Arc<EventStore> {
        let mut requests = self.request_streams.lock();
        requests.last += 1;
        let store = EventStore::new(requests.last, self.share.clone());
        // The limit on running requests bounds the streams of these. Ended streams are removed, oldest first.
        while requests.streams.len() >= MAX_STREAMS || requests.ended_bytes() > MAX_ENDED_BYTES {
            let has_ended = |stream: &RequestStream| stream.store.ended_for().is_some();
            let Some(ended) = requests.streams.iter().position(has_ended) else { break };
            requests.streams.remove(ended);
        }
        requests.streams.push_back(RequestStream { store: Arc::clone(&store), sender });
        store
    }

    /// The stream of a request by its number.
    pub(super) fn find(&self, number: u64) -> Option<RequestStream> {
        let requests = self.request_streams.lock();
        requests.streams.iter().find(|stream| stream.store.number == number).cloned()
    }
}
