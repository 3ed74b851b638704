//! `skills/list` and `skills/get` (SEP-2640): the skills in components. Nothing of a plugin runs.

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
use super::super::wire::{CacheScope, SkillView, write_caching};
use super::{item_access, read, run_guest_call};
use crate::catalog::{Page, PublishedResource, Snapshot};

/// Maximum number of skills on a page: each may have 512 files, so a page may have megabytes.
const PAGE_SIZE: usize = 32;

/// Bytes of the entry of one file besides its URI: its digest, its size and their names.
const FILE_BYTES: usize = 128;

#[derive(Deserialize)]
struct ListParams<'a> {
    #[serde(borrow, default)]
    cursor: Option<Cow<'a, str>>,
}

struct ListResult<'a> {
    skills: Vec<SkillView<'a>>,
    next: Option<String>,
    cache_scope: CacheScope,
}

impl ResultFields for ListResult<'_> {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        map.serialize_entry("skills", &self.skills)?;
        if let Some(next) = &self.next {
            map.serialize_entry("nextCursor", next)?;
        }
        write_caching(map, self.cache_scope, revision)
    }
}

struct GetResult<'a> {
    skill: SkillView<'a>,
    cache_scope: CacheScope,
}

impl ResultFields for GetResult<'_> {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        map.serialize_entry("skill", &self.skill)?;
        write_caching(map, self.cache_scope, revision)
    }
}

pub(in super::super) async fn list(
    server: &Server,
    view: &CatalogView,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    let params: ListParams<'_> = read(params)?;
    let all: Vec<&Arc<PublishedResource>> = view.snapshot.skills().collect();
    let (size, list) = (server.settings.page_size.min(PAGE_SIZE), view.snapshot.list_id("skills"));
    let page = Page::at(params.cursor.as_deref(), &all, list, size)
        .map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let skills: Vec<_> = page.items.iter().filter_map(|skill| entry(&view.snapshot, skill)).collect();
    let bytes: usize = skills.iter().map(bytes).sum();
    let _reservation = run_guest_call::reserve_result(server, context, bytes)?;
    let (next, cache_scope) = (page.next_cursor(), server.cache_scope());
    let result = ListResult { skills, next, cache_scope };
    server.reading().in_place(bytes, || EncodedResult::new(&result, context.revision, &server.info)).await
}

pub(in super::super) fn get(
    server: &Server,
    view: &CatalogView,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    let uri = params.uri()?;
    let unknown = || RpcError::unknown_skill(&uri);
    let skill = view.snapshot.resources().get(&uri).ok_or_else(unknown)?;
    let found = entry(&view.snapshot, skill).ok_or_else(unknown)?;
    let checked = item_access::check_uri(view, &context.caller, &skill.plugin, ("skills/get", &*uri), None);
    checked.map_err(|error| error.into_rpc(unknown))?;
    let _reservation = run_guest_call::reserve_result(server, context, bytes(&found))?;
    let result = GetResult { skill: found, cache_scope: server.cache_scope() };
    EncodedResult::new(&result, context.revision, &server.info)
}

/// The entry of a skill, by its `SKILL.md`.
fn entry<'s>(snapshot: &'s Snapshot, skill: &'s PublishedResource) -> Option<SkillView<'s>> {
    let frontmatter = skill.file.as_ref()?.skill.as_deref()?;
    let uri = skill.resource.uri.as_str();
    let (folder, _) = uri.rsplit_once('/')?;
    let (below, plugin) = (snapshot.files_below(folder), skill.plugin.name());
    Some(SkillView { uri, frontmatter, below, plugin })
}

/// About how many bytes the entry of a skill has.
fn bytes(skill: &SkillView<'_>) -> usize {
    let files: usize = skill.files().map(|(uri, _)| uri.len() + FILE_BYTES).sum();
    files + skill.uri.len() + skill.frontmatter.get().len()
}
