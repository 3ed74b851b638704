//! What happens when a folder becomes strict while it is served: what was never compared is hidden at once, and not only when
//! it is looked into again.

use std::sync::Arc;

use crate::catalog::{Catalog, Entry, Pins};

/// Takes out of the catalog what nobody has approved: whole plugins, and single items of others. What takes their place is
/// looked for afterwards.
pub(super) async fn hide_unapproved(catalog: Arc<Catalog>, pins: Pins) {
    let hiding = tokio::task::spawn_blocking(move || {
        let current = catalog.current();
        let passes = |entry: &Arc<Entry>| {
            let (plugin, grants) = (&entry.plugin, &entry.plugin.config().grants);
            pins.before(plugin.name(), plugin.digest(), grants).is_ok()
        };
        let (passing, unapproved): (Vec<_>, Vec<_>) =
            current.entries().iter().cloned().partition(|entry| passes(entry));
        let judged = passing.iter().map(|entry| Arc::new(pins.after((**entry).clone()).0)).collect();
        let gone: Vec<String> = unapproved.iter().map(|entry| entry.plugin.name().to_owned()).collect();
        catalog.update(|current| Some(current.changed(judged, &gone, false)));
    });
    if hiding.await.is_err() {
        tracing::error!("what nobody has approved could not be taken away");
    }
}
