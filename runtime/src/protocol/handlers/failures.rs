//! What a client hears when a call has no result: one table.
//!
//! What a model can act on is a tool result with `isError`, one sentence long; what the calling program got wrong is a
//! JSON-RPC error. Backtraces are neither: they are in the log.

use crate::plugin::{CallFailure, GuestError};

use super::super::error::RpcError;

/// How a failed call is answered.
#[derive(Debug)]
pub(super) enum Answer {
    /// A tool result with `isError`.
    Told(String),
    /// An error response.
    Refused(RpcError),
}

/// The table.
pub(super) fn answer(failure: CallFailure, tool: &str) -> Answer {
    let error = match failure {
        CallFailure::Guest(error) => error,
        other => return Answer::Told(other.to_string()),
    };
    match error {
        GuestError::NotFound(_) => Answer::Refused(RpcError::unknown_tool(tool)),
        GuestError::MissingCapability(name) => Answer::Refused(RpcError::missing_capability(&name)),
        GuestError::Rpc(rpc) => {
            let data = rpc.data.and_then(|data| serde_json::from_str(&data).ok());
            Answer::Refused(RpcError::of_guest(rpc.code, rpc.message, data))
        }
        GuestError::InvalidParams(text) => Answer::Told(format!("invalid arguments: {text}")),
        GuestError::Internal(text) => Answer::Told(text),
        GuestError::Denied(text) => Answer::Told(format!("not allowed: {text}")),
        GuestError::OverBudget(text) => Answer::Told(format!("over budget: {text}")),
        GuestError::Rejected(text) => Answer::Told(format!("rejected: {text}")),
        GuestError::TimedOut => Answer::Told("the client did not answer in time".to_owned()),
        GuestError::Cancelled => Answer::Told("the call was cancelled".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::{GuestRpcError, Limit};

    fn told(failure: CallFailure) -> String {
        match answer(failure, "p-t") {
            Answer::Told(text) => text,
            Answer::Refused(error) => panic!("{error:?}"),
        }
    }

    fn refused(error: GuestError) -> i64 {
        match answer(CallFailure::Guest(error), "p-t") {
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
        assert!(!told(CallFailure::Host("/secret/path".into())).contains("secret"));
        assert_eq!(told(CallFailure::Guest(GuestError::Internal("no".into()))), "no");
        assert_eq!(told(CallFailure::Guest(GuestError::InvalidParams("x".into()))), "invalid arguments: x");
    }

    #[test]
    fn what_a_program_got_wrong_is_an_error_response() {
        assert_eq!(refused(GuestError::NotFound("t".into())), -32602);
        assert_eq!(refused(GuestError::MissingCapability("sampling".into())), -32021);
        let own = GuestRpcError { code: -5, message: "m".into(), data: Some("{".into()) };
        assert_eq!(refused(GuestError::Rpc(own)), -5);
    }
}
