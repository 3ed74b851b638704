//! `initialize` and `ping`: the handshake of the revisions with sessions.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::client_requests::client_capabilities::ClientCapabilities;
use super::super::error::RpcError;
use super::super::extensions::Extensions;
use super::super::params::Params;
use super::super::request_context::RequestContext;
use super::super::request_meta::Implementation;
use super::super::result_writer::{EmptyResult, EncodedResult, ResultFields};
use super::super::revision::Revision;
use super::super::server::Server;
use super::read;
use crate::call_env::ClientInfo;

/// The capabilities of this server. All are always declared, because plugins can change at any time.
#[derive(Debug, Serialize)]
pub(super) struct ServerCapabilities {
    tools: ListCapability,
    resources: ListCapability,
    prompts: ListCapability,
    #[serde(skip_serializing_if = "Option::is_none")]
    completions: Option<NoOptions>,
    logging: NoOptions,
    /// The experimental tasks of 2025-11-25.
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<Extensions>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListCapability {
    #[serde(skip_serializing_if = "Option::is_none")]
    subscribe: Option<bool>,
    list_changed: bool,
}

#[derive(Debug, Serialize)]
struct NoOptions {}

impl ServerCapabilities {
    pub(super) fn for_client(revision: Revision, client: ClientCapabilities) -> Self {
        let listing = |subscribe| ListCapability { subscribe, list_changed: true };
        Self {
            tools: listing(None),
            resources: listing(Some(true)),
            prompts: listing(None),
            completions: revision.has_completions_capability().then_some(NoOptions {}),
            logging: NoOptions {},
            tasks: revision
                .has_core_tasks()
                .then(|| json!({ "cancel": {}, "requests": { "tools": { "call": {} } } })),
            extensions: Extensions::for_client(revision, client),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams<'a> {
    #[serde(borrow)]
    protocol_version: Cow<'a, str>,
    #[serde(borrow, default)]
    client_info: Implementation<'a>,
    #[serde(borrow, default)]
    capabilities: Option<&'a RawValue>,
}

struct InitializeResult<'a> {
    server: &'a RawValue,
    client: ClientCapabilities,
}

impl ResultFields for InitializeResult<'_> {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        map.serialize_entry("protocolVersion", revision.as_str())?;
        map.serialize_entry("capabilities", &ServerCapabilities::for_client(revision, self.client))?;
        map.serialize_entry("serverInfo", self.server)
    }
}

/// Reads what an `initialize` says about its client, and negotiates the revision.
pub(in super::super) fn read_initialize(
    params: &Params,
) -> Result<(Revision, ClientInfo, ClientCapabilities), RpcError> {
    let params: InitializeParams<'_> = read(params)?;
    let revision = Revision::negotiate(&params.protocol_version);
    if params.capabilities.is_some_and(|capabilities| !capabilities.get().starts_with('{')) {
        return Err(RpcError::invalid_params("`params.capabilities` must be an object, which may be empty"));
    }
    ClientCapabilities::check(params.capabilities)?;
    let (capabilities, extensions) = ClientCapabilities::read_with_extensions(params.capabilities, revision);
    let client = params.client_info.into_client(revision, capabilities, extensions);
    Ok((revision, client, capabilities))
}

/// The result of `initialize`.
pub(in super::super) fn initialized(
    server: &Server,
    revision: Revision,
    client: ClientCapabilities,
) -> Result<EncodedResult, RpcError> {
    EncodedResult::new(&InitializeResult { server: &server.info, client }, revision, &server.info)
}

pub(in super::super) fn ping(server: &Server, context: &RequestContext) -> Result<EncodedResult, RpcError> {
    EncodedResult::new(&EmptyResult, context.revision, &server.info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_announced_as_far_as_a_revision_knows_it() {
        let of = |revision| {
            let client = ClientCapabilities::default();
            serde_json::to_value(ServerCapabilities::for_client(revision, client)).unwrap()
        };
        let oldest = json!({
            "tools": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true },
            "prompts": { "listChanged": true },
            "logging": {},
        });
        assert_eq!(of(Revision::V2024_11_05), oldest);
        let mut newer = oldest;
        newer["completions"] = json!({});
        assert_eq!(of(Revision::V2025_03_26), newer);
        let mut with_tasks = newer.clone();
        with_tasks["tasks"] = json!({ "cancel": {}, "requests": { "tools": { "call": {} } } });
        with_tasks["extensions"] = serde_json::to_value(Extensions::of(Revision::V2025_11_25)).unwrap();
        assert_eq!(of(Revision::V2025_11_25), with_tasks);
        newer["extensions"] = serde_json::to_value(Extensions::of(Revision::V2026_07_28)).unwrap();
        assert_eq!(of(Revision::V2026_07_28), newer);
    }
}
