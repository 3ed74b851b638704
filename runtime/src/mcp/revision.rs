//! The five revisions of MCP and their differences. No other file compares revisions.

use std::fmt;

/// A published revision. Later revisions are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// HTTP+SSE and stdio.
    V2024_11_05,
    /// Streamable HTTP, tool annotations, audio.
    V2025_03_26,
    /// Structured content, titles, links to resources, elicitation.
    V2025_06_18,
    /// Icons, URL elicitation, sampling with tools.
    V2025_11_25,
    /// Stateless: no sessions and no handshake; every request describes its client.
    V2026_07_28,
}

impl Revision {
    /// All revisions, newest first, as `server/discover` lists them.
    pub const ALL: [Self; 5] =
        [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26, Self::V2024_11_05];

    /// The newest revision that has sessions.
    const NEWEST_WITH_SESSIONS: Self = Self::V2025_11_25;

    /// The name in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns the revision with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == name)
    }

    /// Returns the revision for an `initialize`: the requested one if it has sessions, and otherwise the newest that
    /// has.
    #[must_use]
    pub fn negotiate(requested: &str) -> Self {
        Self::parse(requested)
            .filter(|revision| !revision.is_stateless())
            .unwrap_or(Self::NEWEST_WITH_SESSIONS)
    }

    /// Every request is complete in itself; there are no sessions.
    #[must_use]
    pub fn is_stateless(self) -> bool {
        self >= Self::V2026_07_28
    }

    pub(super) fn has_annotations(self) -> bool {
        self >= Self::V2025_03_26
    }

    pub(super) fn has_audio(self) -> bool {
        self >= Self::V2025_03_26
    }

    pub(super) fn has_progress_message(self) -> bool {
        self >= Self::V2025_03_26
    }

    pub(super) fn has_titles(self) -> bool {
        self >= Self::V2025_06_18
    }

    pub(super) fn has_structured_content(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Structured content may be any JSON value and not only an object.
    pub(super) fn has_any_structured_content(self) -> bool {
        self >= Self::V2026_07_28
    }

    pub(super) fn has_elicitation(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// A form may have titled choices and lists of choices, and states its mode.
    pub(super) fn has_rich_forms(self) -> bool {
        self >= Self::V2025_11_25
    }

    pub(super) fn has_url_elicitation(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// An elicitation that opens a URL has its own identifier.
    pub(super) fn has_elicitation_id(self) -> bool {
        self == Self::V2025_11_25
    }

    /// Sampling with tools, and with several blocks in one message.
    pub(super) fn has_sampling_tools(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Several messages in one array. Accepted in the first revision too, whose JSON-RPC did not exclude them.
    pub(super) fn has_batches(self) -> bool {
        self <= Self::V2025_03_26
    }

    /// A stream begins with an event that has only an id, so that the stream can be resumed from its start.
    pub(crate) fn has_priming_events(self) -> bool {
        self >= Self::V2025_11_25
    }

    pub(super) fn has_completions_capability(self) -> bool {
        self >= Self::V2025_03_26
    }

    pub(super) fn has_last_modified(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// `_meta` on items and content, not only on results.
    pub(super) fn has_item_meta(self) -> bool {
        self >= Self::V2025_06_18
    }

    pub(super) fn has_icons(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// The extension Tasks, of which the core of the revision before has another form.
    pub(super) fn has_tasks_extension(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// `execution` on tools, which exists only in the revision with tasks in its core.
    pub(super) fn has_execution(self) -> bool {
        self.has_core_tasks()
    }

    /// Experimental tasks, which a client asks for with the call.
    pub(super) fn has_core_tasks(self) -> bool {
        self == Self::V2025_11_25
    }

    /// The field `extensions` in capabilities. Clients of the newest revision with sessions know it too.
    pub(super) fn has_extensions(self) -> bool {
        self >= Self::V2025_11_25
    }

    pub(super) fn has_resource_links(self) -> bool {
        self >= Self::V2025_06_18
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_what_it_asks_for_or_the_newest_with_sessions() {
        for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            assert_eq!(Revision::negotiate(revision).as_str(), revision);
        }
        for unknown in ["2026-07-28", "2030-01-01", "1.0", ""] {
            assert_eq!(Revision::negotiate(unknown).as_str(), "2025-11-25");
        }
    }
}
