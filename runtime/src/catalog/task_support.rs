//! What a tool says about tasks: `execution.taskSupport` of 2025-11-25, among its further fields.
//!
//! The server obeys it for clients of every revision that has tasks.

use serde::Deserialize;

use crate::json::RawObject;

/// Whether calls of a tool become tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskSupport {
    /// Never.
    Forbidden,
    /// If they take long. So it is for tools that say nothing, which the server makes tasks of.
    #[default]
    Optional,
    /// Always; a client without tasks cannot call the tool, unless its revision had none.
    Required,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Execution {
    task_support: Option<TaskSupport>,
}

impl TaskSupport {
    /// Reads the further fields of a tool. What is malformed says nothing.
    pub(super) fn of(extra: &RawObject) -> Self {
        let execution = extra.get("execution").map(|execution| serde_json::from_str(execution.get()));
        let execution: Execution = execution.and_then(Result::ok).unwrap_or_default();
        execution.task_support.unwrap_or_default()
    }

    /// The word of MCP.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Optional => "optional",
            Self::Required => "required",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_is_optional() {
        let of = |text: &str| TaskSupport::of(&RawObject::parse(text).unwrap());
        assert_eq!(of(r#"{"execution":{"taskSupport":"forbidden"}}"#), TaskSupport::Forbidden);
        assert_eq!(of(r#"{"execution":{"taskSupport":"required","x":1}}"#), TaskSupport::Required);
        for odd in
            ["{}", r#"{"execution":5}"#, r#"{"execution":{}}"#, r#"{"execution":{"taskSupport":"maybe"}}"#]
        {
            assert_eq!(of(odd), TaskSupport::Optional, "{odd}");
        }
    }
}
