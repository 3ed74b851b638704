//! The four lists: pages of the items in the catalog.
//!
//! A page is written once for each list, because writing its items takes most of the time of a request. The catalog
//! stores the page's bytes with the list. They depend only on the items, the position of the page and the [`variant`].

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde::ser::SerializeMap;

use super::super::catalog_view::CatalogView;
use super::super::error::RpcError;
use super::super::params::Params;
use super::super::request_context::RequestContext;
use super::super::result_writer::{EncodedResult, ResultFields};
use super::super::revision::Revision;
use super::super::server::Server;
use super::super::wire::{CacheScope, ItemViews, ListItem};
use super::read;
use crate::catalog::{ItemList, Page, PageKey};

/// How long clients may cache a list. A client that needs to know changes sooner listens for notifications.
const TTL_MS: u64 = 10_000;

#[derive(Deserialize)]
struct ListParams<'a> {
    #[serde(borrow, default)]
    cursor: Option<Cow<'a, str>>,
}

struct ListResult<'a, T> {
    page: &'a Page<'a, Arc<T>>,
    ttl_ms: u64,
    cache_scope: CacheScope,
}

impl<T: ListItem> ResultFields for ListResult<'_, T> {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        map.serialize_entry(T::FIELD, &ItemViews { items: self.page.items, revision })?;
        if let Some(next) = self.page.next_cursor() {
            map.serialize_entry("nextCursor", &next)?;
        }
        if revision.is_stateless() {
            map.serialize_entry("ttlMs", &self.ttl_ms)?;
            map.serialize_entry("cacheScope", &self.cache_scope)?;
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
    page(server, view, context.revision, params, view.snapshot.tools())
}

pub(in super::super) fn resources(
    server: &Server,
    view: &CatalogView,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    page(server, view, context.revision, params, view.snapshot.resources())
}

pub(in super::super) fn templates(
    server: &Server,
    view: &CatalogView,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    page(server, view, context.revision, params, view.snapshot.templates())
}

pub(in super::super) fn prompts(
    server: &Server,
    view: &CatalogView,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    page(server, view, context.revision, params, view.snapshot.prompts())
}

fn page<T: ListItem>(
    server: &Server,
    view: &CatalogView,
    revision: Revision,
    params: &Params,
    list: &ItemList<T>,
) -> Result<EncodedResult, RpcError> {
    let params: ListParams<'_> = read(params)?;
    let page = Page::at(params.cursor.as_deref(), list.items(), list.id(), server.settings.page_size)
        .map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let cache_scope = server.cache_scope();
    let write =
        |ttl_ms| EncodedResult::new(&ListResult { page: &page, ttl_ms, cache_scope }, revision, &server.info);
    // During the initial load the list may change soon, so its pages are not stored.
    if !view.is_complete {
        return write(0);
    }
    let key = PageKey { start: page.start, items: page.items.len(), variant: variant(revision, cache_scope) };
    let written = list.page_bytes(key, || write(TTL_MS).map(EncodedResult::into_response_end))?;
    Ok(EncodedResult::from_response_end(written))
}

