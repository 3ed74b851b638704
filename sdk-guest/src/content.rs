//! The content of a tool's result: text, pictures, sound, resources and links to them.
//!
//! [`Content`] is the WIT record itself, so nothing is copied on the way out; this module only gives it constructors.

use crate::bindings::types::{ContentData, Media, ResourceContents, ResourceData, ResourceDescriptor};
use crate::{Annotations, Role};

pub use crate::bindings::types::Content;

impl Content {
    /// Text for the model or the person.
    pub fn text(text: impl Into<String>) -> Self {
        ContentData::Text(text.into()).into()
    }

    /// A picture: its bytes (not base64) and its type, such as `image/png`.
    pub fn image(bytes: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        ContentData::Image(media(bytes.into(), mime_type.into())).into()
    }

    /// Sound: its bytes (not base64) and its type, such as `audio/wav`.
    pub fn audio(bytes: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        ContentData::Audio(media(bytes.into(), mime_type.into())).into()
    }

    /// A text resource, sent along in full.
    pub fn text_resource(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        embedded(uri.into(), mime_type.into(), ResourceData::Text(text.into()))
    }

    /// A binary resource, sent along in full.
    pub fn blob_resource(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) -> Self {
        embedded(uri.into(), mime_type.into(), ResourceData::Blob(bytes.into()))
    }

    /// A link to a resource that the client may read later. [`Content::resource`] takes all its fields.
    pub fn link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self::resource(ResourceDescriptor {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            annotations: None,
            extra: None,
        })
    }

    /// A link to a resource with all fields.
    pub fn resource(descriptor: ResourceDescriptor) -> Self {
        ContentData::Link(descriptor).into()
    }

    /// Says whom this is for: the person, the model, or both.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<Vec<Role>>) -> Self {
        self.annotate().audience = audience.into();
        self
    }

    /// Says how much this matters, from 0 (may be dropped) to 1 (must be seen).
    #[must_use]
    pub fn priority(mut self, priority: f64) -> Self {
        self.annotate().priority = Some(priority);
        self
    }

    /// Says when the content last changed, as ISO 8601.
    #[must_use]
    pub fn last_modified(mut self, time: impl Into<String>) -> Self {
        self.annotate().last_modified = Some(time.into());
        self
    }

    /// Adds further MCP fields, such as `_meta`. A later call replaces an earlier one.
    #[must_use]
    pub fn extra(mut self, fields: serde_json::Map<String, serde_json::Value>) -> Self {
        self.extra = Some(serde_json::Value::Object(fields).to_string());
        self
    }

    /// The text, when this is text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.data {
            ContentData::Text(text) => Some(text),
            _ => None,
        }
    }

    fn annotate(&mut self) -> &mut Annotations {
        self.annotations.get_or_insert(Annotations {
            audience: Vec::new(),
            priority: None,
            last_modified: None,
        })
    }
}

impl From<ContentData> for Content {
    fn from(data: ContentData) -> Self {
        Self { data, annotations: None, extra: None }
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

fn media(data: Vec<u8>, mime_type: String) -> Media {
    Media { data, mime_type }
}

fn embedded(uri: String, mime_type: String, data: ResourceData) -> Content {
    ContentData::Embedded(ResourceContents { uri, mime_type: Some(mime_type), data, extra: None }).into()
}
