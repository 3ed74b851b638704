//! The roots of a session's client, remembered from one call to the next until the client says that they have changed.

use std::sync::{Mutex, PoisonError};

/// What is known of them.
#[derive(Debug, Default)]
pub(crate) struct KnownRoots(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// How often they have changed.
    times: u64,
    roots: Option<String>,
}

impl KnownRoots {
    /// How often they have changed, and what they are.
    pub(crate) fn known(&self) -> (u64, Option<String>) {
        self.with(|known| (known.times, known.roots.clone()))
    }

    /// Remembers an answer, unless they changed since it was asked for.
    pub(crate) fn keep(&self, times: u64, roots: &str) {
        self.with(|known| {
            if known.times == times {
                known.roots = Some(roots.to_owned());
            }
        });
    }

    /// They have changed.
    pub(crate) fn forget(&self) {
        self.with(|known| *known = Known { times: known.times + 1, roots: None });
    }

    fn with<T>(&self, act: impl FnOnce(&mut Known) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_from_before_a_change_is_not_kept() {
        let roots = KnownRoots::default();
        let (times, known) = roots.known();
        assert_eq!(known, None);
        roots.forget();
        roots.keep(times, "old");
        assert_eq!(roots.known().1, None);
        roots.keep(roots.known().0, "new");
        assert_eq!(roots.known().1.as_deref(), Some("new"));
    }
}
