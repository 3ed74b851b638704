//! Writes the records of plugins as MCP JSON for each revision.
//!
//! Schemas, structured content and additional fields are copied unchanged. Only fields and content that a revision
//! lacks are omitted or written differently.

mod annotations;
mod cache_scope;
mod completion;
mod content;
mod extension_fields;
mod list;
mod prompt;
mod resource;
mod shipped_file;
mod tool;
mod tool_result;

pub(super) use cache_scope::CacheScope;
pub(super) use completion::CompletionView;
pub(super) use list::{ItemViews, ListItem};
pub(super) use prompt::PromptView;
pub(super) use resource::ReadView;
pub(super) use shipped_file::{ChildrenView, DirectoryChild, FileView, SkillView, write_caching};
pub(super) use tool_result::ResultView;
pub use tool_result::{tool_error_json, tool_result_json};
