//! The result of `tools/call`.

use serde::ser::SerializeMap;
use serde_json::json;
use serde_json::value::RawValue;

use super::super::result_writer::{EncodedResult, ResultFields, write_extra};
use super::super::revision::Revision;
use super::content::{Block, Blocks};
use super::extension_fields::read_extra;
use crate::config::UiGrant;
use crate::json::{self, RawObject};
use crate::plugin::ToolResult;
use crate::sandbox::json_work;

const OWN: &[&str] = &["content", "structuredContent", "isError", "resultType"];

/// The result of `tools/call`, with its JSON parts parsed.
pub(in super::super) struct ResultView<'a> {
    blocks: Vec<Block<'a>>,
    /// The text of a result that no plugin returned.
    own_text: Option<String>,
    structured: Option<Box<RawValue>>,
    is_error: bool,
    extra: RawObject,
}

impl<'a> ResultView<'a> {
    /// Parses the parts of a result that are JSON, of a plugin whose apps are granted this.
    ///
    /// # Errors
    /// When a part is invalid, with the tool's mistake.
    pub(in super::super) fn new(result: &'a ToolResult, granted: &UiGrant) -> Result<Self, String> {
        let structured = result.structured.as_deref().map(json::raw).transpose();
        Ok(Self {
            blocks: result
                .content
                .iter()
                .map(|block| Block::new(block, granted))
                .collect::<Result<_, _>>()?,
            own_text: None,
            structured: structured
                .map_err(|_| "its structured content is not JSON that every client can read".to_owned())?,
            is_error: result.is_error,
            extra: read_extra(result.extra.as_ref())?,
        })
    }

    /// The cost of parsing and writing a result, for `LargeWork::in_place`.
    pub(in super::super) fn work(result: &ToolResult) -> usize {
        let json = |text: &Option<String>| text.as_ref().map_or(0, |text| json_work(text.as_bytes()));
        let blocks: usize = result.content.iter().map(Block::work).sum();
        blocks + json(&result.structured) + json(&result.extra)
    }

    /// The same result without blocks that link to a hidden resource or embed one.
    pub(in super::super) fn without_resources(mut self, is_hidden: impl Fn(&str) -> bool) -> Self {
        self.blocks.retain(|block| !block.uri().is_some_and(&is_hidden));
        self
    }

    /// A result that has only an error text.
    pub(in super::super) fn error(text: String) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// A result that has only a text.
    pub(in super::super) fn text(text: String) -> Self {
        let (blocks, structured, extra) = (Vec::new(), None, RawObject::default());
        Self { blocks, own_text: Some(text), structured, is_error: false, extra }
    }

    pub(in super::super) fn is_error(&self) -> bool {
        self.is_error
    }

    pub(in super::super) fn structured(&self) -> Option<&RawValue> {
        self.structured.as_deref()
    }
}

impl ResultView<'_> {
    /// Writes the content. If there is only structured content, it is also written as text, for clients that read only
    /// text.
    fn write_content<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        match &self.structured {
            Some(structured) if self.blocks.is_empty() => {
                map.serialize_entry("content", &[json!({ "type": "text", "text": structured.get() })])
            }
            _ => map.serialize_entry("content", &Blocks { blocks: &self.blocks, revision }),
        }
    }
}

impl ResultFields for ResultView<'_> {
    fn write<M: SerializeMap>(&self, map: &mut M, revision: Revision) -> Result<(), M::Error> {
        match &self.own_text {
            Some(text) => map.serialize_entry("content", &[json!({ "type": "text", "text": text })])?,
            None => self.write_content(map, revision)?,
        }
        if let Some(structured) = &self.structured
            && revision.has_structured_content()
            && (structured.get().starts_with('{') || revision.has_any_structured_content())
        {
            map.serialize_entry("structuredContent", structured)?;
        }
        if self.is_error {
            map.serialize_entry("isError", &true)?;
        }
        write_extra(map, &self.extra, OWN)
    }

    fn extra(&self) -> Option<&RawObject> {
        Some(&self.extra)
    }

    fn is_tool_error(&self) -> bool {
        self.is_error
    }

    fn size_hint(&self) -> usize {
        let texts: usize = self.blocks.iter().map(Block::text_bytes).sum();
        texts + self.structured().map_or(0, |structured| structured.get().len())
    }
}

/// Writes a result in the newest revision with sessions, for `plugport call --json`.
///
/// # Errors
/// When a part is invalid, with the tool's mistake.
pub fn tool_result_json(result: &ToolResult, granted: &UiGrant) -> Result<String, String> {
    as_text(&ResultView::new(result, granted)?)
}

/// Writes the error text of a failed call in the same form.
#[must_use]
pub fn tool_error_json(text: String) -> String {
    as_text(&ResultView::error(text)).unwrap_or_default()
}

fn as_text(view: &ResultView<'_>) -> Result<String, String> {
    let result =
        EncodedResult::new(view, Revision::V2025_11_25, RawValue::NULL).map_err(|error| error.message)?;
    String::from_utf8(result.as_json().to_vec()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::{Content, ContentData};

    #[test]
    fn structured_content_that_comes_alone_is_said_in_text_too() {
        let result = |content| ToolResult {
            content,
            structured: Some(r#"{"a": 1}"#.to_owned()),
            is_error: false,
            extra: None,
        };
        let alone = tool_result_json(&result(Vec::new()), &UiGrant::default()).unwrap();
        assert_eq!(
            alone,
            r#"{"content":[{"type":"text","text":"{\"a\": 1}"}],"structuredContent":{"a": 1}}"#
        );
        let text = Content { data: ContentData::Text("x".into()), annotations: None, extra: None };
        let both = tool_result_json(&result(vec![text]), &UiGrant::default()).unwrap();
        assert_eq!(both, r#"{"content":[{"type":"text","text":"x"}],"structuredContent":{"a": 1}}"#);
    }
}
