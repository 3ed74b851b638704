//! The names of role sets as one text, which the audit has for each call.
//!
//! Few sets are ever asked for, and each for every call, so a text is made once and shared.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::role_set::RoleSet;

/// Most sets whose text is shared. The text of another set is made each time.
const MAX_SETS: usize = 1_024;

/// The texts, by their sets.
#[derive(Debug, Default)]
pub(super) struct RoleNames(RwLock<HashMap<RoleSet, Arc<str>>>);

impl RoleNames {
    /// The text of a set, which `join` makes.
    pub(super) fn of(&self, roles: RoleSet, join: impl FnOnce() -> String) -> Arc<str> {
        if let Some(names) = self.0.read().get(&roles) {
            return Arc::clone(names);
        }
        let names: Arc<str> = join().into();
        let mut known = self.0.write();
        if known.len() < MAX_SETS {
            known.insert(roles, Arc::clone(&names));
        }
        names
    }
}
