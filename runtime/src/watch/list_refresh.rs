//! Lists a plugin again when the plugin says that its list changed, and sends the new list to the publisher.
//!
//! Host functions note changes in `PendingChanges`, and the refresher reads them there. Each plugin has its own
//! throttle and at most one listing under way, so a slow listing delays no other plugin. A listing that fails changes
//! nothing. The refresher only reads the catalog: the publisher checks that a list belongs to the served version, and
//! publishes it.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::catalog::{Catalog, PluginEntry, Snapshot};
use crate::observe::Escaped;
use crate::plugin::{CallError, PendingChanges, PluginChanges};

/// How long to wait for more changes after the first, since changes come in groups.
const GATHER: Duration = Duration::from_millis(20);

/// Updated resources of one plugin that are announced every [`GATHER`]; well below what the channel to clients holds.
const MAX_UPDATES: usize = 32;

/// Shortest time between the starts of two listings of one plugin.
const INTERVAL: Duration = Duration::from_millis(100);

/// Handles the pending changes of a catalog's plugins.
#[derive(Debug)]
pub struct ListRefresher {
    pending_changes: Arc<PendingChanges>,
    catalog: Arc<Catalog>,
    publisher: mpsc::Sender<PluginEntry>,
}

/// Why a plugin was not listed again.
#[derive(Debug)]
enum RefreshError {
    /// All permits of the plugin are in use; the listing is tried again.
    Busy,
    /// What went wrong.
    Failed(String),
}

/// Listings under way; dropping this ends them.
type RefreshTasks = JoinSet<(Arc<str>, Result<(), RefreshError>)>;

impl ListRefresher {
    /// Handles `pending_changes` of the plugins of `catalog`, and sends new lists to `publisher`.
    pub(super) fn new(
        pending_changes: Arc<PendingChanges>,
        catalog: Arc<Catalog>,
        publisher: mpsc::Sender<PluginEntry>,
    ) -> Self {
        Self { pending_changes, catalog, publisher }
    }

    /// Runs until `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        let mut throttle = RefreshThrottle::default();
        let mut tasks = RefreshTasks::new();
        let mut handle_at: Option<Instant> = None;
        loop {
            let next = throttle.next();
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.pending_changes.wait_for_changes(), if handle_at.is_none() => {
                    handle_at = Some(Instant::now() + GATHER);
                }
                () = tokio::time::sleep_until(handle_at.unwrap_or_else(Instant::now)), if handle_at.is_some() => {
                    handle_at = None;
                    self.handle_changes(&mut throttle).await;
                }
                Some(Ok((plugin, outcome))) = tasks.join_next() => {
                    throttle.done(&plugin, Instant::now());
                    match outcome {
                        Ok(()) => {}
                        Err(RefreshError::Busy) => throttle.request(plugin),
                        Err(RefreshError::Failed(why)) => {
                            let (plugin, why) = (&*plugin, Escaped(&why).to_string());
                            tracing::warn!(
                                target: "plugin", plugin, why,
                                "could not be listed again; its published items stay"
                            );
                        }
                    }
                }
                () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
            for plugin in throttle.due(Instant::now()) {
                match self.catalog.current().entry(&plugin) {
                    Some(entry) => {
                        let listing = list(Arc::clone(entry), self.publisher.clone());
                        let listing = AssertUnwindSafe(listing).catch_unwind();
                        tasks.spawn(async move {
                            let failed =
                                |_| Err(RefreshError::Failed("listing it failed in this server".to_owned()));
                            (plugin, listing.await.unwrap_or_else(failed))
                        });
                    }
                    None => throttle.forget(&plugin),
                }
            }
        }
    }

    /// Announces updated resources, and requests the listings that are due.
    async fn handle_changes(&self, throttle: &mut RefreshThrottle) {
        for (plugin, PluginChanges { listing, updated, lost }) in self.pending_changes.take(MAX_UPDATES) {
            let snapshot = self.catalog.current();
            let (own, others) = partition_updates(&snapshot, &plugin, updated).await;
            own.iter().for_each(|uri| self.catalog.resource_updated(uri));
            if let Some(first) = others.first() {
                let first = snapshot.entry(&plugin).map(|entry| entry.plugin.redactor().text(first));
                let (count, uri) = (others.len(), Escaped(&first.unwrap_or_default()).to_string());
                tracing::warn!(
                    target: "plugin", plugin = &*plugin, count, uri,
                    "announced changes of another plugin's resources, which are ignored"
                );
            }
            if lost > 0 {
                tracing::warn!(
                    target: "plugin", plugin = &*plugin, lost,
                    "announced changes of too many resources at once; some are ignored"
                );
            }
            if listing {
                throttle.request(plugin);
            }
        }
    }
}

/// The announced URIs that `plugin` may announce, and the others. Matching hostile templates takes milliseconds, so
/// this is done on a thread for blocking work; other plugins wait for it.
async fn partition_updates(
    snapshot: &Arc<Snapshot>,
    plugin: &Arc<str>,
    updated: BTreeSet<String>,
) -> (Vec<String>, Vec<String>) {
    if updated.is_empty() {
        return Default::default();
    }
    let (snapshot, plugin) = (Arc::clone(snapshot), Arc::clone(plugin));
    let partition = move || updated.into_iter().partition(|uri| may_announce(&snapshot, &plugin, uri));
    tokio::task::spawn_blocking(partition).await.unwrap_or_default()
}

/// Whether a plugin may announce a change of this resource: it serves the resource, or no plugin does.
fn may_announce(snapshot: &Snapshot, plugin: &str, uri: &str) -> bool {
    snapshot.plugin_for_uri(uri).is_none_or(|owner| owner.name() == plugin)
}

