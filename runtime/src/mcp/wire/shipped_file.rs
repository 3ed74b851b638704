//! Files in components: skills, directories of files, and the contents of a file.

use std::sync::Arc;

use data_encoding::BASE64;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::super::result_writer::ResultFields;
use super::super::revision::Revision;
use super::cache_scope::CacheScope;
use super::list::ListItem as _;
use crate::catalog::{PublishedFile, PublishedResource};
use crate::plugin::{FileContents, ShippedFile};

/// How long clients may cache a file or a skill, which changes only with its plugin.
pub(in super::super) const FILE_TTL_MS: u64 = 10_000;

/// The media type of a directory.
const DIRECTORY: &str = "inode/directory";

/// The result of `resources/read` for a file.
pub(in super::super) struct FileView<'a> {
    pub(in super::super) resource: &'a PublishedResource,
    pub(in super::super) file: &'a PublishedFile,
    pub(in super::super) cache_scope: CacheScope,
}

impl ResultFields for FileView<'_> {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        map.serialize_entry("contents", &[Contents(self, revision)])?;
        write_caching(map, self.cache_scope, revision)
    }

    fn size_hint(&self) -> usize {
        self.file.file.size()
    }
}

struct Contents<'a>(&'a FileView<'a>, Revision);

impl Serialize for Contents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(FileView { resource, file, .. }, revision) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("uri", &resource.resource.uri)?;
        map.serialize_entry("mimeType", &resource.resource.mime_type)?;
        match &file.file.contents {
            FileContents::Text(text) => map.serialize_entry("text", &**text)?,
            FileContents::Bytes(bytes) => map.serialize_entry("blob", &BASE64.encode(bytes))?,
        }
        if let Some(meta) = resource.extra.get("_meta").filter(|_| revision.has_item_meta()) {
            map.serialize_entry("_meta", meta)?;
        }
        map.end()
    }
}

/// Writes how long a result may be cached, in the revisions that say so.
pub(in super::super) fn write_caching<M: SerializeMap>(
    map: &mut M,
    cache_scope: CacheScope,
    revision: Revision,
) -> Result<(), M::Error> {
    if revision.is_stateless() {
        map.serialize_entry("ttlMs", &FILE_TTL_MS)?;
        map.serialize_entry("cacheScope", &cache_scope)?;
    }
    Ok(())
}

/// The entry of a skill: its frontmatter, and all its files that the caller sees.
pub(in super::super) struct SkillView<'a> {
    pub(in super::super) uri: &'a str,
    pub(in super::super) frontmatter: &'a RawValue,
    /// The resources below its folder, of which those of its plugin belong to it.
    pub(in super::super) below: &'a [Arc<PublishedResource>],
    pub(in super::super) plugin: &'a str,
}

impl<'a> SkillView<'a> {
    /// Its files, each with its URI.
    pub(in super::super) fn files(&self) -> impl Iterator<Item = (&'a str, &'a ShippedFile)> {
        let plugin = self.plugin;
        let own = self.below.iter().filter(move |resource| resource.plugin.name() == plugin);
        own.filter_map(|resource| Some((resource.resource.uri.as_str(), &resource.file.as_ref()?.file)))
    }
}

impl Serialize for SkillView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("uri", self.uri)?;
        map.serialize_entry("frontmatter", self.frontmatter)?;
        map.serialize_entry("resources", &SkillFiles(self))?;
        map.end()
    }
}

struct SkillFiles<'a>(&'a SkillView<'a>);

impl Serialize for SkillFiles<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let files = self.0.files();
        serializer.collect_seq(files.map(|(uri, file)| SkillFile {
            uri,
            digest: &file.digest,
            size: file.size(),
        }))
    }
}

#[derive(serde::Serialize)]
struct SkillFile<'a> {
    uri: &'a str,
    digest: &'a str,
    size: usize,
}

/// A direct child of a directory.
#[derive(Debug)]
pub(in super::super) enum DirectoryChild<'a> {
    File(&'a PublishedResource),
    /// A directory, by its URI.
    Directory(&'a str),
}

/// Children in the form of one revision.
pub(in super::super) struct ChildrenView<'a>(
    pub(in super::super) &'a [DirectoryChild<'a>],
    pub(in super::super) Revision,
);

impl Serialize for ChildrenView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|child| ChildView(child, self.1)))
    }
}

struct ChildView<'a>(&'a DirectoryChild<'a>, Revision);

impl Serialize for ChildView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            DirectoryChild::File(resource) => resource.show(&mut map, self.1)?,
            DirectoryChild::Directory(uri) => {
                map.serialize_entry("uri", uri)?;
                map.serialize_entry("name", uri.rsplit('/').next().unwrap_or(uri))?;
                map.serialize_entry("mimeType", DIRECTORY)?;
            }
        }
        map.end()
    }
}
