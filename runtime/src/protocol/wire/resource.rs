//! Resources and templates as their lists show them, and what reading one gives.

use data_encoding::BASE64;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::super::reply::Fields;
use super::super::revision::Revision;
use super::annotations::AnnotationsView;
use super::content::read_extra;
use super::extra::{write_fields, write_words};
use super::list::Shown;
use crate::catalog::{PublishedResource, PublishedTemplate};
use crate::json::RawObject;
use crate::plugin::{ResourceContents, ResourceData, ResourceDescriptor, ResourceTemplate};

const OWN: &[&str] =
    &["uri", "uriTemplate", "name", "title", "description", "mimeType", "annotations", "text", "blob"];

/// How long a client may keep what it read: not at all, since nothing says when it changes.
const READ_TTL_MS: u64 = 0;

impl Shown for PublishedResource {
    const FIELD: &'static str = "resources";

    fn show<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        let ResourceDescriptor { uri, name, title, description, mime_type, annotations, .. } = &self.resource;
        map.serialize_entry("uri", uri)?;
        map.serialize_entry("name", name)?;
        write_words(map, title.as_ref(), description.as_ref(), revision)?;
        if let Some(mime_type) = mime_type {
            map.serialize_entry("mimeType", mime_type)?;
        }
        if let Some(annotations) = annotations {
            map.serialize_entry("annotations", &AnnotationsView(annotations, revision))?;
        }
        write_fields(map, &self.extra, OWN, revision)
    }
}

impl Shown for PublishedTemplate {
    const FIELD: &'static str = "resourceTemplates";

    fn show<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        let ResourceTemplate { uri_template, name, title, description, mime_type, annotations, .. } =
            &self.template;
        map.serialize_entry("uriTemplate", uri_template)?;
        map.serialize_entry("name", name)?;
        write_words(map, title.as_ref(), description.as_ref(), revision)?;
        if let Some(mime_type) = mime_type {
            map.serialize_entry("mimeType", mime_type)?;
        }
        if let Some(annotations) = annotations {
            map.serialize_entry("annotations", &AnnotationsView(annotations, revision))?;
        }
        write_fields(map, &self.extra, OWN, revision)
    }
}

/// Contents with their further fields already read.
pub(super) struct Contents<'a> {
    contents: &'a ResourceContents,
    extra: RawObject,
}

/// Contents in one revision.
pub(super) struct ContentsView<'a> {
    pub(super) contents: &'a ResourceContents,
    pub(super) extra: &'a RawObject,
    pub(super) revision: Revision,
}

impl Serialize for ContentsView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("uri", &self.contents.uri)?;
        if let Some(mime_type) = &self.contents.mime_type {
            map.serialize_entry("mimeType", mime_type)?;
        }
        match &self.contents.data {
            ResourceData::Text(text) => map.serialize_entry("text", text)?,
            ResourceData::Blob(bytes) => map.serialize_entry("blob", &BASE64.encode(bytes))?,
        }
        write_fields(&mut map, self.extra, OWN, self.revision)?;
        map.end()
    }
}

/// The result of `resources/read`, known to be well-formed.
pub(in super::super) struct ReadView<'a>(Vec<Contents<'a>>);

impl<'a> ReadView<'a> {
    /// Reads the parts of a result that are JSON.
    ///
    /// # Errors
    /// With what the plugin got wrong.
    pub(in super::super) fn new(contents: &'a [ResourceContents]) -> Result<Self, String> {
        let read = |contents: &'a ResourceContents| {
            read_extra(contents.extra.as_ref()).map(|extra| Contents { contents, extra })
        };
        contents.iter().map(read).collect::<Result<_, _>>().map(Self)
    }
}

struct Sequence<'a>(&'a [Contents<'a>], Revision);

impl Serialize for Sequence<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for Contents { contents, extra } in self.0 {
            list.serialize_element(&ContentsView { contents, extra, revision: self.1 })?;
        }
        list.end()
    }
}

impl Fields for ReadView<'_> {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        map.serialize_entry("contents", &Sequence(&self.0, revision))?;
        if revision.is_stateless() {
            map.serialize_entry("ttlMs", &READ_TTL_MS)?;
            map.serialize_entry("cacheScope", "private")?;
        }
        Ok(())
    }
}
