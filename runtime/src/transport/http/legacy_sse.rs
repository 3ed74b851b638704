//! HTTP+SSE, the transport of revision 2024-11-05: an event stream with all messages to the client, and a URL to which
//! the client posts its own. It is deprecated, but many clients still use it.
//!
//! The stream is the connection: when it ends, all running requests of the client are cancelled.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendTimeoutError;

use super::super::duplex::{Duplex, InputLine};
use super::super::framing::Line;
use super::content_types::PlainRejection;
use super::request_body::CountedBody;
use super::sse::LegacyStream;
use crate::mcp::{Caller, Channel, DuplexSession, Server, token};

/// The path of the event stream.
pub(super) const STREAM: &str = "/sse";

/// The path to which messages are posted.
pub(super) const MESSAGES: &str = "/messages";

/// The header with the prefix that a proxy has removed from the path.
const PREFIX: &str = "x-forwarded-prefix";

/// How long a posted message waits for room in its stream's queue.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Maximum number of messages in a stream's queue.
const MAX_WAITING: usize = 16;

/// The open streams by session id, which their clients use when they post.
type Streams = Arc<Mutex<HashMap<String, StreamInput>>>;

/// The queue for the messages that a client posts to its stream.
#[derive(Debug, Clone)]
struct StreamInput {
    owner: Caller,
    messages: mpsc::Sender<InputLine>,
}

/// The open streams.
#[derive(Debug)]
pub(super) struct LegacySseStreams {
    inputs: Streams,
    max_streams: usize,
}

/// Removes a stream from the map when it ends.
struct StreamGuard {
    inputs: Streams,
    id: String,
}

impl LegacySseStreams {
    pub(super) fn new(max_streams: usize) -> Self {
        Self { inputs: Arc::default(), max_streams }
    }

    /// Opens an event stream.
    ///
    /// # Errors
    /// When there are too many streams, or the prefix is not a path.
    pub(super) fn open(
        &self,
        server: &Arc<Server>,
        headers: &HeaderMap,
        Channel { caller, is_local, .. }: Channel,
    ) -> Result<LegacyStream, PlainRejection> {
        let prefix = prefix(headers)?;
        let full = (StatusCode::SERVICE_UNAVAILABLE, "all sessions are in use; try again later\n");
        let id = token().ok_or(full)?;
        let (input, messages) = mpsc::channel(MAX_WAITING);
        let mut inputs = self.inputs.lock();
        if inputs.len() >= self.max_streams {
            return Err(full);
        }
        inputs.insert(id.clone(), StreamInput { owner: caller.clone(), messages: input });
        drop(inputs);
        let settings = server.settings();
        let connection = DuplexSession::new(Arc::clone(server), settings.ping_interval, caller, is_local);
        let duplex = Duplex::new(connection, messages, settings.message_bytes);
        let endpoint = format!("{prefix}{MESSAGES}?sessionId={id}");
        let guard = StreamGuard { inputs: Arc::clone(&self.inputs), id };
        Ok(LegacyStream::new(endpoint, duplex, Box::new(guard)))
    }

    /// Adds a posted message to the queue of its stream, and waits if the queue is full.
    ///
    /// # Errors
    /// When the query names no open stream of this principal, or the queue stays full.
    pub(super) async fn post(
        &self,
        query: Option<&str>,
        caller: &Caller,
        CountedBody { bytes, reservation }: CountedBody,
    ) -> Result<(), PlainRejection> {
        let named = query.into_iter().flat_map(|query| query.split('&'));
        let id = named.filter_map(|part| part.strip_prefix("sessionId=")).next();
        let id =
            id.ok_or((StatusCode::BAD_REQUEST, "`sessionId` is missing; open a stream at /sse first\n"))?;
        let ended =
            (StatusCode::NOT_FOUND, "unknown session: its stream has ended; open a new one at /sse\n");
        let input = self.inputs.lock().get(id).cloned();
        let input = input.filter(|input| input.owner.principal_id() == caller.principal_id());
        let full = (StatusCode::SERVICE_UNAVAILABLE, "the stream is not being read; read it and try again\n");
        let input = input.ok_or(ended)?;
        // A principal may post with another token than the one with which it opened the stream.
        let line = InputLine { line: Line::Whole(bytes.into()), reservation, sender: Some(caller.clone()) };
        let sending = input.messages.send_timeout(line, MAX_WAIT);
        sending
            .await
            .map_err(|error| if matches!(error, SendTimeoutError::Timeout(_)) { full } else { ended })
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.inputs.lock().remove(&self.id);
    }
}

/// Returns the path prefix under which the client sees this server. The prefix is sent back to the client, so only a
/// plain path is accepted.
fn prefix(headers: &HeaderMap) -> Result<String, PlainRejection> {
    let Some(value) = headers.get(PREFIX) else { return Ok(String::new()) };
    let bad = (StatusCode::BAD_REQUEST, "`X-Forwarded-Prefix` must be a path such as /tools\n");
    let path = value.to_str().map_err(|_| bad)?.trim_end_matches('/');
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.' | '~' | '%');
    let is_path = path.is_empty() || (path.starts_with('/') && !path.contains("//"));
    if is_path && path.chars().all(plain) { Ok(path.to_owned()) } else { Err(bad) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_path_and_nothing_else() {
        let read = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(PREFIX, text.parse().unwrap());
            prefix(&headers).map_err(|(status, _)| status.as_u16())
        };
        assert_eq!(prefix(&HeaderMap::new()), Ok(String::new()));
        assert_eq!(read("/tools/"), Ok("/tools".into()));
        assert_eq!(read("/"), Ok(String::new()));
        for bad in ["tools", "//evil.example", "https://evil.example", "/a b", "/a\"b", "/a?b"] {
            assert_eq!(read(bad), Err(400), "{bad}");
        }
    }
}
