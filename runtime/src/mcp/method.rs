//! The methods that this server answers, by name: the only list of them.

use super::error::{RpcError, cut};

/// What is kept of a name that is none of these, bytes.
const LONGEST: usize = 128;

/// Parameters of a list, a subscription to one resource or a level: a short text, and what a client sends along in
/// `_meta`. So much is read where it is.
const SHORT_PARAMS: usize = 64 << 10;

/// Parameters of `subscriptions/listen`: all URIs that one client may name, escaped.
const LISTEN_PARAMS: usize = 256 << 10;

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
    /// Anything else, by the name it came with.
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
            // Only its sender sees it again, in an error.
            other => Self::Unknown(cut(other, LONGEST).to_owned()),
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
            Self::Unknown(name) => name,
        }
    }

    /// Refuses parameters that are longer than any this method can use, before anybody reads them.
    ///
    /// # Errors
    /// When they are.
    pub(crate) fn check_length(&self, params: usize) -> Result<(), RpcError> {
        let most = match self {
            Self::SetLevel
            | Self::Subscribe
            | Self::Unsubscribe
            | Self::ListTools
            | Self::ListResources
            | Self::ListResourceTemplates
            | Self::ListPrompts => SHORT_PARAMS,
            Self::Listen => LISTEN_PARAMS,
            _ => return Ok(()),
        };
        if params <= most {
            return Ok(());
        }
        let why = format!("`params` of `{}` have at most {} KiB", self.as_str(), most >> 10);
        Err(RpcError::invalid_params(&why))
    }

    /// Whether its result may be `input_required`: only these requests can be repeated with responses (2026-07-28,
    /// basic/patterns/mrtr).
    pub(crate) fn may_require_input(&self) -> bool {
        matches!(self, Self::CallTool | Self::GetPrompt | Self::ReadResource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
