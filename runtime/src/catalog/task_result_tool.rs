//! The tool with which a client that knows no tasks waits for the result of a call that has become one.
//!
//! The server answers it, without an instance. It is an item of the plugin whose calls it waits for, so roles, scopes,
//! name conflicts, rates and the audit hold for it without rules of their own. It is no part of the plugin's
//! listing, so an approval says nothing of it.

use crate::config::fixed_limits::TASK_RESULT_S;
use crate::plugin::{Tool, ToolAnnotations};

/// Its name, without the prefix of its plugin.
pub(super) const NAME: &str = "task_result";

const ARGUMENTS: &str = concat!(
    r#"{"type":"object","properties":{"#,
    r#""taskId":{"type":"string","description":"The id of the task, as the call was answered."},"#,
    r#""cancel":{"type":"boolean","description":"Stop the call instead of waiting for it."}},"#,
    r#""required":["taskId"],"additionalProperties":false}"#
);

/// The tool, as a plugin would describe it.
pub(super) fn descriptor() -> Tool {
    let description = format!(
        "Get the result of an earlier call that was answered with the id of a task. Waits for {TASK_RESULT_S} \
         seconds; if the call takes longer, use this tool again with the same id."
    );
    // Waiting changes nothing, and only the caller's own call can be cancelled.
    let annotations = ToolAnnotations {
        read_only: Some(true),
        destructive: Some(false),
        idempotent: Some(true),
        open_world: Some(false),
    };
    Tool {
        name: NAME.to_owned(),
        title: Some("Result of a task".to_owned()),
        description: Some(description),
        input_schema: ARGUMENTS.to_owned(),
        output_schema: None,
        annotations: Some(annotations),
        extra: Some(r#"{"execution":{"taskSupport":"forbidden"}}"#.to_owned()),
    }
}
