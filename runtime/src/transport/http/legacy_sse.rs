//! HTTP+SSE, the transport of 2024-11-05: an event stream that carries everything to the client, and an address to
//! which it posts. Deprecated and still spoken by many clients.
//!
//! The stream is the connection: when it breaks, all that the client has under way ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendTimeoutError;

use super::super::duplex::{CountedLine, Duplex};
use super::super::framing::Line;
use super::content_types::PlainRejection;
use super::request_body::CountedBody;
use super::sse::LegacyStream;
use crate::mcp::{Channel, DuplexSession, Server, token};

/// Where the stream is opened.
pub(super) const STREAM: &str = "/sse";

/// Where messages are posted.
pub(super) const MESSAGES: &str = "/messages";

/// Header with which a proxy says what it has cut off the front of the path.
const PREFIX: &str = "x-forwarded-prefix";

/// How long a message waits for its stream to be read.
const PATIENCE: Duration = Duration::from_secs(5);

/// Messages that may wait to be taken.
const WAITING: usize = 16;

/// The open streams.
#[derive(Debug)]
pub(super) struct LegacySseStreams {
    inputs: Arc<Mutex<HashMap<String, mpsc::Sender<CountedLine>>>>,
    most: usize,
}

/// Forgets a stream when it ends.
struct StreamGuard {
    inputs: Arc<Mutex<HashMap<String, mpsc::Sender<CountedLine>>>>,
    id: String,
}

impl LegacySseStreams {
    pub(super) fn new(most: usize) -> Self {
        Self { inputs: Arc::default(), most }
    }

    /// Opens a stream.
    ///
    /// # Errors
    /// When there are too many, or the prefix is not a path.
    pub(super) fn open(
        &self,
        server: &Arc<Server>,
        headers: &HeaderMap,
        Channel { caller, is_local, .. }: Channel,
    ) -> Result<LegacyStream, PlainRejection> {
        let prefix = prefix(headers)?;
        let full = (StatusCode::SERVICE_UNAVAILABLE, "all sessions are in use; try again later\n");
        let id = token().ok_or(full)?;
        let (input, messages) = mpsc::channel(WAITING);
        let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        if inputs.len() >= self.most {
            return Err(full);
        }
        inputs.insert(id.clone(), input);
        drop(inputs);
        let settings = server.settings();
        let connection = DuplexSession::new(Arc::clone(server), settings.ping_interval, caller, is_local);
        let duplex = Duplex::new(connection, messages, settings.message_bytes);
        let endpoint = format!("{prefix}{MESSAGES}?sessionId={id}");
        let guard = StreamGuard { inputs: Arc::clone(&self.inputs), id };
        Ok(LegacyStream::new(endpoint, duplex, Box::new(guard)))
    }

    /// Hands a posted message to its stream, when that has room for it.
    ///
    /// # Errors
    /// When the query names no open stream.
    pub(super) async fn post(
        &self,
        query: Option<&str>,
        CountedBody { bytes, held }: CountedBody,
    ) -> Result<(), PlainRejection> {
        let named = query.into_iter().flat_map(|query| query.split('&'));
        let id = named.filter_map(|part| part.strip_prefix("sessionId=")).next();
        let id =
            id.ok_or((StatusCode::BAD_REQUEST, "`sessionId` is missing; open a stream at /sse first\n"))?;
        let gone = (StatusCode::NOT_FOUND, "unknown session: its stream has ended; open a new one at /sse\n");
        let input = self.inputs.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
        let full = (StatusCode::SERVICE_UNAVAILABLE, "the stream is not being read; read it and try again\n");
        let sending = input.ok_or(gone)?;
        let sending = sending.send_timeout((Line::Whole(bytes.into()), held), PATIENCE);
        sending.await.map_err(|error| if matches!(error, SendTimeoutError::Timeout(_)) { full } else { gone })
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// The path in front of ours, as the client sees it. Only what is plainly a path is taken: it is sent back.
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
