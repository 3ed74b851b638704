//! What a resource may hold: text, bytes, JSON, or several of these.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::bindings::types::{ResourceContents, ResourceData};
use crate::return_value::Kind;
use crate::{Error, json};

use super::ReadResult;

/// A value that is sent as JSON, with the type `application/json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// Text or bytes with more to be said of them: a URI or a type of their own, and further fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    uri: Option<String>,
    mime_type: Option<String>,
    data: ResourceData,
    extra: Option<String>,
}

impl Contents {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(ResourceData::Text(text.into()))
    }

    /// Bytes, not base64.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::of(ResourceData::Blob(bytes.into()))
    }

    /// Gives it another URI than the one that is read, as the parts of a resource have.
    #[must_use]
    pub fn uri(mut self, uri: impl Into<String>) -> Self {
        self.uri = Some(uri.into());
        self
    }

    /// Gives it another type than the resource's.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Adds further MCP fields, such as `_meta`. A later call replaces an earlier one.
    #[must_use]
    pub fn extra(mut self, fields: Map<String, Value>) -> Self {
        self.extra = Some(Value::Object(fields).to_string());
        self
    }

    const fn of(data: ResourceData) -> Self {
        Self { uri: None, mime_type: None, data, extra: None }
    }

    fn finish(self, uri: &str, mime_type: Option<&str>) -> ResourceContents {
        let usual = match self.data {
            ResourceData::Text(_) => TEXT,
            ResourceData::Blob(_) => BYTES,
        };
        let mime_type = self.mime_type.as_deref().or(mime_type).unwrap_or(usual).to_owned();
        ResourceContents {
            uri: self.uri.unwrap_or_else(|| uri.to_owned()),
            mime_type: Some(mime_type),
            data: self.data,
            extra: self.extra,
        }
    }
}

impl ResourceContents {
    /// The text, when this is text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.data {
            ResourceData::Text(text) => Some(text),
            ResourceData::Blob(_) => None,
        }
    }

    /// The bytes, when this is no text.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match &self.data {
            ResourceData::Text(_) => None,
            ResourceData::Blob(bytes) => Some(bytes),
        }
    }
}

const TEXT: &str = "text/plain";
const BYTES: &str = "application/octet-stream";
const JSON: &str = "application/json";

/// What a resource can return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the content of a resource; return `String`, `Vec<u8>`, `Json<...>`, `Contents`, `Vec<Contents>` or an `Option` of these",
    label = "not the content of a resource"
)]
pub trait IntoContents {
    /// The type that this has when the author does not say another.
    const MIME_TYPE: Option<&'static str>;

    /// The contents for a client.
    ///
    /// # Errors
    /// `not-found` when there is no content, `internal` when a value cannot be JSON.
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<ResourceContents>, Error>;
}

impl IntoContents for Vec<Contents> {
    const MIME_TYPE: Option<&'static str> = None;

    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<ResourceContents>, Error> {
        Ok(self.into_iter().map(|contents| contents.finish(uri, mime_type)).collect())
    }
}

impl IntoContents for Contents {
    const MIME_TYPE: Option<&'static str> = None;

    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<ResourceContents>, Error> {
        vec![self].into_contents(uri, mime_type)
    }
}

impl IntoContents for String {
    const MIME_TYPE: Option<&'static str> = Some(TEXT);

    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<ResourceContents>, Error> {
        Contents::text(self).into_contents(uri, mime_type)
    }
}

impl IntoContents for &str {
    const MIME_TYPE: Option<&'static str> = Some(TEXT);

    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<ResourceContents>, Error> {
        self.to_owned().into_contents(uri, mime_type)
    }
}

impl IntoContents for Cow<'_, str> {
    const MIME_TYPE: Option<&'static str> = Some(TEXT);

    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<ResourceContents>, Error> {
        self.into_owned().into_contents(uri, mime_type)
    }
}

impl IntoContents for Vec<u8> {
    const MIME_TYPE: Option<&'static str> = Some(BYTES);

    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<ResourceContents>, Error> {
        Contents::bytes(self).into_contents(uri, mime_type)
    }
}

impl IntoContents for &[u8] {
    const MIME_TYPE: Option<&'static str> = Some(BYTES);

    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<ResourceContents>, Error> {
        self.to_vec().into_contents(uri, mime_type)
    }
}

impl<T: Serialize> IntoContents for Json<T> {
    const MIME_TYPE: Option<&'static str> = Some(JSON);

    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<ResourceContents>, Error> {
        let text = json::written(&self.0)
            .map_err(|error| Error::Internal(format!("the resource cannot be written as JSON: {error}")))?;
        text.into_contents(uri, mime_type.or(Some(JSON)))
    }
}

/// `None` says that there is no such resource.
impl<T: IntoContents> IntoContents for Option<T> {
    const MIME_TYPE: Option<&'static str> = T::MIME_TYPE;

    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<ResourceContents>, Error> {
        self.ok_or_else(|| super::no_such_resource(uri))?.into_contents(uri, mime_type)
    }
}

/// The bounds are on the methods and not on the implementation, so that the compiler's error names the missing trait.
impl<T> Kind<T> {
    /// The type that the author says, or the one that values of this Rust type have.
    pub fn mime_type(self, said: Option<&'static str>) -> Option<&'static str>
    where
        T: IntoContents,
    {
        said.or(T::MIME_TYPE)
    }

    /// The contents for a client.
    ///
    /// # Errors
    /// Those of [`IntoContents::into_contents`].
    pub fn contents(self, value: T, uri: &str, mime_type: Option<&str>) -> ReadResult
    where
        T: IntoContents,
    {
        value.into_contents(uri, mime_type)
    }
}
