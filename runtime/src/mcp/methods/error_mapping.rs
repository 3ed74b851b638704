//! Maps the error of a failed call to the response.
//!
//! An error that a model can act on becomes a tool result with `isError`, one sentence long. A mistake of the client
//! program becomes a JSON-RPC error. Backtraces go only to the log.

use crate::plugin::{CallError, GuestError, GuestRpcError};

use super::super::error::RpcError;
use super::super::revision::Revision;

/// The response to a failed call.
#[derive(Debug)]
pub(super) enum MappedError {
    /// A tool result with `isError`.
    ToolResult(String),
    /// An error response.
    Rpc(RpcError),
}

/// The codes that a guest may send, of those that JSON-RPC and MCP reserve.
const GUEST_CODES: [i32; 2] = [-32602, -32603];

/// Maps the error of a tool.
pub(super) fn map_tool_error(failure: CallError, tool: &str, revision: Revision) -> MappedError {
    let error = match failure {
        CallError::Guest(error) => error,
        other => return MappedError::ToolResult(other.to_string()),
    };
    match error {
        // The tool's own name means that the tool does not exist; any other name is something that the tool did not
        // find.
        GuestError::NotFound(name) if tool.ends_with(&name) => MappedError::Rpc(RpcError::unknown_tool(tool)),
        GuestError::MissingCapability(name) if revision.is_stateless() => {
            MappedError::Rpc(RpcError::missing_capability(&name))
        }
        GuestError::Rpc(rpc) => MappedError::Rpc(guest_error(rpc)),
        other => MappedError::ToolResult(other.in_words()),
    }
}

/// Maps the error of a prompt, resource or completion (`what`). No model reads the response, so every failure becomes
/// an error response. `not_found` makes the error for an item that the plugin does not have.
pub(super) fn map_error(
    failure: CallError,
    revision: Revision,
    what: &str,
    not_found: impl FnOnce() -> RpcError,
) -> RpcError {
    let error = match failure {
        CallError::Guest(error) => error,
        other => return RpcError::internal(&other.describe(what)),
    };
    match error {
        GuestError::NotFound(_) => not_found(),
        GuestError::InvalidParams(text) => RpcError::invalid_params(&text),
        GuestError::MissingCapability(name) if revision.is_stateless() => RpcError::missing_capability(&name),
        GuestError::Rpc(rpc) => guest_error(rpc),
        other => RpcError::internal(&other.in_words()),
    }
}

/// Returns a guest's own error; a reserved code is replaced by -32603.
fn guest_error(rpc: GuestRpcError) -> RpcError {
    let reserved = (-32768..=-32000).contains(&rpc.code) && !GUEST_CODES.contains(&rpc.code);
    let code = if reserved { -32603 } else { rpc.code };
    let data = rpc.data.and_then(|data| serde_json::from_str(&data).ok());
    RpcError::of_guest(code, rpc.message, data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::LimitHit;

    fn tool_error(failure: CallError) -> String {
        match map_tool_error(failure, "p-t", Revision::V2026_07_28) {
            MappedError::ToolResult(text) => text,
            MappedError::Rpc(error) => panic!("{error:?}"),
        }
    }

    fn rpc_code(error: GuestError) -> i64 {
        match map_tool_error(CallError::Guest(error), "p-t", Revision::V2026_07_28) {
            MappedError::Rpc(error) => error.code,
            MappedError::ToolResult(text) => panic!("{text}"),
        }
    }

    #[test]
    fn what_a_model_can_act_on_is_a_sentence() {
        let limit = LimitHit { name: "fuel", value: 5 };
        assert_eq!(
            tool_error(CallError::Limit(limit)),
            "the tool was stopped: it used up its 5 units of fuel (limit `fuel`)"
        );
        assert!(
            tool_error(CallError::Trapped("it panicked or aborted"))
                .starts_with("the tool trapped: it panicked")
        );
        assert!(
            tool_error(CallError::Replaced).ends_with("(setting [server] `drain_s`); list the tools again")
        );
        assert!(CallError::Replaced.describe("prompt").ends_with("list the prompts again"));
        assert!(CallError::Replaced.describe("completion").ends_with("list what there is again"));
        assert!(
            tool_error(CallError::Full).ends_with("try again later, and ask for less if that does not help")
        );
        assert!(!tool_error(CallError::Host("/secret/path".into())).contains("secret"));
        assert_eq!(tool_error(CallError::Guest(GuestError::Internal("no".into()))), "no");
        assert_eq!(tool_error(CallError::Guest(GuestError::NotFound("note x".into()))), "not found: note x");
        assert_eq!(
            tool_error(CallError::Guest(GuestError::InvalidParams("x".into()))),
            "invalid arguments: x"
        );
    }

    #[test]
    fn what_a_program_got_wrong_is_an_error_response() {
        assert_eq!(rpc_code(GuestError::NotFound("t".into())), -32602);
        assert_eq!(rpc_code(GuestError::MissingCapability("sampling".into())), -32021);
        let own = GuestRpcError { code: -5, message: "m".into(), data: Some("{".into()) };
        assert_eq!(rpc_code(GuestError::Rpc(own)), -5);
        let forged = GuestRpcError { code: -32022, message: "m".into(), data: None };
        assert_eq!(rpc_code(GuestError::Rpc(forged)), -32603);
        let older = CallError::Guest(GuestError::MissingCapability("sampling".into()));
        assert!(matches!(map_tool_error(older, "p-t", Revision::V2025_11_25), MappedError::ToolResult(_)));
    }

    #[test]
    fn without_a_tool_every_failure_is_an_error_response() {
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
