//! How much time compiling may take. `serve` knows only one answer; `plugport dev` also has another.

use std::borrow::Cow;

/// How much time the compiler takes for good code. The code runs in the same engine, with the same fuel and the same
/// checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// For code that is served.
    #[default]
    Full,
    /// For code that `plugport dev` replaces soon: made in a third of the time, and slower.
    Quick,
}

impl Effort {
    /// The digest under which code is stored: quick code must never be found by a server that wants the other.
    pub(super) fn name(self, digest: &str) -> Cow<'_, str> {
        match self {
            Self::Full => Cow::Borrowed(digest),
            Self::Quick => Cow::Owned(format!("quick {digest}")),
        }
    }
}
