//! Parses JSON-RPC messages and writes them.
//!
//! Only the envelope of a message and the positions of the common fields of `params` are parsed here. Any input gives
//! either a message or an error response, which has the id if it could be parsed.

use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::buffer_budget::{BufferReservation, UNCOUNTED_BYTES};
use super::error::RpcError;
use super::method::Method;
use super::oversized_message::IdScanner;
use super::params::Params;
use super::request_id::RequestId;
use super::response_line::ResponseLine;
use crate::json::CowStr;

/// A message from the client.
#[derive(Debug)]
pub(crate) enum Message {
    Request(Request),
    Notification(Notification),
    /// A response to a request of the server. A response without an id belongs to no request and is ignored.
    Response(Option<RequestId>, ClientResult),
}

/// The outcome in a client's response.
pub(crate) type ClientResult = Result<Box<RawValue>, ClientError>;

/// An error response of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientError {
    pub(crate) code: i64,
    pub(crate) message: String,
}

/// A request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: RequestId,
    pub(crate) method: Method,
    pub(crate) params: Params,
    /// The buffer space of a large request. The messages of a batch share one reservation.
    pub(crate) reservation: Option<Arc<BufferReservation>>,
}

impl AsRef<Self> for Request {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// A notification.
#[derive(Debug)]
pub(crate) struct Notification {
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
}

/// Why input is not a message, and the id for the error response.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) id: Option<RequestId>,
    pub(crate) error: RpcError,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<CowStr<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<CowStr<'a>>,
    #[serde(default)]
    params: Option<Box<RawValue>>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Distinguishes null from an absent field.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl Message {
    /// Splits a batch into its messages. Returns `None` if the input is not a batch; an empty array is not a batch.
    pub(crate) fn split(bytes: &[u8]) -> Option<Vec<&RawValue>> {
        if bytes.trim_ascii_start().first() != Some(&b'[') {
            return None;
        }
        serde_json::from_slice(bytes).ok().filter(|batch: &Vec<_>| !batch.is_empty())
    }

    /// Reads one message.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        // JSON must be UTF-8, and the parser does not check strings that it skips.
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => return Err(Malformed { id: None, error: RpcError::parse(&error.to_string()) }),
        };
        let first = bytes.trim_ascii_start().first();
        // Derived structs accept arrays too, so everything but an object is rejected here. The error says whether the
        // input is JSON.
        if first != Some(&b'{') {
            let error = serde_json::from_slice::<IgnoredAny>(bytes).err();
            return Err(not_an_object(first == Some(&b'['), error));
        }
        let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| unreadable(bytes, &error))?;
        let id = envelope.id.map(RequestId::read).transpose();
        let invalid = |id, why: &str| Err(Malformed { id, error: RpcError::invalid_request(why) });
        let id = match id {
            Ok(id) => id,
            // A client that could not parse the id of a server's request responds with a null id.
            Err(_) if envelope.method.is_none() && envelope.error.is_some() => None,
            Err(_) => return invalid(None, &format!("`id` {}", RequestId::FORM)),
        };
        if envelope.jsonrpc.is_none_or(|CowStr(version)| version != "2.0") {
            return invalid(id, "`jsonrpc` must be \"2.0\"");
        }
        let params = envelope.params;
        if params.as_ref().is_some_and(|params| !params.get().starts_with('{')) {
            return invalid(id, "`params` must be an object");
        }
        match (envelope.method, id) {
            (Some(CowStr(method)), Some(id)) => match Params::parse(params) {
                Ok(params) => {
                    let method = Method::parse(&method);
                    Ok(Self::Request(Request { id, method, params, reservation: None }))
                }
                Err(error) => Err(Malformed { id: Some(id), error }),
            },
            (Some(CowStr(method)), None) => {
                Ok(Self::Notification(Notification { method: method.into_owned(), params }))
            }
            (None, id) => match (envelope.result, envelope.error) {
                (Some(result), None) if id.is_some() => Ok(Self::Response(id, Ok(result.to_owned()))),
                (None, Some(error)) => Ok(Self::Response(id, Err(read_error(error)))),
                _ => invalid(id, "`method` is missing"),
            },
        }
    }
}

fn not_an_object(is_array: bool, error: Option<serde_json::Error>) -> Malformed {
    let error = match error {
        Some(error) => RpcError::parse(&error.to_string()),
        None if is_array => RpcError::invalid_request("an empty batch is no message"),
        None => RpcError::invalid_request("a message is an object"),
    };
    Malformed { id: None, error }
}

/// Returns the error for an object that is not a message. Parsing stops at a field of the wrong type, so this function
/// checks whether the whole input is JSON.
fn unreadable(bytes: &[u8], error: &serde_json::Error) -> Malformed {
    match serde_json::from_slice::<IgnoredAny>(bytes) {
        Ok(_) if error.is_data() => {
            let error = RpcError::invalid_request(&error.to_string());
            Malformed { id: IdScanner::id_of(bytes), error }
        }
        Ok(_) => Malformed { id: None, error: RpcError::parse(&error.to_string()) },
        Err(error) => Malformed { id: None, error: RpcError::parse(&error.to_string()) },
    }
}

