//! The roots of a session's client, remembered from one call to the next until the client says that they have changed.
//!
//! A client may name a great many, and there may be many clients; so only what is used of an answer is remembered.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::super::buffer_budget::{BufferReservation, BufferShare};
use crate::config::RootsGrant;

/// Longest URI that is used, bytes: the most that `uri_bytes` can be.
const LONGEST: usize = 4_096;

#[derive(Default, Serialize, Deserialize)]
struct ListRootsResult {
    roots: Vec<Root>,
}

#[derive(Serialize, Deserialize)]
struct Root {
    uri: String,
}

/// What is used of a client's answer.
pub(crate) fn usable_roots(answer: &str) -> String {
    let listed: ListRootsResult = serde_json::from_str(answer).unwrap_or_default();
    let roots = RootsGrant::first(listed.roots).filter(|root| root.uri.len() <= LONGEST).collect();
    serde_json::to_string(&ListRootsResult { roots }).unwrap_or_default()
}

/// What is known of them.
#[derive(Debug, Default)]
pub(crate) struct CachedRoots(Mutex<CachedState>);

#[derive(Debug, Default)]
struct CachedState {
    /// How often they have changed.
    times: u64,
    roots: Option<(String, BufferReservation)>,
}

impl CachedRoots {
    /// How often they have changed, and what they are.
    pub(crate) fn known(&self) -> (u64, Option<String>) {
        self.with(|known| (known.times, known.roots.as_ref().map(|(roots, _)| roots.clone())))
    }

    /// Remembers a response, counted in `share`, unless the roots changed since it was requested or there is no room
    /// for it.
    pub(crate) fn store(&self, times: u64, roots: &str, share: &BufferShare) {
        let reservation = share.reserve_long_lived(roots.len());
        self.with(|known| {
            if known.times == times {
                known.roots = reservation.map(|reservation| (roots.to_owned(), reservation));
            }
        });
    }

    /// They have changed.
    pub(crate) fn forget(&self) {
        self.with(|known| *known = CachedState { times: known.times + 1, roots: None });
    }

    fn with<T>(&self, act: impl FnOnce(&mut CachedState) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn of_a_long_answer_only_what_is_used_is_kept() {
        let long = format!("file:///{}", "x".repeat(LONGEST));
        let roots: Vec<_> =
            (0..1_000).map(|n| json!({ "uri": format!("file:///{n}"), "name": long })).collect();
        let kept: Value =
            serde_json::from_str(&usable_roots(&json!({ "roots": roots }).to_string())).unwrap();
        assert_eq!(kept["roots"].as_array().unwrap().len(), 16);
        assert_eq!(kept["roots"][15], json!({ "uri": "file:///15" }));
        let two = json!({ "roots": [{ "uri": long }, { "uri": "file:///a" }], "_meta": {} });
        assert_eq!(usable_roots(&two.to_string()), r#"{"roots":[{"uri":"file:///a"}]}"#);
        assert_eq!(usable_roots("{}"), r#"{"roots":[]}"#);
    }

    #[test]
    fn an_answer_from_before_a_change_is_not_kept() {
        let share = crate::mcp::BufferBudget::new(1 << 20).share(&crate::host::Caller::Stdio);
        let roots = CachedRoots::default();
        let (times, known) = roots.known();
        assert_eq!(known, None);
        roots.forget();
        roots.store(times, "old", &share);
        assert_eq!(roots.known().1, None);
        roots.store(roots.known().0, "new", &share);
        assert_eq!(roots.known().1.as_deref(), Some("new"));
    }
}
