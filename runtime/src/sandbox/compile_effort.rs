//! How much time compiling may take. `serve` knows only one answer; `plugport dev` also has another.

use std::borrow::Cow;

use crate::config::{Limits, MAX_STACK_KIB, ServerConfig};

/// How much larger quick code may be.
const QUICK_SIZE: u64 = 4;

/// How much larger its stack is: quick code keeps nearly every value of a function there, and the functions of an
/// interpreter have thousands.
const QUICK_STACK: u64 = 16;

/// How much time the compiler takes for good code. The code runs with the same fuel and the same checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CompileEffort {
    /// For code that is served.
    #[default]
    Full,
    /// For code that `plugport dev` replaces soon: made in a third of the time, and slower.
    Quick,
}

impl CompileEffort {
    /// The digest under which code is stored: quick code must never be found by a server that wants the other.
    pub(super) fn name(self, digest: &str) -> Cow<'_, str> {
        match self {
            Self::Full => Cow::Borrowed(digest),
            Self::Quick => Cow::Owned(format!("quick {digest}")),
        }
    }

    /// The efforts whose cached code is good enough, the best first.
    pub(super) fn sufficient(self) -> &'static [Self] {
        match self {
            Self::Full => &[Self::Full],
            Self::Quick => &[Self::Full, Self::Quick],
        }
    }

    /// The settings of a server that runs code of this effort.
    pub fn settings(self, settings: ServerConfig) -> ServerConfig {
        match self {
            Self::Full => settings,
            Self::Quick => {
                let stack_kib = settings.stack_kib.saturating_mul(QUICK_STACK).min(MAX_STACK_KIB);
                ServerConfig { stack_kib, ..settings }
            }
        }
    }

    /// The limits for code of this effort: quick code is larger, and the other has to be within the limit.
    pub(super) fn limits(self, limits: &Limits) -> Cow<'_, Limits> {
        match self {
            Self::Full => Cow::Borrowed(limits),
            Self::Quick => {
                Cow::Owned(Limits { code_mib: limits.code_mib.saturating_mul(QUICK_SIZE), ..limits.clone() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_code_has_more_stack_up_to_the_most_that_may_be_configured() {
        let stack = |effort: CompileEffort, stack_kib| {
            effort.settings(ServerConfig { stack_kib, ..ServerConfig::default() }).stack_kib
        };
        assert_eq!([64, 512, 8_192].map(|kib| stack(CompileEffort::Full, kib)), [64, 512, 8_192]);
        assert_eq!([64, 512, 8_192].map(|kib| stack(CompileEffort::Quick, kib)), [1_024, 8_192, 8_192]);
    }
}
