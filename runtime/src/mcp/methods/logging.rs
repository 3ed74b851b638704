//! `logging/setLevel`: sets the lowest level of log messages that a session gets.

use std::borrow::Cow;

use serde::Deserialize;

use super::super::error::RpcError;
use super::super::log_level::parse_level;
use super::super::params::Params;
use super::super::request_context::RequestContext;
use super::super::result_writer::{EmptyResult, EncodedResult};
use super::super::server::Server;
use super::read;

#[derive(Deserialize)]
struct SetLevelParams<'a> {
    #[serde(borrow)]
    level: Cow<'a, str>,
}

pub(in super::super) fn set_level(
    server: &Server,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    let params: SetLevelParams<'_> = read(params)?;
    let level = parse_level(&params.level)?;
    if let Some(session) = &context.session {
        session.log_level.set(level);
    }
    EncodedResult::new(&EmptyResult, context.revision, &server.info)
}
