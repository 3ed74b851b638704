//! Plugins' records as MCP JSON, revision by revision.
//!
//! Schemas, structured content and further fields are copied as they are; only what a revision does not have is left
//! out or said in another way.

mod content;
mod tool;
mod tool_result;

pub(super) use tool::ToolViews;
pub(super) use tool_result::ResultView;
pub use tool_result::{tool_error_json, tool_result_json};
