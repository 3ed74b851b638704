//! What happens when a folder becomes strict while it is served: what was never compared is hidden at once, and not only when
//! it is looked into again.

use std::collections::HashSet;
use std::sync::Arc;

use crate::approval::ApprovalPolicy;
use crate::catalog::{Catalog, PluginEntry};

/// Takes out of the catalog what nobody has approved: whole plugins, and single items of others. What takes their place is
/// looked for afterwards. Gives the plugins that are gone.
pub(super) async fn hide_unapproved(
    catalog: Arc<Catalog>,
    approval: ApprovalPolicy,
) -> Vec<Arc<PluginEntry>> {
    let hiding = tokio::task::spawn_blocking(move || {
        // Before anyone who publishes has to wait: it may take a look at the disk.
        let approved: HashSet<_> = catalog
            .current()
            .entries()
            .iter()
            .filter(|entry| passes(entry, &approval))
            .map(version_id)
            .collect();
        let mut hidden = Vec::new();
        catalog.update(|current| {
            let (passing, unapproved): (Vec<_>, Vec<_>) =
                current.entries().iter().cloned().partition(|entry| approved.contains(&version_id(entry)));
            let judged =
                passing.iter().map(|entry| Arc::new((**entry).clone().check_approval(&approval).0)).collect();
            let gone: Vec<String> = unapproved.iter().map(|entry| entry.plugin.name().to_owned()).collect();
            hidden = unapproved;
            Some(current.changed(judged, &gone, Arc::clone(current.owners())))
        });
        hidden
    });
    hiding.await.unwrap_or_else(|_| {
        tracing::error!("what nobody has approved could not be taken away");
        Vec::new()
    })
}

fn passes(entry: &Arc<PluginEntry>, approval: &ApprovalPolicy) -> bool {
    let (plugin, grants) = (&entry.plugin, &entry.plugin.config().grants);
    approval.check_file(plugin.name(), plugin.digest(), grants).is_ok()
}

/// Which version of a plugin an entry is of. It stays while the entry is replaced by a newer listing.
fn version_id(entry: &Arc<PluginEntry>) -> usize {
    Arc::as_ptr(&entry.plugin).addr()
}
