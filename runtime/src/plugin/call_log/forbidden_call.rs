//! A call that its caller may not make, as the audit has it.
//!
//! The layer `mcp` decides and responds. A forbidden call never reaches the plugin, so it has no audit record of its
//! own. A caller may try in a loop, so lines are counted as those of other rejected calls are, and apart from them: a
//! flood of one kind does not hide the other.

use serde::Serialize;

use crate::call_env::Caller;

/// A call, or another use of an item, that roles, scopes or conditions on arguments forbid.
#[derive(Debug)]
pub(crate) struct ForbiddenCall<'a> {
    /// The method of MCP.
    pub(crate) function: &'static str,
    /// The plugin's own name of the item. For a URI that no plugin lists this is its template: callers invent URIs.
    pub(crate) name: &'a str,
    /// Who tried.
    pub(crate) caller: &'a Caller,
    /// Why that caller may not.
    pub(crate) reason: ForbiddenReason,
    /// Bytes of the arguments.
    pub(crate) bytes_in: usize,
}

/// Why a caller may not make a call. All texts are the operator's, so there are not more of them than in the
/// configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub(crate) enum ForbiddenReason {
    /// For this caller the item does not exist.
    Hidden,
    /// The token lacks some of these.
    Scopes {
        /// All scopes that the item needs.
        scopes: String,
    },
    /// A condition on an argument does not hold.
    Argument {
        /// The pointer to the argument.
        argument: String,
        /// The role with the condition.
        role: String,
        /// The line of the condition.
        line: usize,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::call_line::CallOutcome;
    use super::*;

    #[test]
    fn a_line_says_why_the_call_is_forbidden() {
        let written = |reason| serde_json::to_value(CallOutcome::Forbidden(reason)).unwrap();
        assert_eq!(written(ForbiddenReason::Hidden), json!({ "outcome": "forbidden", "reason": "hidden" }));
        let scopes = ForbiddenReason::Scopes { scopes: "a b".to_owned() };
        assert_eq!(written(scopes), json!({ "outcome": "forbidden", "reason": "scopes", "scopes": "a b" }));
        let (argument, role) = ("/path".to_owned(), "some".to_owned());
        assert_eq!(
            written(ForbiddenReason::Argument { argument, role, line: 7 }),
            json!({ "outcome": "forbidden", "reason": "argument", "argument": "/path", "role": "some", "line": 7 })
        );
    }
}
