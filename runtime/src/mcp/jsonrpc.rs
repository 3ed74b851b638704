//! From bytes to a JSON-RPC message and back.
//!
//! Only the envelope is read here, and where the common fields of `params` are. Whatever the
//! bytes are, the outcome is a message or an error that can be sent, with the id when there was one to be read.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::buffer_budget::BufferReservation;
use super::error::RpcError;
use super::method::Method;
use super::oversized_message::IdScanner;
use super::params::Params;
use super::request_id::RequestId;

/// A message from the client.
#[derive(Debug)]
pub(crate) enum Message {
    Request(Request),
    Notification(Notification),
    /// An answer to a request of ours. Without an id it answers nothing.
    Response(Option<RequestId>, ClientResult),
}

/// What a client answered: a result, or its code and words.
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
    /// What is held for it, if it is large; the messages of a batch share it.
    pub(crate) reservation: Option<Arc<BufferReservation>>,
}

/// A notification.
#[derive(Debug)]
pub(crate) struct Notification {
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
}

/// Bytes that are no message, and what to answer.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) id: Option<RequestId>,
    pub(crate) error: RpcError,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(default)]
    params: Option<Box<RawValue>>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Tells a null from an absent field.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl Message {
    /// Splits a batch into its messages. `None` when the bytes are something else; an empty batch is no message.
    pub(crate) fn split(bytes: &[u8]) -> Option<Vec<&RawValue>> {
        if bytes.trim_ascii_start().first() != Some(&b'[') {
            return None;
        }
        serde_json::from_slice(bytes).ok().filter(|batch: &Vec<_>| !batch.is_empty())
    }

    /// Reads one message.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        // Strings that nobody reads are not looked at below, and JSON that is not UTF-8 is no JSON.
        if let Err(error) = std::str::from_utf8(bytes) {
            return Err(Malformed { id: None, error: RpcError::parse(&error.to_string()) });
        }
        let opening = bytes.trim_ascii_start().first();
        // Derived structures read arrays too, so whatever is not an object is only asked whether it is JSON.
        if opening != Some(&b'{') {
            let error = serde_json::from_slice::<IgnoredAny>(bytes).err();
            return Err(not_an_object(opening == Some(&b'['), error));
        }
        let envelope: Envelope<'_> =
            serde_json::from_slice(bytes).map_err(|error| unreadable(bytes, &error))?;
        let id = envelope.id.map(RequestId::read).transpose();
        let refuse = |id, why: &str| Err(Malformed { id, error: RpcError::invalid_request(why) });
        let id = match id {
            Ok(id) => id,
            // A client that could not read an id of ours says null.
            Err(_) if envelope.method.is_none() && envelope.error.is_some() => None,
            Err(_) => return refuse(None, &format!("`id` {}", RequestId::FORM)),
        };
        if envelope.jsonrpc.as_deref() != Some("2.0") {
            return refuse(id, "`jsonrpc` must be \"2.0\"");
        }
        let params = envelope.params;
        if params.as_ref().is_some_and(|params| !params.get().starts_with('{')) {
            return refuse(id, "`params` must be an object");
        }
        match (envelope.method, id) {
            (Some(method), Some(id)) => match Params::parse(params) {
                Ok(params) => {
                    let method = Method::parse(&method);
                    Ok(Self::Request(Request { id, method, params, reservation: None }))
                }
                Err(error) => Err(Malformed { id: Some(id), error }),
            },
            (Some(method), None) => {
                Ok(Self::Notification(Notification { method: method.into_owned(), params }))
            }
            (None, id) => match (envelope.result, envelope.error) {
                (Some(result), None) if id.is_some() => Ok(Self::Response(id, Ok(result.to_owned()))),
                (None, Some(error)) => Ok(Self::Response(id, Err(read_error(error)))),
                _ => refuse(id, "`method` is missing"),
            },
        }
    }
}

fn not_an_object(array: bool, error: Option<serde_json::Error>) -> Malformed {
    let error = match error {
        Some(error) => RpcError::parse(&error.to_string()),
        None if array => RpcError::invalid_request("an empty batch is no message"),
        None => RpcError::invalid_request("a message is an object"),
    };
    Malformed { id: None, error }
}

/// A field of another type ends the reading, and what comes after it need not be JSON.
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

/// The message without the mark that some programs put before every text (RFC 8259 lets a reader skip it).
pub(crate) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// An error as far as it can be read; a client may have put anything there.
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

/// A response on one line. `result` is the JSON text of the result.
pub(crate) fn response(id: &RequestId, result: &[u8]) -> Bytes {
    let mut line = Vec::with_capacity(result.len() + 64);
    line.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    append(&mut line, id);
    line.extend_from_slice(br#","result":"#);
    line.extend_from_slice(result);
    finish(line)
}

/// Ends a message, which is on one line: in JSON a line break can only stand between tokens, where a space means the
/// same, and what a plugin or a client wrote may have some.
fn finish(mut line: Vec<u8>) -> Bytes {
    line.push(b'}');
    unbroken(&mut line);
    line.into()
}

/// In place, since a copy would be one more of what may be the largest thing here.
pub(crate) fn unbroken(message: &mut [u8]) {
    for byte in message {
        if matches!(*byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// An error response on one line. When the request's id could not be read there is none: JSON-RPC wants null then, but
/// the schemas of MCP have no null, and official clients do not read it.
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

/// A request of ours on one line.
pub(crate) fn request(id: i64, method: &str, params: &impl Serialize) -> Bytes {
    let mut line = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    append(&mut line, &id);
    line.extend_from_slice(br#","method":"#);
    append(&mut line, &method);
    line.extend_from_slice(br#","params":"#);
    append(&mut line, params);
    finish(line)
}

/// Whether a message of ours is a request.
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

/// Writing plain values into memory cannot fail; should it ever, null keeps the line well-formed.
fn append(line: &mut Vec<u8>, value: &impl Serialize) {
    let start = line.len();
    if serde_json::to_writer(&mut *line, value).is_err() {
        line.truncate(start);
        line.extend_from_slice(b"null");
    }
}

#[cfg(test)]
mod tests;
