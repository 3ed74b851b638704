//! What one request sees of the catalog.

use std::sync::Arc;

use crate::catalog::{CallerView, Snapshot};

/// One request's view of the catalog. The transport's checks and the handler use the same snapshot.
#[derive(Debug)]
pub(crate) struct CatalogView {
    pub(crate) snapshot: Arc<Snapshot>,
    /// Whether the first load of the plugin folder had ended when the snapshot was taken.
    pub(crate) is_complete: bool,
    /// The policy and the caller's roles; `None` if every caller may use everything.
    pub(crate) access: Option<CallerView>,
}
