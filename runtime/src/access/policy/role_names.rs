//! The names of the roles of a set as one text, which the audit writes for each call.
//!
//! Few different sets occur, each in many calls, so the text of a set is made once and shared.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::role_set::RoleSet;

/// Maximum number of sets whose text is shared. For other sets the text is made each time.
const MAX_SETS: usize = 1_024;

/// The texts by role set.
#[derive(Debug, Default)]
pub(super) struct RoleNames(RwLock<HashMap<RoleSet, Arc<str>>>);

impl RoleNames {
    /// Returns the text of a set, which `join` makes if it is not there yet.
    pub(super) fn of(&self, roles: RoleSet, join: impl FnOnce() -> String) -> Arc<str> {
        let known = self.0.read();
        if let Some(names) = known.get(&roles) {
            return Arc::clone(names);
        }
        let is_full = known.len() >= MAX_SETS;
        drop(known);
        let names: Arc<str> = join().into();
        // When the map is full, calls must not wait for each other's write lock.
        if is_full {
            return names;
        }
        let mut known = self.0.write();
        if known.len() < MAX_SETS {
            known.insert(roles, Arc::clone(&names));
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_made_once_for_as_many_sets_as_there_is_room_for() {
        let names = RoleNames::default();
        let set = |policy: usize| RoleSet::empty(policy as u64);
        for policy in 0..MAX_SETS {
            assert_eq!(&*names.of(set(policy), || policy.to_string()), policy.to_string());
        }
        assert_eq!(&*names.of(set(7), || "made again".to_owned()), "7");
        for text in ["other", "again"] {
            assert_eq!(&*names.of(set(MAX_SETS), || text.to_owned()), text, "it is made each time");
        }
        assert_eq!(names.0.read().len(), MAX_SETS);
    }
}
