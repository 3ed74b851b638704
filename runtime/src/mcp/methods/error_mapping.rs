//! What a client hears when a call has no result: one table.
//!
//! What a model can act on is a tool result with `isError`, one sentence long; what the calling program got wrong is a
//! JSON-RPC error. Backtraces are neither: they are in the log.

use crate::plugin::{CallError, GuestError, GuestRpcError};

use super::super::error::RpcError;
use super::super::revision::Revision;

/// How a failed call is answered.
#[derive(Debug)]
pub(super) enum MappedError {
    /// A tool result with `isError`.
    ToolResult(String),
    /// An error response.
    Rpc(RpcError),
}

/// Codes that a guest may send as they are, of those that JSON-RPC and MCP reserve.
const OPEN_CODES: [i32; 2] = [-32602, -32603];

/// The table.
pub(super) fn map_tool_error(failure: CallError, tool: &str, revision: Revision) -> MappedError {
    let error = match failure {
        CallError::Guest(error) => error,
        other => return MappedError::ToolResult(other.to_string()),
    };
    match error {
        // The tool itself is meant when it is what is named; anything else is something that the tool looked for.
        GuestError::NotFound(name) if tool.ends_with(&name) => MappedError::Rpc(RpcError::unknown_tool(tool)),
        GuestError::MissingCapability(name) if revision.is_stateless() => {
            MappedError::Rpc(RpcError::missing_capability(&name))
        }
        GuestError::Rpc(rpc) => MappedError::Rpc(passed_on(rpc)),
        other => MappedError::ToolResult(other.in_words()),
    }
}

/// The table for what is not a tool: no model reads the answer, so every failure of a `what` is an error response.
/// `absent` is the error of something that the plugin does not have after all.
pub(super) fn map_error(
    failure: CallError,
    revision: Revision,
    what: &str,
    absent: impl FnOnce() -> RpcError,
) -> RpcError {
    let error = match failure {
        CallError::Guest(error) => error,
        other => return RpcError::internal(&other.describe(what)),
    };
    match error {
        GuestError::NotFound(_) => absent(),
        GuestError::InvalidParams(text) => RpcError::invalid_params(&text),
        GuestError::MissingCapability(name) if revision.is_stateless() => RpcError::missing_capability(&name),
        GuestError::Rpc(rpc) => passed_on(rpc),
        other => RpcError::internal(&other.in_words()),
    }
}

/// A guest's own error, as far as it may be sent as it is.
fn passed_on(rpc: GuestRpcError) -> RpcError {
    let reserved = (-32768..=-32000).contains(&rpc.code) && !OPEN_CODES.contains(&rpc.code);
    let code = if reserved { -32603 } else { rpc.code };
    let data = rpc.data.and_then(|data| serde_json::from_str(&data).ok());
    RpcError::of_guest(code, rpc.message, data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::LimitHit;

    fn told(failure: CallError) -> String {
        match map_tool_error(failure, "p-t", Revision::V2026_07_28) {
            MappedError::ToolResult(text) => text,
            MappedError::Rpc(error) => panic!("{error:?}"),
        }
    }

    fn refused(error: GuestError) -> i64 {
        match map_tool_error(CallError::Guest(error), "p-t", Revision::V2026_07_28) {
            MappedError::Rpc(error) => error.code,
            MappedError::ToolResult(text) => panic!("{text}"),
        }
    }

    #[test]
    fn what_a_model_can_act_on_is_a_sentence() {
        let limit = LimitHit { name: "fuel", value: 5 };
        assert_eq!(
            told(CallError::Limit(limit)),
            "the tool was stopped: it used up its 5 units of fuel (limit `fuel`)"
        );
        assert!(
            told(CallError::Trapped("it panicked or aborted")).starts_with("the tool trapped: it panicked")
        );
        assert!(told(CallError::Replaced).ends_with("(setting [server] `drain_s`); list the tools again"));
        assert!(CallError::Replaced.describe("prompt").ends_with("list the prompts again"));
        assert!(CallError::Replaced.describe("completion").ends_with("list what there is again"));
        assert!(told(CallError::Full).ends_with("try again later, and ask for less if that does not help"));
        assert!(!told(CallError::Host("/secret/path".into())).contains("secret"));
        assert_eq!(told(CallError::Guest(GuestError::Internal("no".into()))), "no");
        assert_eq!(told(CallError::Guest(GuestError::NotFound("note x".into()))), "not found: note x");
        assert_eq!(told(CallError::Guest(GuestError::InvalidParams("x".into()))), "invalid arguments: x");
    }

    #[test]
    fn what_a_program_got_wrong_is_an_error_response() {
        assert_eq!(refused(GuestError::NotFound("t".into())), -32602);
        assert_eq!(refused(GuestError::MissingCapability("sampling".into())), -32021);
        let own = GuestRpcError { code: -5, message: "m".into(), data: Some("{".into()) };
        assert_eq!(refused(GuestError::Rpc(own)), -5);
        let forged = GuestRpcError { code: -32022, message: "m".into(), data: None };
        assert_eq!(refused(GuestError::Rpc(forged)), -32603);
        let older = CallError::Guest(GuestError::MissingCapability("sampling".into()));
        assert!(matches!(map_tool_error(older, "p-t", Revision::V2025_11_25), MappedError::ToolResult(_)));
    }

    #[test]
    fn what_is_not_a_tool_is_refused_in_every_case() {
        let code = |failure, revision| {
            map_error(failure, revision, "resource", || RpcError::resource_not_found("n:a", revision)).code
        };
        let guest = |error| CallError::Guest(error);
        let (old, new) = (Revision::V2025_11_25, Revision::V2026_07_28);
        assert_eq!(code(guest(GuestError::NotFound("x".into())), old), -32002);
        assert_eq!(code(guest(GuestError::NotFound("x".into())), new), -32602);
        assert_eq!(code(guest(GuestError::InvalidParams("x".into())), new), -32602);
        assert_eq!(code(guest(GuestError::MissingCapability("roots".into())), new), -32021);
        assert_eq!(code(guest(GuestError::MissingCapability("roots".into())), old), -32603);
        assert_eq!(code(guest(GuestError::Denied("x".into())), new), -32603);
        let trapped = CallError::Trapped("it panicked or aborted");
        let error = map_error(trapped, new, "prompt", || RpcError::unknown_prompt("p"));
        assert!(error.message.contains("the prompt trapped"), "{}", error.message);
    }
}
