//! `server/discover` (2026-07-28): what the server speaks and offers, without a handshake.

use serde::ser::SerializeMap;

use super::super::context::RequestContext;
use super::super::error::RpcError;
use super::super::reply::{Fields, Reply};
use super::super::revision::Revision;
use super::super::server::Server;
use super::lifecycle::Capabilities;

/// The answer changes only with the program itself.
const TTL_MS: u64 = 3_600_000;

struct Discovered;

impl Fields for Discovered {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        map.serialize_entry("supportedVersions", &Revision::ALL.map(Revision::as_str))?;
        map.serialize_entry("capabilities", &Capabilities::of(revision))?;
        map.serialize_entry("ttlMs", &TTL_MS)?;
        map.serialize_entry("cacheScope", "public")
    }
}

pub(in super::super) fn discover(server: &Server, context: &RequestContext) -> Result<Reply, RpcError> {
    Reply::new(&Discovered, context.revision, &server.info)
}
