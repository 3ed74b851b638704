//! `server/discover` (2026-07-28): revisions and capabilities of the server, without a handshake.

use serde::ser::SerializeMap;

use super::super::client_requests::client_capabilities::ClientCapabilities;
use super::super::error::RpcError;
use super::super::request_context::RequestContext;
use super::super::result_writer::{EncodedResult, ResultFields};
use super::super::revision::Revision;
use super::super::server::Server;
use super::super::wire::CacheScope;
use super::lifecycle::ServerCapabilities;

/// How long clients may cache the result: it changes only with the version of this program.
const TTL_MS: u64 = 3_600_000;

struct DiscoverResult {
    cache_scope: CacheScope,
}

impl ResultFields for DiscoverResult {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        map.serialize_entry("supportedVersions", &Revision::ALL.map(Revision::as_str))?;
        map.serialize_entry(
            "capabilities",
            &ServerCapabilities::for_client(revision, ClientCapabilities::default()),
        )?;
        map.serialize_entry("ttlMs", &TTL_MS)?;
        map.serialize_entry("cacheScope", &self.cache_scope)
    }
}

pub(in super::super) fn discover(
    server: &Server,
    context: &RequestContext,
) -> Result<EncodedResult, RpcError> {
    EncodedResult::new(&DiscoverResult { cache_scope: server.cache_scope() }, context.revision, &server.info)
}
