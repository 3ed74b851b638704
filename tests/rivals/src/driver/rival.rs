//! The servers, and what each cannot do.

use super::case::{Case, Transport};
use crate::plan::{Revision, Task};

/// Which tools a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolSet {
    /// echo, work, narrate and sample.
    Tasks,
    /// This many echoes.
    Echoes(usize),
}

impl ToolSet {
    /// As the servers' last argument; 0 means the four tools.
    pub fn count(self) -> usize {
        match self {
            Self::Tasks => 0,
            Self::Echoes(count) => count,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rival {
    Bare,
    Rmcp,
    Fresh,
    Reused,
    FastMcp,
    TypeScript,
    Act,
    Wassette,
    HyperMcp,
}

pub const RIVALS: [Rival; 9] = [
    Rival::Bare,
    Rival::Rmcp,
    Rival::Fresh,
    Rival::Reused,
    Rival::FastMcp,
    Rival::TypeScript,
    Rival::Act,
    Rival::Wassette,
    Rival::HyperMcp,
];

impl Rival {
    pub fn title(self) -> &'static str {
        match self {
            Self::Bare => "bare axum",
            Self::Rmcp => "rmcp native",
            Self::Fresh => "Plugport",
            Self::Reused => "Plugport, reused",
            Self::FastMcp => "fastmcp",
            Self::TypeScript => "TypeScript SDK",
            Self::Act => "ACT",
            Self::Wassette => "Wassette",
            Self::HyperMcp => "hyper-mcp",
        }
    }

    pub fn is_plugport(self) -> bool {
        matches!(self, Self::Fresh | Self::Reused)
    }

    /// Whether tables without this server are complete: not every machine can have it.
    pub fn is_optional(self) -> bool {
        matches!(self, Self::Wassette | Self::HyperMcp)
    }

    pub fn serves_http(self) -> bool {
        self != Self::HyperMcp
    }

    /// Whether it has such tools. The guests of other servers only echo.
    pub fn has(self, tool_set: ToolSet) -> bool {
        tool_set == ToolSet::Tasks || !matches!(self, Self::Act | Self::Wassette | Self::HyperMcp)
    }

    /// Why a case has no figure of this server.
    pub fn cannot(self, case: Case) -> Option<&'static str> {
        match (self, case.task, case.revision, case.transport) {
            (Self::Bare, _, _, Transport::Stdio) => Some("the bare handler serves HTTP only"),
            (Self::Bare, Task::Sample, Revision::Session, _) => Some("the bare handler sends no requests"),
            (Self::HyperMcp, _, _, Transport::Http) => Some("hyper-mcp serves stdio only"),
            (Self::HyperMcp, _, Revision::Stateless, _) => Some("hyper-mcp does not know 2026-07-28"),
            (
                Self::Act | Self::Wassette | Self::HyperMcp,
                Task::Work | Task::Narrate | Task::Sample | Task::List(_),
                ..,
            ) => Some("the guest of this server only echoes"),
            (Self::Reused, Task::List(_), ..) => Some("listing never reuses an instance"),
            (Self::FastMcp, Task::Work, ..) => Some("the loop takes half a second in Python"),
            (Self::FastMcp, Task::Narrate, ..) | (Self::TypeScript, Task::Narrate, Revision::Session, _) => {
                Some("answers in JSON, and then sends no notifications")
            }
            (Self::FastMcp | Self::TypeScript, Task::Sample, ..) => {
                Some("the script of this server does not sample")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::case;

    #[test]
    fn a_server_is_measured_with_tools_that_it_has() {
        for case in case::all() {
            for rival in RIVALS {
                assert!(
                    rival.cannot(case).is_some() || rival.has(case.tool_set()),
                    "{}, {case}",
                    rival.title()
                );
            }
        }
    }
}
