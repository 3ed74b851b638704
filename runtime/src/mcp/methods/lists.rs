//! The four lists: pages of the items in the catalog.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde::ser::SerializeMap;

use super::super::error::RpcError;
use super::super::params::Params;
use super::super::request_context::RequestContext;
use super::super::result_writer::{EncodedResult, ResultFields};
use super::super::revision::Revision;
use super::super::server::{CatalogView, Server};
use super::super::wire::{ItemViews, ListItem};
use super::read;
use crate::catalog::{ItemList, Page};

/// How long clients may cache a list. A client that needs changes sooner listens for notifications.
const TTL_MS: u64 = 10_000;

#[derive(Deserialize)]
struct ListParams<'a> {
    #[serde(borrow, default)]
    cursor: Option<Cow<'a, str>>,
}

struct ListResult<'a, T> {
    page: Page<'a, Arc<T>>,
    ttl_ms: u64,
    cache_scope: &'static str,
}

impl<T: ListItem> ResultFields for ListResult<'_, T> {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        map.serialize_entry(T::FIELD, &ItemViews { items: self.page.items, revision })?;
        if let Some(next) = &self.page.next {
            map.serialize_entry("nextCursor", next)?;
        }
        if revision.is_stateless() {
            map.serialize_entry("ttlMs", &self.ttl_ms)?;
            map.serialize_entry("cacheScope", self.cache_scope)?;
        }
        Ok(())
    }
}

pub(in super::super) fn tools(
    server: &Server,
    view: &CatalogView,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    page(server, view, context, params, view.snapshot.tools())
}

pub(in super::super) fn resources(
    server: &Server,
    view: &CatalogView,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    page(server, view, context, params, view.snapshot.resources())
}

pub(in super::super) fn templates(
    server: &Server,
    view: &CatalogView,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    page(server, view, context, params, view.snapshot.templates())
}

pub(in super::super) fn prompts(
    server: &Server,
    view: &CatalogView,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    page(server, view, context, params, view.snapshot.prompts())
}

fn page<T: ListItem>(
    server: &Server,
    view: &CatalogView,
    context: &RequestContext,
    params: &Params,
    list: &ItemList<T>,
) -> Result<EncodedResult, RpcError> {
    let params: ListParams<'_> = read(params)?;
    let page = Page::at(params.cursor.as_deref(), list.items(), list.id(), server.settings.page_size)
        .map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    // During the initial load the list may change in a moment.
    let ttl_ms = if view.is_complete { TTL_MS } else { 0 };
    let cache_scope = server.cache_scope();
    EncodedResult::new(&ListResult { page, ttl_ms, cache_scope }, context.revision, &server.info)
}