/// The number of the variant of a page, of which there are six.
fn variant(revision: Revision, cache_scope: CacheScope) -> u8 {
    let is_private = revision.is_stateless() && cache_scope == CacheScope::Private;
    2 * revision as u8 + u8::from(is_private)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::value::RawValue;

    use super::*;
    use crate::catalog::{Catalog, Item, ItemDigest, ItemHasher, Snapshot};
    use crate::config::{ItemKind, ServerConfig};
    use crate::mcp::request_id::RequestId;

    /// A tool with a schema of this length, which has a line break.
    struct TestTool(String, usize, ItemDigest);

    impl Item for TestTool {
        const KIND: ItemKind = ItemKind::Tool;

        fn key(&self) -> &str {
            &self.0
        }

        fn own_name(&self) -> &str {
            &self.0
        }

        fn owner(&self) -> &str {
            "p"
        }

        fn hash_into(&self, _: &mut ItemHasher) {}

        fn digest(&self) -> &ItemDigest {
            &self.2
        }
    }

    impl ListItem for TestTool {
        const FIELD: &'static str = "tools";

        fn show<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
            let schema = format!("{{\n\"{}\":1}}", "x".repeat(self.1));
            map.serialize_entry("name", &self.0)?;
            if revision.has_titles() {
                map.serialize_entry("title", "A tool")?;
            }
            map.serialize_entry("inputSchema", &RawValue::from_string(schema).unwrap())
        }
    }

    fn list(tools: usize, bytes: usize) -> ItemList<TestTool> {
        let tool = |at| Arc::new(TestTool(format!("tool{at}"), bytes, ItemDigest::new()));
        ItemList::new((0..tools).map(tool).collect(), &Arc::default())
    }

    fn server() -> Server {
        let settings = ServerConfig { page_size: 2, ..ServerConfig::default() };
        Server::new(Arc::new(Catalog::new(Snapshot::new(Vec::new()))), settings)
    }

    fn view(is_complete: bool) -> CatalogView {
        CatalogView { snapshot: Arc::new(Snapshot::new(Vec::new())), is_complete, access: None }
    }

    fn first(server: &Server, revision: Revision, list: &ItemList<TestTool>) -> EncodedResult {
        page(server, &view(true), revision, &"{}".into(), list).unwrap()
    }

    #[tokio::test]
    async fn a_response_has_the_same_bytes_whether_its_page_is_kept_or_not() {
        let (server, id) = (server(), RequestId::Number(7));
        for revision in Revision::ALL {
            for (bytes, chunks) in [(10, 1), (10_000, 2)] {
                let list = list(3, bytes);
                let page = Page::at(None, list.items(), list.id(), 2).unwrap();
                let result = ListResult { page: &page, ttl_ms: TTL_MS, cache_scope: CacheScope::Public };
                let result = EncodedResult::new(&result, revision, &server.info).unwrap();
                let expected = result.into_response(&id).into_bytes();
                assert!(expected.len() > 2 * bytes && !expected.contains(&b'\n'));
                for _ in 0..2 {
                    let response = first(&server, revision, &list).into_response(&id).into_chunks();
                    assert_eq!(response.iter().filter(|chunk| !chunk.is_empty()).count(), chunks);
                    assert_eq!(response.concat(), expected);
                    let response = first(&server, revision, &list).into_response(&id).into_bytes();
                    assert_eq!(response, expected);
                }
                let json: serde_json::Value =
                    serde_json::from_slice(first(&server, revision, &list).as_json()).unwrap();
                assert!(json["tools"][1]["name"] == "tool1" && json["nextCursor"].is_string(), "{json}");
                assert_eq!(json["ttlMs"].as_u64(), revision.is_stateless().then_some(TTL_MS));
            }
        }
    }

    #[tokio::test]
    async fn the_second_request_gets_the_bytes_of_the_first() {
        let (server, list) = (server(), list(5, 10_000));
        let of_page = |revision, cursor: Option<&str>, id| {
            let params = cursor.map_or("{}".to_owned(), |cursor| format!(r#"{{"cursor":"{cursor}"}}"#));
            let result = page(&server, &view(true), revision, &params.as_str().into(), &list).unwrap();
            let [_, shared] = result.into_response(&RequestId::Number(id)).into_chunks();
            shared
        };
        let stateless = Revision::V2026_07_28;
        let second = Page::at(None, list.items(), list.id(), 2).unwrap().next_cursor().unwrap();
        let mut pages = HashSet::new();
        for revision in Revision::ALL {
            for cursor in [None, Some(second.as_str())] {
                let shared = of_page(revision, cursor, 1);
                assert!(shared.len() > 20_000);
                assert_eq!(of_page(revision, cursor, 2).as_ptr(), shared.as_ptr());
                pages.insert(shared.as_ptr());
            }
        }
        assert_eq!(pages.len(), 2 * Revision::ALL.len(), "each revision and page has its own bytes");
        let reloaded = self::list(5, 10_000);
        let [_, shared] =
            first(&server, stateless, &reloaded).into_response(&RequestId::Number(1)).into_chunks();
        assert!(!pages.contains(&shared.as_ptr()), "a reload makes new lists");
    }

    #[tokio::test]
    async fn what_may_change_in_a_moment_is_not_kept() {
        let (server, list) = (server(), list(3, 10_000));
        let during = page(&server, &view(false), Revision::V2026_07_28, &"{}".into(), &list).unwrap();
        let after = first(&server, Revision::V2026_07_28, &list);
        let ttl = |result: &EncodedResult| {
            serde_json::from_slice::<serde_json::Value>(result.as_json()).unwrap()["ttlMs"].as_u64()
        };
        assert_eq!((ttl(&during), ttl(&after)), (Some(0), Some(TTL_MS)));
    }

    #[test]
    fn variants_that_differ_have_different_numbers() {
        let scopes = [CacheScope::Public, CacheScope::Private];
        let all = Revision::ALL.into_iter().flat_map(|revision| scopes.map(|scope| variant(revision, scope)));
        // Only the stateless revision has a scope.
        assert_eq!(all.collect::<HashSet<u8>>().len(), Revision::ALL.len() + 1);
    }
}