async fn list(known: Arc<PluginEntry>, publisher: mpsc::Sender<PluginEntry>) -> Result<(), RefreshError> {
    let listing = match known.plugin.list().await {
        Ok(listing) => listing,
        Err(CallError::Busy { .. }) => return Err(RefreshError::Busy),
        // The version that replaced this one has been listed already.
        Err(CallError::Replaced) => return Ok(()),
        Err(CallError::Guest(error)) => return Err(RefreshError::Failed(error.in_words())),
        Err(failure) => return Err(RefreshError::Failed(failure.describe("plugin"))),
    };
    // A plugin may describe a lot; other tasks should not wait while it is read.
    let offload = Arc::clone(known.plugin.offload());
    let checked =
        offload.run(Duration::MAX, move |_| known.with_listing(listing).check_approval(&known.approval).0);
    let entry = checked.await;
    // The receiver is gone when the server stops.
    let _ = publisher.send(entry).await;
    Ok(())
}

/// Decides when each plugin may be listed.
#[derive(Debug, Default)]
struct RefreshThrottle {
    plugins: BTreeMap<Arc<str>, PluginRefresh>,
}

#[derive(Debug)]
struct PluginRefresh {
    requested: bool,
    /// When the running listing began.
    begun: Option<Instant>,
    not_before: Option<Instant>,
}

impl RefreshThrottle {
    /// Requests a listing of the plugin.
    fn request(&mut self, plugin: Arc<str>) {
        let refresh = self.plugins.entry(plugin);
        refresh.or_insert(PluginRefresh { requested: true, begun: None, not_before: None }).requested = true;
    }

    /// The plugins whose listing is due; they count as begun from now on.
    fn due(&mut self, now: Instant) -> Vec<Arc<str>> {
        let mut due = Vec::new();
        for (plugin, refresh) in &mut self.plugins {
            if refresh.requested
                && refresh.begun.is_none()
                && refresh.not_before.is_none_or(|time| time <= now)
            {
                refresh.requested = false;
                refresh.begun = Some(now);
                due.push(Arc::clone(plugin));
            }
        }
        due
    }

    /// Notes that a listing has ended. A slow listing is followed by a pause as long as it took.
    fn done(&mut self, plugin: &str, now: Instant) {
        if let Some(refresh) = self.plugins.get_mut(plugin)
            && let Some(begun) = refresh.begun.take()
        {
            refresh.not_before = Some((begun + INTERVAL).max(now + (now - begun)));
        }
    }

    /// Forgets a plugin that is gone.
    fn forget(&mut self, plugin: &str) {
        self.plugins.remove(plugin);
    }

    /// When the next requested listing may begin; `None` if none waits.
    fn next(&self) -> Option<Instant> {
        let waiting = self.plugins.values().filter(|refresh| refresh.requested && refresh.begun.is_none());
        waiting.filter_map(|refresh| refresh.not_before).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::CatalogChange;

    fn names(due: &[Arc<str>]) -> Vec<&str> {
        due.iter().map(|name| &**name).collect()
    }

    #[test]
    fn a_plugin_is_listed_once_at_a_time_and_at_its_pace() {
        let (mut throttle, start) = (RefreshThrottle::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        throttle.request("a".into());
        throttle.request("a".into());
        assert_eq!(names(&throttle.due(start)), ["a"]);
        throttle.request("a".into());
        assert!(throttle.due(after(500)).is_empty(), "one is under way");
        assert_eq!(throttle.next(), None);
        throttle.done("a", after(10));
        assert_eq!(throttle.next(), Some(after(100)));
        assert!(throttle.due(after(99)).is_empty());
        assert_eq!(names(&throttle.due(after(100))), ["a"]);
        throttle.done("a", after(101));
        assert!(throttle.due(after(900)).is_empty(), "no further listing was requested");
    }

    #[test]
    fn a_slow_plugin_pauses_and_holds_up_nobody() {
        let (mut throttle, start) = (RefreshThrottle::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        throttle.request("slow".into());
        assert_eq!(names(&throttle.due(start)), ["slow"]);
        throttle.request("slow".into());
        throttle.request("quick".into());
        assert_eq!(names(&throttle.due(after(5))), ["quick"]);
        throttle.done("slow", after(2_000));
        assert!(throttle.due(after(3_999)).is_empty());
        assert_eq!(names(&throttle.due(after(4_000))), ["slow"]);
        throttle.forget("slow");
        throttle.done("slow", after(4_001));
        assert_eq!(throttle.next(), None);
    }

    #[test]
    fn what_nobody_lists_may_be_announced() {
        assert!(may_announce(&Snapshot::new(Vec::new()), "p", "n:a"));
    }

    #[tokio::test]
    async fn a_watcher_passes_on_updates_and_forgets_who_is_gone() {
        let pending = Arc::new(PendingChanges::default());
        let catalog = Arc::new(Catalog::new(Snapshot::new(Vec::new())));
        let mut changes = catalog.changes();
        let (stop, (publisher, _lists)) = (CancellationToken::new(), mpsc::channel(1));
        let watching = tokio::spawn(
            ListRefresher::new(Arc::clone(&pending), Arc::clone(&catalog), publisher).run(stop.clone()),
        );
        pending.list_changed(&"gone".into());
        pending.resource_updated(&"p".into(), "n:a");
        assert_eq!(changes.next().await, Some(CatalogChange::Updated("n:a".into())));
        pending.resource_updated(&"p".into(), "n:b");
        assert_eq!(changes.next().await, Some(CatalogChange::Updated("n:b".into())));
        stop.cancel();
        watching.await.unwrap();
    }
}
