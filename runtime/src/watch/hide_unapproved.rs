//! Hides plugins and items at once when approval becomes strict while the server runs, instead of when their files are
//! loaded again. Makes the snapshot; the publisher publishes it.

use std::sync::Arc;

use crate::approval::ApprovalPolicy;
use crate::catalog::{PluginEntry, Snapshot};

/// A snapshot without unapproved plugins and items, and the plugins that were removed.
pub(super) struct HiddenPlugins {
    pub(super) next: Snapshot,
    pub(super) gone: Vec<Arc<PluginEntry>>,
}

/// Hides unapproved plugins, and unapproved items of approved plugins. Their files are loaded again afterwards. May
/// read the disk, and does so on another thread.
pub(super) async fn hide_unapproved(
    current: Arc<Snapshot>,
    approval: ApprovalPolicy,
) -> Option<HiddenPlugins> {
    let hiding = tokio::task::spawn_blocking(move || {
        let entries = current.entries().iter().cloned();
        let (passing, gone): (Vec<_>, Vec<_>) = entries.partition(|entry| passes(entry, &approval));
        let check = |entry: &Arc<PluginEntry>| Arc::new((**entry).clone().check_approval(&approval).0);
        let checked = passing.iter().map(check).collect();
        let names: Vec<String> = gone.iter().map(|entry| entry.plugin.name().to_owned()).collect();
        HiddenPlugins { next: current.changed(checked, &names, Arc::clone(current.owners())), gone }
    });
    let hidden = hiding.await;
    hidden.inspect_err(|_| tracing::error!("unapproved items could not be hidden")).ok()
}

fn passes(entry: &Arc<PluginEntry>, approval: &ApprovalPolicy) -> bool {
    let (plugin, grants) = (&entry.plugin, &entry.plugin.config().grants);
    approval.check_file(plugin.name(), plugin.digest(), grants).is_ok()
}
