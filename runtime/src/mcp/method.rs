//! The methods of MCP that this server supports. No other file of this layer lists them.

use super::error::{RpcError, cut};

/// How many bytes of an unknown method's name are stored.
const UNKNOWN_NAME_BYTES: usize = 128;

/// Maximum length of the parameters of a list, of a subscription to one resource, and of a log level, in bytes: a short
/// text and the client's `_meta`. Parameters of up to this length are parsed without offloading.
const SHORT_PARAMS: usize = 64 << 10;

/// Maximum length of the parameters of `subscriptions/listen`, in bytes: all URIs that one client may subscribe to,
/// escaped.
const LISTEN_PARAMS: usize = 256 << 10;

/// The label of all unknown methods in metrics.
const UNKNOWN_LABEL: &str = "_OTHER";

/// A request's method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Method {
    Initialize,
    Ping,
    Discover,
    SetLevel,
    ListTools,
    CallTool,
    Subscribe,
    Unsubscribe,
    Listen,
    ListResources,
    ListResourceTemplates,
    ReadResource,
    ListPrompts,
    GetPrompt,
    Complete,
    ListSkills,
    GetSkill,
    ReadDirectory,
    GetTask,
    UpdateTask,
    CancelTask,
    TaskResult,
    /// An unknown method, by its name.
    Unknown(String),
}

impl Method {
    pub(crate) fn parse(name: &str) -> Self {
        match name {
            "initialize" => Self::Initialize,
            "ping" => Self::Ping,
            "server/discover" => Self::Discover,
            "logging/setLevel" => Self::SetLevel,
            "tools/list" => Self::ListTools,
            "tools/call" => Self::CallTool,
            "resources/subscribe" => Self::Subscribe,
            "resources/unsubscribe" => Self::Unsubscribe,
            "subscriptions/listen" => Self::Listen,
            "resources/list" => Self::ListResources,
            "resources/templates/list" => Self::ListResourceTemplates,
            "resources/read" => Self::ReadResource,
            "prompts/list" => Self::ListPrompts,
            "prompts/get" => Self::GetPrompt,
            "completion/complete" => Self::Complete,
            "skills/list" => Self::ListSkills,
            "skills/get" => Self::GetSkill,
            "resources/directory/read" => Self::ReadDirectory,
            "tasks/get" => Self::GetTask,
            "tasks/update" => Self::UpdateTask,
            "tasks/cancel" => Self::CancelTask,
            "tasks/result" => Self::TaskResult,
            // The name is only used in an error for the client.
            other => Self::Unknown(cut(other, UNKNOWN_NAME_BYTES).to_owned()),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Initialize => "initialize",
            Self::Ping => "ping",
            Self::Discover => "server/discover",
            Self::SetLevel => "logging/setLevel",
            Self::ListTools => "tools/list",
            Self::CallTool => "tools/call",
            Self::Subscribe => "resources/subscribe",
            Self::Unsubscribe => "resources/unsubscribe",
            Self::Listen => "subscriptions/listen",
            Self::ListResources => "resources/list",
            Self::ListResourceTemplates => "resources/templates/list",
            Self::ReadResource => "resources/read",
            Self::ListPrompts => "prompts/list",
            Self::GetPrompt => "prompts/get",
            Self::Complete => "completion/complete",
            Self::ListSkills => "skills/list",
            Self::GetSkill => "skills/get",
            Self::ReadDirectory => "resources/directory/read",
            Self::GetTask => "tasks/get",
            Self::UpdateTask => "tasks/update",
            Self::CancelTask => "tasks/cancel",
            Self::TaskResult => "tasks/result",
            Self::Unknown(name) => name,
        }
    }

    /// All values of [`Self::label`].
    pub(super) const LABELS: [&'static str; 23] = [
        "initialize",
        "ping",
        "server/discover",
        "logging/setLevel",
        "tools/list",
        "tools/call",
        "resources/subscribe",
        "resources/unsubscribe",
        "subscriptions/listen",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "skills/list",
        "skills/get",
        "resources/directory/read",
        "tasks/get",
        "tasks/update",
        "tasks/cancel",
        "tasks/result",
        UNKNOWN_LABEL,
    ];

    /// The method's name as a label of a metric. All unknown methods have the same label.
    pub(super) fn label(&self) -> &'static str {
        Self::LABELS.into_iter().find(|label| *label == self.as_str()).unwrap_or(UNKNOWN_LABEL)
    }

    /// Rejects parameters before they are parsed if they are longer than this method allows.
    ///
    /// # Errors
    /// When the parameters are too long.
    pub(crate) fn check_length(&self, bytes: usize) -> Result<(), RpcError> {
        let max_bytes = match self {
            Self::SetLevel
            | Self::Subscribe
            | Self::Unsubscribe
            | Self::ListTools
            | Self::ListResources
            | Self::ListResourceTemplates
            | Self::ListPrompts
            | Self::ListSkills
            | Self::GetSkill
            | Self::ReadDirectory
            | Self::GetTask
            | Self::CancelTask
            | Self::TaskResult => SHORT_PARAMS,
            Self::Listen => LISTEN_PARAMS,
            _ => return Ok(()),
        };
        if bytes <= max_bytes {
            return Ok(());
        }
        let why = format!("`params` of `{}` have at most {} KiB", self.as_str(), max_bytes >> 10);
        Err(RpcError::invalid_params(&why))
    }

    /// Whether the result may be `input_required`. Only requests of these methods can be repeated with responses
    /// (2026-07-28, basic/patterns/mrtr).
    pub(crate) fn may_require_input(&self) -> bool {
        matches!(self, Self::CallTool | Self::GetPrompt | Self::ReadResource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_a_label_and_unknown_ones_share_theirs() {
        for label in Method::LABELS {
            let method = Method::parse(label);
            assert_eq!(method.label(), label);
            assert_eq!(matches!(method, Method::Unknown(_)), label == UNKNOWN_LABEL);
        }
        assert_eq!(Method::parse("x/y").label(), UNKNOWN_LABEL);
    }

    #[test]
    fn parameters_are_as_long_as_their_method_can_use() {
        let takes = |name: &str, params: usize| Method::parse(name).check_length(params).is_ok();
        for name in ["tools/list", "resources/subscribe", "resources/unsubscribe", "logging/setLevel"] {
            assert!(takes(name, SHORT_PARAMS) && !takes(name, SHORT_PARAMS + 1), "{name}");
        }
        assert!(takes("subscriptions/listen", LISTEN_PARAMS));
        assert_eq!(Method::Listen.check_length(LISTEN_PARAMS + 1).unwrap_err().code, -32602);
        assert!(takes("tools/call", usize::MAX));
    }
}
