//! Lists a plugin again when it says that something changed, and publishes what it offers now.
//!
//! Plugins pin notes to a board and this looks at it. Each plugin has its own pace and at most one listing under way, so one
//! that shouts or is slow takes nothing from the others. A listing that fails leaves everything as it was.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::catalog::{Catalog, Entry, Snapshot};
use crate::observe::Escaped;
use crate::plugin::{CallFailure, ChangeBoard, Pending};

/// How long to wait for more notes after the first, since changes come in groups.
const GATHER: Duration = Duration::from_millis(20);

/// Updated resources of one plugin that are told of at one look, which come at most every [`GATHER`]. Well below what the
/// channel to clients holds.
const TOLD: usize = 32;

/// Shortest time between the beginnings of two listings of one plugin.
const INTERVAL: Duration = Duration::from_millis(100);

/// Watches the board of a catalog's plugins.
#[derive(Debug)]
pub struct Watcher {
    board: Arc<ChangeBoard>,
    catalog: Arc<Catalog>,
}

/// Why a plugin was not listed again.
#[derive(Debug)]
enum Unlisted {
    /// All its places are taken; later there will be one.
    Busy,
    /// What went wrong.
    Failed(String),
}

/// Listings under way. Dropped, they end.
type Listings = JoinSet<(Arc<str>, Result<(), Unlisted>)>;

impl Watcher {
    /// A watcher of `board` that publishes to `catalog`.
    #[must_use]
    pub fn new(board: Arc<ChangeBoard>, catalog: Arc<Catalog>) -> Self {
        Self { board, catalog }
    }

    /// Watches until told to stop.
    pub async fn run(self, stop: CancellationToken) {
        let mut pace = Pace::default();
        let mut under_way = Listings::new();
        let mut look_at: Option<Instant> = None;
        loop {
            let next = pace.next();
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.board.noted(), if look_at.is_none() => look_at = Some(Instant::now() + GATHER),
                () = tokio::time::sleep_until(look_at.unwrap_or_else(Instant::now)), if look_at.is_some() => {
                    look_at = None;
                    self.look(&mut pace);
                }
                Some(Ok((plugin, outcome))) = under_way.join_next() => {
                    pace.done(&plugin, Instant::now());
                    match outcome {
                        Ok(()) => {}
                        Err(Unlisted::Busy) => pace.ask(plugin),
                        Err(Unlisted::Failed(why)) => {
                            let (plugin, why) = (&*plugin, Escaped(&why).to_string());
                            tracing::warn!(target: "plugin", plugin, why, "could not be listed again; what it had stays");
                        }
                    }
                }
                () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
            for plugin in pace.due(Instant::now()) {
                match self.catalog.current().entry(&plugin) {
                    Some(entry) => {
                        let listing = list(Arc::clone(entry), Arc::clone(&self.catalog));
                        let listing = AssertUnwindSafe(listing).catch_unwind();
                        under_way.spawn(async move {
                            let failed =
                                |_| Err(Unlisted::Failed("listing it failed in this server".to_owned()));
                            (plugin, listing.await.unwrap_or_else(failed))
                        });
                    }
                    None => pace.forget(&plugin),
                }
            }
        }
    }

    /// Takes the notes and acts on them.
    fn look(&self, pace: &mut Pace) {
        let snapshot = self.catalog.current();
        for (plugin, Pending { listing, updated, lost }) in self.board.take(TOLD) {
            let (own, others): (Vec<_>, Vec<_>) =
                updated.iter().partition(|uri| may_announce(&snapshot, &plugin, uri));
            own.iter().for_each(|uri| self.catalog.updated(uri));
            if let Some(first) = others.first() {
                let first = snapshot.entry(&plugin).map(|entry| entry.plugin.mask().text(first));
                let (count, uri) = (others.len(), Escaped(&first.unwrap_or_default()).to_string());
                tracing::warn!(target: "plugin", plugin = &*plugin, count, uri, "announced another plugin's resources");
            }
            if lost > 0 {
                tracing::warn!(target: "plugin", plugin = &*plugin, lost, "announced too many resources at once");
            }
            if listing {
                pace.ask(plugin);
            }
        }
    }
}

/// Whether a plugin may say that a resource changed: its own, or one that nobody lists.
fn may_announce(snapshot: &Snapshot, plugin: &str, uri: &str) -> bool {
    snapshot.resource(uri).is_none_or(|owner| owner.name() == plugin)
}

async fn list(known: Arc<Entry>, catalog: Arc<Catalog>) -> Result<(), Unlisted> {
    let offer = match known.plugin.list().await {
        Ok(offer) => offer,
        Err(CallFailure::Busy { .. }) => return Err(Unlisted::Busy),
        // What another version offers is told by that version.
        Err(CallFailure::Replaced) => return Ok(()),
        Err(CallFailure::Guest(error)) => return Err(Unlisted::Failed(error.in_words())),
        Err(failure) => return Err(Unlisted::Failed(failure.of("plugin"))),
    };
    // A plugin may describe a lot; other tasks should not wait while it is read.
    let offload = Arc::clone(known.plugin.offload());
    offload.run(Duration::MAX, move |_| publish(known.listed(offer), &catalog)).await;
    Ok(())
}

