//! The methods that this server answers, by name: the only list of them.

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
            other => Self::Unknown(other.to_owned()),
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
            Self::Unknown(name) => name,
        }
    }

    /// Whether the `Mcp-Name` header repeats a parameter of it.
    pub(crate) fn has_name(&self) -> bool {
        matches!(self, Self::CallTool)
    }

    /// Whether its answer may be a question: only these requests can be repeated with answers (2026-07-28,
    /// basic/patterns/mrtr).
    pub(crate) fn may_ask(&self) -> bool {
        matches!(self.as_str(), "tools/call" | "prompts/get" | "resources/read")
    }
}
