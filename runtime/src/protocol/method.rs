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
            Self::Unknown(name) => name,
        }
    }

    /// Whether the `Mcp-Name` header repeats a parameter of it.
    pub(crate) fn has_name(&self) -> bool {
        matches!(self, Self::CallTool)
    }
}
