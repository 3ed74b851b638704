//! Writes the JSON of a result in one pass, without an intermediate tree.
//!
//! Every result of the stateless revision has `resultType` and should name the server in `_meta`. The server's name is
//! merged with the `_meta` of the plugin while the result is written.

use bytes::{Buf as _, Bytes};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::error::RpcError;
use super::jsonrpc::{RESPONSE_HEAD, response, response_end, response_with_shared_end};
use super::request_id::RequestId;
use super::response_line::ResponseLine;
use super::revision::Revision;
use crate::json::RawObject;

/// The key in `_meta` for the name of the server.
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The size of most results besides what [`ResultFields::size_hint`] counts, in bytes.
const USUAL_BYTES: usize = 416;

/// A result as JSON.
#[derive(Debug)]
pub(crate) struct EncodedResult {
    bytes: ResultBytes,
    is_tool_error: bool,
}

#[derive(Debug)]
enum ResultBytes {
    /// The JSON, after [`RESPONSE_HEAD`] reserved bytes for the beginning of the response.
    Owned(Vec<u8>),
    /// A [`response_end`] that other responses share.
    Shared(Bytes),
}

/// The fields of one kind of result.
pub(crate) trait ResultFields {
    /// Writes the fields that this revision has.
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error>;

    /// The plugin's additional fields, including `_meta`.
    fn extra(&self) -> Option<&RawObject> {
        None
    }

    /// Whether a tool reports in this result that it failed.
    fn is_tool_error(&self) -> bool {
        false
    }

    /// The approximate number of bytes of the texts in the result.
    fn size_hint(&self) -> usize {
        0
    }
}

/// A result without fields.
pub(crate) struct EmptyResult;

impl ResultFields for EmptyResult {
    fn write<M: SerializeMap>(&self, _: &mut M, _: Revision) -> Result<(), M::Error> {
        Ok(())
    }
}

struct ResultObject<'a, F> {
    fields: &'a F,
    revision: Revision,
    server: &'a RawValue,
}

impl EncodedResult {
    /// Writes a result for `revision`.
    ///
    /// # Errors
    /// When a part cannot be written as JSON, which cannot happen with the types of this program.
    pub(crate) fn new(
        fields: &impl ResultFields,
        revision: Revision,
        server: &RawValue,
    ) -> Result<Self, RpcError> {
        let json = encode(&ResultObject { fields, revision, server }, fields.size_hint())?;
        Ok(Self { bytes: ResultBytes::Owned(json), is_tool_error: fields.is_tool_error() })
    }

    /// Writes a result without [`ResultFields`], such as that of a suspended call.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(super) fn of(result: &impl Serialize) -> Result<Self, RpcError> {
        Ok(Self { bytes: ResultBytes::Owned(encode(result, 0)?), is_tool_error: false })
    }

    /// Makes a result from bytes that other responses share, which [`Self::into_response_end`] returned.
    pub(super) fn from_response_end(end: Bytes) -> Self {
        Self { bytes: ResultBytes::Shared(end), is_tool_error: false }
    }

    /// The bytes that responses with this result can share.
    pub(super) fn into_response_end(self) -> Bytes {
        match self.bytes {
            ResultBytes::Owned(json) => response_end(json),
            ResultBytes::Shared(end) => end,
        }
    }

    /// Writes the response to the request with this id.
    pub(super) fn into_response(self, id: &RequestId) -> ResponseLine {
        match self.bytes {
            ResultBytes::Owned(json) => response(id, json).into(),
            ResultBytes::Shared(end) => response_with_shared_end(id, &end),
        }
    }

    pub(super) fn is_tool_error(&self) -> bool {
        self.is_tool_error
    }

    /// The JSON alone, without a copy.
    pub(super) fn into_json(self) -> Bytes {
        match self.bytes {
            ResultBytes::Owned(json) => {
                let mut json = Bytes::from(json);
                json.advance(RESPONSE_HEAD.min(json.len()));
                json
            }
            ResultBytes::Shared(end) => end.slice(..end.strip_suffix(b"}").unwrap_or(&end).len()),
        }
    }

    pub(crate) fn as_json(&self) -> &[u8] {
        match &self.bytes {
            ResultBytes::Owned(json) => json.get(RESPONSE_HEAD..).unwrap_or_default(),
            ResultBytes::Shared(end) => end.strip_suffix(b"}").unwrap_or(end),
        }
    }
}

/// Writes a result after the space for the beginning of its response. `bytes` is the approximate length of its texts.
fn encode(result: &impl Serialize, bytes: usize) -> Result<Vec<u8>, RpcError> {
    let mut json = Vec::with_capacity(RESPONSE_HEAD + USUAL_BYTES + bytes);
    json.resize(RESPONSE_HEAD, b' ');
    serde_json::to_writer(&mut json, result).map_err(|error| RpcError::internal(&error.to_string()))?;
    Ok(json)
}

impl<F: ResultFields> Serialize for ResultObject<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.revision.is_stateless() {
            map.serialize_entry("resultType", "complete")?;
        }
        self.fields.write(&mut map, self.revision)?;
        let meta = self.fields.extra().and_then(|extra| extra.get("_meta"));
        if self.revision.is_stateless() {
            map.serialize_entry("_meta", &ResultMeta { own: meta, server: self.server })?;
        } else if let Some(meta) = meta {
            map.serialize_entry("_meta", meta)?;
        }
        map.end()
    }
}

/// The plugin's `_meta` and the server's name in one object. A plugin cannot override the server's name.
struct ResultMeta<'a> {
    own: Option<&'a RawValue>,
    server: &'a RawValue,
}

impl Serialize for ResultMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let own = self.own.and_then(|own| RawObject::parse(own.get()).ok()).unwrap_or_default();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(SERVER_INFO, self.server)?;
        for (name, value) in own.iter().filter(|(name, _)| *name != SERVER_INFO) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Writes the fields of `extra` that are neither `_meta` nor among `own`.
pub(crate) fn write_extra<M: SerializeMap>(
    map: &mut M,
    extra: &RawObject,
    own: &[&str],
) -> Result<(), M::Error> {
    for (name, value) in extra.iter().filter(|(name, _)| *name != "_meta" && !own.contains(name)) {
        map.serialize_entry(name, value)?;
    }
    Ok(())
}
