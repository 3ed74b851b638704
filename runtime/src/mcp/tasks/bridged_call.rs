//! What a client that knows no tasks is told of a call that goes on: a plain result for its model.

use serde::ser::SerializeMap;
use serde_json::json;
use serde_json::value::RawValue;

use super::live_task::LiveTask;
use crate::config::fixed_limits::TASK_RESULT_S;
use crate::mcp::error::RpcError;
use crate::mcp::result_writer::{EncodedResult, ResultFields};
use crate::mcp::revision::Revision;
use crate::mcp::task_promotion::Promotion;

/// Says that the call still runs, and that `result_tool` waits for its result. `server` is the server's name for
/// `_meta`.
///
/// # Errors
/// As [`EncodedResult::new`].
pub(in crate::mcp) fn still_runs(
    live: &LiveTask,
    result_tool: &str,
    server: &RawValue,
) -> Result<EncodedResult, RpcError> {
    let context = &live.context;
    let message = context.promotion.as_ref().and_then(Promotion::message);
    let text = text(&live.head.name, &live.text, result_tool, message.as_deref());
    EncodedResult::new(&StillRuns(text), context.revision, server)
}

/// The result, which has only a text.
struct StillRuns(String);

impl ResultFields for StillRuns {
    fn write<M: SerializeMap>(&self, map: &mut M, _: Revision) -> Result<(), M::Error> {
        map.serialize_entry("content", &[json!({ "type": "text", "text": self.0 })])
    }
}

fn text(tool: &str, id: &str, result_tool: &str, message: Option<&str>) -> String {
    let said = message.map(|message| format!("\nIts last message: {message}")).unwrap_or_default();
    format!(
        "The tool `{tool}` still runs, as task {id}.{said}\nTo get its result, call the tool `{result_tool}` with \
         {{\"taskId\":\"{id}\"}}. It waits for {TASK_RESULT_S} seconds; call it again while the tool still runs."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_told_which_tool_to_call_and_with_what() {
        let text = text("a-build", "x", "a-task_result", Some("linking"));
        for expected in ["`a-build` still runs", "`a-task_result`", r#"{"taskId":"x"}"#, "message: linking\n"]
        {
            assert!(text.contains(expected), "{text}");
        }
        assert!(!super::text("a", "x", "b", None).contains("message"));
    }
}
