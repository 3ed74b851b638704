//! Caches the roots of a session's client between calls, until the client says that they have changed.
//!
//! There may be many clients with many roots, so only the used part of a response is cached.

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::super::buffer_budget::{BufferReservation, BufferShare};
use crate::config::RootsGrant;

/// Maximum length of a URI that is used, in bytes: the upper bound of the limit `uri_bytes`.
const URI_BYTES: usize = 4_096;

#[derive(Default, Serialize, Deserialize)]
struct ListRootsResult {
    roots: Vec<Root>,
}

#[derive(Serialize, Deserialize)]
struct Root {
    uri: String,
}

/// Returns the used part of a `roots/list` result.
pub(crate) fn usable_roots(result: &str) -> String {
    let result: ListRootsResult = serde_json::from_str(result).unwrap_or_default();
    let roots = RootsGrant::first(result.roots).filter(|root| root.uri.len() <= URI_BYTES).collect();
    serde_json::to_string(&ListRootsResult { roots }).unwrap_or_default()
}

/// The cache of one session.
#[derive(Debug, Default)]
pub(crate) struct CachedRoots(Mutex<CachedState>);

#[derive(Debug, Default)]
struct CachedState {
    /// Counts how often the roots have changed.
    generation: u64,
    roots: Option<(String, BufferReservation)>,
}

impl CachedRoots {
    /// Returns how often the roots have changed, and the cached roots.
    pub(crate) fn get(&self) -> (u64, Option<String>) {
        let state = self.0.lock();
        (state.generation, state.roots.as_ref().map(|(roots, _)| roots.clone()))
    }

    /// Caches roots that were requested in this `generation`, with memory from `share`. Does nothing if the roots have
    /// changed since then, or if `share` has too few bytes left.
    pub(crate) fn store(&self, generation: u64, roots: &str, share: &BufferShare) {
        let reservation = share.reserve_long_lived(roots.len());
        let mut state = self.0.lock();
        if state.generation == generation {
            state.roots = reservation.map(|reservation| (roots.to_owned(), reservation));
        }
    }

    /// Empties the cache because the roots have changed.
    pub(crate) fn forget(&self) {
        let mut state = self.0.lock();
        *state = CachedState { generation: state.generation + 1, roots: None };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn of_a_long_response_only_the_used_part_is_cached() {
        let long = format!("file:///{}", "x".repeat(URI_BYTES));
        let roots: Vec<_> =
            (0..1_000).map(|n| json!({ "uri": format!("file:///{n}"), "name": long })).collect();
        let used: Value =
            serde_json::from_str(&usable_roots(&json!({ "roots": roots }).to_string())).unwrap();
        assert_eq!(used["roots"].as_array().unwrap().len(), 16);
        assert_eq!(used["roots"][15], json!({ "uri": "file:///15" }));
        let two = json!({ "roots": [{ "uri": long }, { "uri": "file:///a" }], "_meta": {} });
        assert_eq!(usable_roots(&two.to_string()), r#"{"roots":[{"uri":"file:///a"}]}"#);
        assert_eq!(usable_roots("{}"), r#"{"roots":[]}"#);
    }

    #[test]
    fn a_response_from_before_a_change_is_not_cached() {
        let share = crate::mcp::BufferBudget::new(1 << 20).share(&crate::call_env::Caller::Stdio);
        let roots = CachedRoots::default();
        let (generation, cached) = roots.get();
        assert_eq!(cached, None);
        roots.forget();
        roots.store(generation, "old", &share);
        assert_eq!(roots.get().1, None);
        roots.store(roots.get().0, "new", &share);
        assert_eq!(roots.get().1.as_deref(), Some("new"));
    }
}
