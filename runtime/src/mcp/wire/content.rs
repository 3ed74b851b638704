//! Content blocks. A kind of content that a revision lacks becomes text, so that nothing is lost silently.

use std::collections::HashSet;

use data_encoding::BASE64;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::super::revision::Revision;
use super::annotations::AnnotationsView;
use super::extension_fields::{has_field, read_app_extra, write_fields};
use super::resource::ContentsView;
use crate::config::UiGrant;
use crate::json::RawObject;
use crate::plugin::{Content, ContentData, Media, ResourceContents, ResourceData, ResourceDescriptor};
use crate::sandbox::{json_string_work, json_work};

const OWN: &[&str] = &[
    "type",
    "text",
    "data",
    "mimeType",
    "resource",
    "uri",
    "name",
    "title",
    "description",
    "blob",
    "annotations",
];

/// The cost of a block besides its data, in bytes of JSON.
const BLOCK: usize = 64;

/// This many bytes are written as Base64 in the time of one byte of JSON.
const BASE64_BYTES: usize = 8;

/// A content block, with its additional fields parsed.
pub(super) struct Block<'a> {
    content: &'a Content,
    extra: RawObject,
    inner: RawObject,
}

/// A list of blocks in the form of one revision.
pub(super) struct Blocks<'a> {
    pub(super) blocks: &'a [Block<'a>],
    pub(super) revision: Revision,
}

impl<'a> Block<'a> {
    /// Parses the additional fields, of a plugin whose apps are granted this.
    ///
    /// # Errors
    /// When the additional fields are not a JSON object, or ask for more as an app.
    pub(super) fn new(content: &'a Content, granted: &UiGrant) -> Result<Self, String> {
        let inner = match &content.data {
            ContentData::Embedded(resource) => &resource.extra,
            ContentData::Link(link) => &link.extra,
            _ => &None,
        };
        let [extra, inner] = [&content.extra, inner].map(|extra| read_app_extra(extra.as_ref(), granted));
        Ok(Self { content, extra: extra?, inner: inner? })
    }

    /// The cost of parsing and writing a block, for `LargeWork::in_place`.
    pub(super) fn work(content: &Content) -> usize {
        let data = match &content.data {
            ContentData::Text(text) => json_string_work(text),
            ContentData::Image(media) | ContentData::Audio(media) => {
                media.data.len() / BASE64_BYTES + media.mime_type.len()
            }
            ContentData::Embedded(resource) => contents_work(resource),
            ContentData::Link(link) => {
                let texts = [&link.title, &link.description, &link.mime_type];
                let texts: usize = texts.into_iter().flatten().map(String::len).sum();
                texts + link.uri.len() + link.name.len() + extra_work(&link.extra)
            }
        };
        BLOCK + data + extra_work(&content.extra)
    }
}

fn contents_work(resource: &ResourceContents) -> usize {
    let data = match &resource.data {
        ResourceData::Text(text) => json_string_work(text),
        ResourceData::Blob(blob) => blob.len() / BASE64_BYTES,
    };
    data + resource.uri.len()
        + resource.mime_type.as_ref().map_or(0, String::len)
        + extra_work(&resource.extra)
}

fn extra_work(extra: &Option<String>) -> usize {
    extra.as_ref().map_or(0, |extra| json_work(extra.as_bytes()))
}

impl Block<'_> {
    /// The length of its text in bytes.
    pub(super) fn text_bytes(&self) -> usize {
        match &self.content.data {
            ContentData::Text(text) => text.len(),
            _ => 0,
        }
    }

    /// The URI of the resource that this block links to or embeds.
    pub(super) fn uri(&self) -> Option<&str> {
        match &self.content.data {
            ContentData::Embedded(resource) => Some(&resource.uri),
            ContentData::Link(link) => Some(&link.uri),
            ContentData::Text(_) | ContentData::Image(_) | ContentData::Audio(_) => None,
        }
    }
}

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.blocks.len()))?;
        for block in self.blocks {
            list.serialize_element(&BlockView { block, revision: self.revision })?;
        }
        list.end()
    }
}

/// One block in the form of one revision.
pub(super) struct BlockView<'a> {
    pub(super) block: &'a Block<'a>,
    pub(super) revision: Revision,
}

impl Serialize for BlockView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.block.content.data {
            ContentData::Text(text) => write_text(&mut map, text)?,
            ContentData::Image(media) => write_media(&mut map, "image", media)?,
            ContentData::Audio(media) if self.revision.has_audio() => write_media(&mut map, "audio", media)?,
            ContentData::Audio(media) => {
                let text = format!("[{} of audio, {} bytes]", media.mime_type, media.data.len());
                write_text(&mut map, &text)?;
            }
            ContentData::Embedded(contents) => {
                map.serialize_entry("type", "resource")?;
                map.serialize_entry(
                    "resource",
                    &ContentsView { contents, extra: &self.block.inner, revision: self.revision },
                )?;
            }
            ContentData::Link(link) if self.revision.has_resource_links() => {
                self.write_link(&mut map, link)?
            }
            ContentData::Link(link) => write_text(&mut map, &format!("{}: {}", link.name, link.uri))?,
        }
        if let Some(annotations) = &self.block.content.annotations {
            map.serialize_entry("annotations", &AnnotationsView(annotations, self.revision))?;
        }
        // A link is written into the same object as its block. If both have a field with the same name, the link's is
        // used.
        let link = matches!(self.block.content.data, ContentData::Link(_));
        let inner: HashSet<&str> = self.block.inner.iter().filter(|_| link).map(|(name, _)| name).collect();
        let further = |name: &str| !OWN.contains(&name) && has_field(self.revision, name);
        for (name, value) in self.block.extra.iter().filter(|(name, _)| further(name)) {
            if !inner.contains(name) {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

impl BlockView<'_> {
    fn write_link<M: SerializeMap>(&self, map: &mut M, link: &ResourceDescriptor) -> Result<(), M::Error> {
        map.serialize_entry("type", "resource_link")?;
        map.serialize_entry("uri", &link.uri)?;
        map.serialize_entry("name", &link.name)?;
        for (name, value) in
            [("title", &link.title), ("description", &link.description), ("mimeType", &link.mime_type)]
        {
            if let Some(value) = value {
                map.serialize_entry(name, value)?;
            }
        }
        write_fields(map, &self.block.inner, OWN, self.revision)
    }
}

fn write_text<M: SerializeMap>(map: &mut M, text: &str) -> Result<(), M::Error> {
    map.serialize_entry("type", "text")?;
    map.serialize_entry("text", text)
}

fn write_media<M: SerializeMap>(map: &mut M, kind: &str, media: &Media) -> Result<(), M::Error> {
    map.serialize_entry("type", kind)?;
    map.serialize_entry("data", &BASE64.encode(&media.data))?;
    map.serialize_entry("mimeType", &media.mime_type)
}
