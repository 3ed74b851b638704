//! How many bytes a result has: what `result_kib` counts.

use super::guest_call::ResultSize;
use super::{Content, ContentData, ResourceContents, ResourceData, ToolResult};

pub(super) fn text(part: &Option<String>) -> usize {
    part.as_ref().map_or(0, String::len)
}

/// Bytes that a content block brings.
pub(super) fn content(content: &Content) -> usize {
    let data = match &content.data {
        ContentData::Text(body) => body.len(),
        ContentData::Image(media) | ContentData::Audio(media) => media.data.len() + media.mime_type.len(),
        ContentData::Embedded(resource) => contents(resource),
        ContentData::Link(link) => {
            link.uri.len() + link.name.len() + text(&link.title) + text(&link.description) + text(&link.extra)
        }
    };
    data + text(&content.extra)
}

/// Bytes that the contents of a resource bring.
pub(super) fn contents(resource: &ResourceContents) -> usize {
    let body = match &resource.data {
        ResourceData::Text(body) => body.len(),
        ResourceData::Blob(body) => body.len(),
    };
    body + resource.uri.len() + text(&resource.mime_type) + text(&resource.extra)
}

/// What the limits on results count, however the tool was called.
pub(super) fn tool(result: &ToolResult) -> ResultSize {
    let blocks: usize = result.content.iter().map(content).sum();
    let bytes = blocks + text(&result.structured) + text(&result.extra);
    ResultSize { bytes, items: result.content.len(), failed: result.is_error }
}