/// Removes a byte order mark, which RFC 8259 permits a parser to ignore.
pub(crate) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Parses the code and the message of a client's error. An error in another form gets defaults.
fn read_error(raw: &RawValue) -> ClientError {
    #[derive(Deserialize, Default)]
    struct Error {
        #[serde(default)]
        code: i64,
        #[serde(default)]
        message: String,
    }
    let Error { code, message } = serde_json::from_str(raw.get()).unwrap_or_default();
    ClientError { code, message }
}

/// Bytes that are reserved before a result for the beginning of its response, so that the result need not be copied.
pub(crate) const RESPONSE_HEAD: usize = 96;

/// Writes a response on one line. `result` has [`RESPONSE_HEAD`] reserved bytes, then the JSON of the result.
pub(crate) fn response(id: &RequestId, mut result: Vec<u8>) -> Bytes {
    // The head is appended to the result first, because its length is not known before.
    let end = result.len();
    append_response_head(&mut result, id);
    let start = (RESPONSE_HEAD + end).saturating_sub(result.len());
    if start > 0 {
        result.copy_within(end.., start);
        result.truncate(end);
    } else {
        // A long id needs more space than is reserved.
        let head = result.split_off(end);
        drop(result.splice(..RESPONSE_HEAD, head));
    }
    let mut line = finish(result);
    line.advance(start);
    line
}

/// Writes a response whose result other responses share. `end` comes from [`response_end`].
pub(crate) fn response_with_shared_end(id: &RequestId, end: &Bytes) -> ResponseLine {
    if end.len() > UNCOUNTED_BYTES {
        return ResponseLine::with_shared_end(response_head(id, RESPONSE_HEAD).into(), end.clone());
    }
    let mut line = response_head(id, RESPONSE_HEAD + end.len());
    line.extend_from_slice(end);
    Bytes::from(line).into()
}

/// Returns the part of a response from its result on, which does not depend on the request's id. `result` is as for
/// [`response`].
pub(crate) fn response_end(result: Vec<u8>) -> Bytes {
    // Copied, because a vector that has grown has unused capacity, and many of these ends are stored.
    Bytes::copy_from_slice(finish(result).get(RESPONSE_HEAD..).unwrap_or_default())
}

/// Writes the part of a response before its result.
fn response_head(id: &RequestId, capacity: usize) -> Vec<u8> {
    let mut head = Vec::with_capacity(capacity);
    append_response_head(&mut head, id);
    head
}

fn append_response_head(line: &mut Vec<u8>, id: &RequestId) {
    line.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    append(line, id);
    line.extend_from_slice(br#","result":"#);
}

/// Completes a message and puts it on one line. JSON from a plugin or a client may have line breaks; they can only be
/// between tokens, where a space means the same.
fn finish(mut line: Vec<u8>) -> Bytes {
    line.push(b'}');
    replace_line_breaks(&mut line);
    // A vector that has grown may have twice the capacity it needs, but only its length counts against the budget.
    if line.capacity() - line.len() > UNCOUNTED_BYTES {
        line.shrink_to_fit();
    }
    line.into()
}

/// Works in place, because the message may be large, and without branches, so that the compiler vectorizes the loop.
fn replace_line_breaks(message: &mut [u8]) {
    for byte in message {
        *byte = if (*byte == b'\n') | (*byte == b'\r') { b' ' } else { *byte };
    }
}

/// An error response on one line. If the request's id could not be read, the response has no `id`: JSON-RPC requires
/// null, but the schemas of MCP do not allow null, and official clients do not read it.
pub(crate) fn error_response(id: Option<&RequestId>, error: &RpcError) -> Bytes {
    let mut line = br#"{"jsonrpc":"2.0","#.to_vec();
    if let Some(id) = id {
        line.extend_from_slice(br#""id":"#);
        append(&mut line, id);
        line.push(b',');
    }
    line.extend_from_slice(br#""error":"#);
    append(&mut line, error);
    finish(line)
}

/// A request of the server on one line.
pub(crate) fn request(id: i64, method: &str, params: &impl Serialize) -> Bytes {
    let mut line = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    append(&mut line, &id);
    line.extend_from_slice(br#","method":"#);
    append(&mut line, &method);
    line.extend_from_slice(br#","params":"#);
    append(&mut line, params);
    finish(line)
}

/// Whether a message of the server is a request and not a notification.
pub(crate) fn is_request(message: &Bytes) -> bool {
    message.starts_with(br#"{"jsonrpc":"2.0","id":"#)
}

/// A notification on one line.
pub(crate) fn notification(method: &str, params: &impl Serialize) -> Bytes {
    let mut line = br#"{"jsonrpc":"2.0","method":"#.to_vec();
    append(&mut line, &method);
    line.extend_from_slice(br#","params":"#);
    append(&mut line, params);
    finish(line)
}

/// Appends JSON. Writing plain values to memory cannot fail; if it did, null would keep the line well-formed.
fn append(line: &mut Vec<u8>, value: &impl Serialize) {
    let start = line.len();
    if serde_json::to_writer(&mut *line, value).is_err() {
        line.truncate(start);
        line.extend_from_slice(b"null");
    }
}

#[cfg(test)]
mod tests;
