//! What a client hears when a call has no result: one table.
//!
//! What a model can act on is a tool result with `isError`, one sentence long; what the calling program got wrong is a
//! JSON-RPC error. Backtraces are neither: they are in the log.

use crate::plugin::{CallFailure, GuestError, GuestRpcError};

use super::super::error::RpcError;
use super::super::revision::Revision;

/// How a failed call is answered.
#[derive(Debug)]
pub(super) enum Answer {
    /// A tool result with `isError`.
    Told(String),
    /// An error response.
    Refused(RpcError),
}

/// Codes that a guest may send as they are, of those that JSON-RPC and MCP reserve.
const OPEN_CODES: [i32; 2] = [-32602, -32603];

/// The table.
pub(super) fn answer(failure: CallFailure, tool: &str, revision: Revision) -> Answer {
    let error = match failure {
        CallFailure::Guest(error) => error,
        other => return Answer::Told(other.to_string()),
    };
    match error {
        // The tool itself is meant when it is what is named; anything else is something that the tool looked for.
        GuestError::NotFound(name) if tool.ends_with(&name) => Answer::Refused(RpcError::unknown_tool(tool)),
        GuestError::MissingCapability(name) if revision.is_stateless() => {
            Answer::Refused(RpcError::missing_capability(&name))
        }
        GuestError::Rpc(rpc) => Answer::Refused(passed_on(rpc)),
        other => Answer::Told(other.in_words()),
    }
}

/// The table for what is not a tool: no model reads the answer, so every failure of a `what` is an error response.
/// `absent` is the error of something that the plugin does not have after all.
pub(super) fn refusal(
    failure: CallFailure,
    revision: Revision,
    what: &str,
    absent: impl FnOnce() -> RpcError,
) -> RpcError {
    let error = match failure {
        CallFailure::Guest(error) => error,
        other => return RpcError::internal(&other.of(what)),
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
    use crate::plugin::Limit;

    fn told(failure: CallFailure) -> String {
        match answer(failure, "p-t", Revision::V2026_07_28) {
            Answer::Told(text) => text,
            Answer::Refused(error) => panic!("{error:?}"),
        }
    }

    fn refused(error: GuestError) -> i64 {
        match answer(CallFailure::Guest(error), "p-t", Revision::V2026_07_28) {
            Answer::Refused(error) => error.code,
            Answer::Told(text) => panic!("{text}"),
        }
    }

    #[test]
    fn what_a_model_can_act_on_is_a_sentence() {
        let limit = Limit { name: "fuel", value: 5 };
        assert_eq!(
            told(CallFailure::Limit(limit)),
            "the tool was stopped: it used up its 5 units of fuel (limit `fuel`)"
        );
        assert!(
            told(CallFailure::Crashed("it panicked or aborted")).starts_with("the tool crashed: it panicked")
        );
        assert!(told(CallFailure::Replaced).ends_with("(setting [server] `drain_s`); list the tools again"));
        assert!(CallFailure::Replaced.of("prompt").ends_with("list the prompts again"));
        assert!(CallFailure::Replaced.of("completion").ends_with("list what there is again"));
        assert!(told(CallFailure::Full).ends_with("try again later, and ask for less if that does not help"));
        assert!(!told(CallFailure::Host("/secret/path".into())).contains("secret"));
        assert_eq!(told(CallFailure::Guest(GuestError::Internal("no".into()))), "no");
        assert_eq!(told(CallFailure::Guest(GuestError::NotFound("note x".into()))), "not found: note x");
        assert_eq!(told(CallFailure::Guest(GuestError::InvalidParams("x".into()))), "invalid arguments: x");
    }

    #[test]
    fn what_a_program_got_wrong_is_an_error_response() {
        assert_eq!(refused(GuestError::NotFound("t".into())), -32602);
        assert_eq!(refused(GuestError::MissingCapability("sampling".into())), -32021);
        let own = GuestRpcError { code: -5, message: "m".into(), data: Some("{".into()) };
        assert_eq!(refused(GuestError::Rpc(own)), -5);
        let forged = GuestRpcError { code: -32022, message: "m".into(), data: None };
        assert_eq!(refused(GuestError::Rpc(forged)), -32603);
        let older = CallFailure::Guest(GuestError::MissingCapability("sampling".into()));
        assert!(matches!(answer(older, "p-t", Revision::V2025_11_25), Answer::Told(_)));
    }

    #[test]
    fn what_is_not_a_tool_is_refused_in_every_case() {
        let code = |failure, revision| {
            refusal(failure, revision, "resource", || RpcError::resource_not_found("n:a", revision)).code
        };
        let guest = |error| CallFailure::Guest(error);
        let (old, new) = (Revision::V2025_11_25, Revision::V2026_07_28);
        assert_eq!(code(guest(GuestError::NotFound("x".into())), old), -32002);
        assert_eq!(code(guest(GuestError::NotFound("x".into())), new), -32602);
        assert_eq!(code(guest(GuestError::InvalidParams("x".into())), new), -32602);
        assert_eq!(code(guest(GuestError::MissingCapability("roots".into())), new), -32021);
        assert_eq!(code(guest(GuestError::MissingCapability("roots".into())), old), -32603);
        assert_eq!(code(guest(GuestError::Denied("x".into())), new), -32603);
        let crashed = CallFailure::Crashed("it panicked or aborted");
        let error = refusal(crashed, new, "prompt", || RpcError::unknown_prompt("p"));
        assert!(error.message.contains("the prompt crashed"), "{}", error.message);
    }
}