fn publish(listed: Entry, catalog: &Catalog) {
    catalog.update(|current| {
        // It may have been replaced or taken away meanwhile, and what was approved may have changed.
        let known = current.entry(listed.plugin.name());
        let known = known.filter(|known| Arc::ptr_eq(&known.plugin, &listed.plugin))?;
        let entry = known.pins.after(listed).0;
        let plugin = entry.plugin.name();
        if let Some(first) = entry.refused.first().filter(|_| entry.refused != known.refused) {
            let mask = entry.plugin.mask();
            let (count, item) = (entry.refused.len(), Escaped(&mask.text(&first.name)).to_string());
            let why = Escaped(&mask.text(&first.why)).to_string();
            tracing::warn!(target: "plugin", plugin, count, item, why, "offers what cannot be published");
        }
        if entry.unapproved != known.unapproved {
            for warning in &entry.unapproved {
                tracing::warn!(target: "plugin", plugin, "{warning}");
            }
        }
        Some(current.with(Arc::new(entry)))
    });
}

/// When which plugin may be listed.
#[derive(Debug, Default)]
struct Pace {
    turns: BTreeMap<Arc<str>, Turn>,
}

#[derive(Debug)]
struct Turn {
    wanted: bool,
    /// When the listing that is under way began.
    begun: Option<Instant>,
    not_before: Option<Instant>,
}

impl Pace {
    /// A plugin is to be listed.
    fn ask(&mut self, plugin: Arc<str>) {
        let turn = self.turns.entry(plugin);
        turn.or_insert(Turn { wanted: true, begun: None, not_before: None }).wanted = true;
    }

    /// The plugins whose turn it is; their listings count as begun.
    fn due(&mut self, now: Instant) -> Vec<Arc<str>> {
        let mut due = Vec::new();
        for (plugin, turn) in &mut self.turns {
            if turn.wanted && turn.begun.is_none() && turn.not_before.is_none_or(|time| time <= now) {
                turn.wanted = false;
                turn.begun = Some(now);
                due.push(Arc::clone(plugin));
            }
        }
        due
    }

    /// A listing has ended. A slow one is followed by a pause as long as it took.
    fn done(&mut self, plugin: &str, now: Instant) {
        if let Some(turn) = self.turns.get_mut(plugin)
            && let Some(begun) = turn.begun.take()
        {
            turn.not_before = Some((begun + INTERVAL).max(now + (now - begun)));
        }
    }

    /// The plugin is gone.
    fn forget(&mut self, plugin: &str) {
        self.turns.remove(plugin);
    }

    /// When the next turn comes, if one is waited for.
    fn next(&self) -> Option<Instant> {
        let waiting = self.turns.values().filter(|turn| turn.wanted && turn.begun.is_none());
        waiting.filter_map(|turn| turn.not_before).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Change;

    fn names(due: &[Arc<str>]) -> Vec<&str> {
        due.iter().map(|name| &**name).collect()
    }

    #[test]
    fn a_plugin_is_listed_once_at_a_time_and_at_its_pace() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        pace.ask("a".into());
        pace.ask("a".into());
        assert_eq!(names(&pace.due(start)), ["a"]);
        pace.ask("a".into());
        assert!(pace.due(after(500)).is_empty(), "one is under way");
        assert_eq!(pace.next(), None);
        pace.done("a", after(10));
        assert_eq!(pace.next(), Some(after(100)));
        assert!(pace.due(after(99)).is_empty());
        assert_eq!(names(&pace.due(after(100))), ["a"]);
        pace.done("a", after(101));
        assert!(pace.due(after(900)).is_empty(), "nobody asked again");
    }

    #[test]
    fn a_slow_plugin_pauses_and_holds_up_nobody() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        pace.ask("slow".into());
        assert_eq!(names(&pace.due(start)), ["slow"]);
        pace.ask("slow".into());
        pace.ask("quick".into());
        assert_eq!(names(&pace.due(after(5))), ["quick"]);
        pace.done("slow", after(2_000));
        assert!(pace.due(after(3_999)).is_empty());
        assert_eq!(names(&pace.due(after(4_000))), ["slow"]);
        pace.forget("slow");
        pace.done("slow", after(4_001));
        assert_eq!(pace.next(), None);
    }

    #[test]
    fn what_nobody_lists_may_be_announced() {
        assert!(may_announce(&Snapshot::new(Vec::new()), "p", "n:a"));
    }

    #[tokio::test]
    async fn a_watcher_passes_on_updates_and_forgets_who_is_gone() {
        let board = Arc::new(ChangeBoard::default());
        let catalog = Arc::new(Catalog::new(Snapshot::new(Vec::new())));
        let mut changes = catalog.changes();
        let stop = CancellationToken::new();
        let watching = tokio::spawn(Watcher::new(Arc::clone(&board), Arc::clone(&catalog)).run(stop.clone()));
        board.list_changed(&"gone".into());
        board.resource_updated(&"p".into(), "n:a");
        assert_eq!(changes.next().await, Some(Change::Updated("n:a".into())));
        board.resource_updated(&"p".into(), "n:b");
        assert_eq!(changes.next().await, Some(Change::Updated("n:b".into())));
        stop.cancel();
        watching.await.unwrap();
    }
}
