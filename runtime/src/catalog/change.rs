//! What clients may want to hear of when the catalog changes.

use std::sync::Arc;

use super::snapshot::Snapshot;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of resources or that of resource templates.
    Resources,
    /// The list of prompts.
    Prompts,
    /// The contents of the resource with this URI.
    Updated(Arc<str>),
}

impl Change {
    /// The changes of lists.
    pub const LISTS: [Self; 3] = [Self::Tools, Self::Resources, Self::Prompts];

    /// The lists that look different to clients.
    pub(super) fn between(before: &Snapshot, after: &Snapshot) -> Vec<Self> {
        let resources = before.resources().id() != after.resources().id()
            || before.templates().id() != after.templates().id();
        [
            (Self::Tools, before.tools().id() != after.tools().id()),
            (Self::Resources, resources),
            (Self::Prompts, before.prompts().id() != after.prompts().id()),
        ]
        .into_iter()
        .filter_map(|(change, differs)| differs.then_some(change))
        .collect()
    }
}
