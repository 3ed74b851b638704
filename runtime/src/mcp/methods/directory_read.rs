//! `resources/directory/read` (SEP-2640): the direct children of a directory of files in components.

use std::borrow::Cow;

use serde::Deserialize;
use serde::ser::SerializeMap;

use super::super::catalog_view::CatalogView;
use super::super::error::RpcError;
use super::super::params::Params;
use super::super::request_context::RequestContext;
use super::super::result_writer::{EncodedResult, ResultFields};
use super::super::revision::Revision;
use super::super::server::Server;
use super::super::wire::{ChildrenView, DirectoryChild};
use super::read as read_params;
use crate::catalog::{Page, Snapshot};

#[derive(Deserialize)]
struct DirectoryParams<'a> {
    #[serde(borrow)]
    uri: Cow<'a, str>,
    #[serde(borrow, default)]
    cursor: Option<Cow<'a, str>>,
}

struct DirectoryResult<'a> {
    page: &'a Page<'a, DirectoryChild<'a>>,
}

impl ResultFields for DirectoryResult<'_> {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        map.serialize_entry("resources", &ChildrenView(self.page.items, revision))?;
        match self.page.next_cursor() {
            Some(next) => map.serialize_entry("nextCursor", &next),
            None => Ok(()),
        }
    }
}

pub(in super::super) fn read(
    server: &Server,
    view: &CatalogView,
    context: &RequestContext,
    params: &Params,
) -> Result<EncodedResult, RpcError> {
    let params: DirectoryParams<'_> = read_params(params)?;
    let children = children(&view.snapshot, &params.uri);
    if children.is_empty() {
        return Err(RpcError::unknown_directory(&params.uri));
    }
    let list = view.snapshot.list_id(&params.uri);
    let page = Page::at(params.cursor.as_deref(), &children, list, server.settings.page_size)
        .map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    EncodedResult::new(&DirectoryResult { page: &page }, context.revision, &server.info)
}

/// The children of a directory that the caller sees. A directory without any does not exist.
fn children<'s>(snapshot: &'s Snapshot, uri: &str) -> Vec<DirectoryChild<'s>> {
    let mut children = Vec::new();
    let mut last = "";
    for resource in snapshot.files_below(uri) {
        let path = resource.resource.uri.get(uri.len() + 1..).unwrap_or_default();
        let Some((folder, _)) = path.split_once('/') else {
            if resource.file.is_some() {
                children.push(DirectoryChild::File(resource));
            }
            continue;
        };
        // Files of one folder follow each other.
        if folder != last && resource.file.is_some() {
            last = folder;
            let end = uri.len() + 1 + folder.len();
            children.extend(resource.resource.uri.get(..end).map(DirectoryChild::Directory));
        }
    }
    children
}
