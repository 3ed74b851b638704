//! What clients may still see when a folder becomes strict while it is served: what was never compared is hidden at
//! once, and not only when it is loaded again. Makes the snapshot; the publisher puts it in place.

use std::sync::Arc;

use crate::approval::ApprovalPolicy;
use crate::catalog::{PluginEntry, Snapshot};

/// A snapshot without what nobody has approved, and the plugins that are in it no more.
pub(super) struct HiddenPlugins {
    pub(super) next: Snapshot,
    pub(super) gone: Vec<Arc<PluginEntry>>,
}

/// Leaves out what nobody has approved: whole plugins, and single items of others. What takes their place is looked for
/// afterwards. It may take a look at the disk, and does so on another thread.
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
