//! Calls that were refused before they began, as the audit tells of them.
//!
//! Every one of them counts, but whoever calls in a loop must not push everything else out of the file: the first of its kind
//! has a line at once, and those like it that follow within a while have one line together, which says how many they are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::record::{Line, Outcome};
use crate::host::{Caller, Shared};
use crate::observe::Escaped;

/// How long those of one kind are gathered.
const WINDOW: Duration = Duration::from_secs(10);

/// Kinds that are told apart by name and caller. Beyond it, they are told apart by the rest only.
const MOST: usize = 64;

/// Longest name, bytes; the rest is cut.
const NAME: usize = 256;

/// What refused calls of one kind have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Refused {
    function: &'static str,
    /// `None`: of several names and callers.
    of: Option<(String, Caller)>,
    outcome: Outcome,
}

impl Refused {
    pub(super) fn new(function: &'static str, name: &str, caller: Caller, outcome: Outcome) -> Self {
        let name = name.get(..name.floor_char_boundary(NAME)).unwrap_or_default().to_owned();
        Self { function, of: Some((name, caller)), outcome }
    }
}

/// Those that have no line yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Count {
    since: Instant,
    times: u64,
    bytes_in: usize,
}

/// The refused calls of one plugin.
#[derive(Debug)]
pub(super) struct Refusals {
    plugin: Arc<Shared>,
    window: Duration,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    kinds: HashMap<Refused, Count>,
    /// A task looks after the ends of windows.
    is_tended: bool,
}

impl Table {
    /// Counts a call. The kind, if this is the first of it and to be written at once.
    fn count(&mut self, mut refused: Refused, bytes_in: usize, now: Instant) -> Option<Refused> {
        if !self.kinds.contains_key(&refused) && self.kinds.len() >= MOST {
            refused.of = None;
        }
        if let Some(count) = self.kinds.get_mut(&refused) {
            count.times += 1;
            count.bytes_in = count.bytes_in.saturating_add(bytes_in);
            return None;
        }
        self.kinds.insert(refused.clone(), Count { since: now, times: 0, bytes_in: 0 });
        Some(refused)
    }

    /// Takes out the kinds whose windows have ended, and gives those that need a line.
    fn ended(&mut self, window: Duration, now: Instant) -> Vec<(Refused, Count)> {
        let is_over = |count: &Count| now.saturating_duration_since(count.since) >= window;
        let ended = self.kinds.extract_if(|_, count| is_over(count));
        ended.filter(|(_, count)| count.times > 0).collect()
    }
}

impl Refusals {
    pub(super) fn new(plugin: Arc<Shared>) -> Arc<Self> {
        Self::within(WINDOW, plugin)
    }

    fn within(window: Duration, plugin: Arc<Shared>) -> Arc<Self> {
        Arc::new(Self { plugin, window, table: Mutex::default() })
    }

    /// Notes a call that was refused.
    pub(super) fn note(self: &Arc<Self>, refused: Refused, bytes_in: usize) {
        let now = Instant::now();
        let mut table = self.lock();
        let ended = table.ended(self.window, now);
        let first = table.count(refused, bytes_in, now);
        let to_tend = first.is_none() && !std::mem::replace(&mut table.is_tended, true);
        drop(table);
        self.write(ended);
        if let Some(first) = first {
            self.write_line(&first, None, bytes_in);
        }
        if to_tend {
            self.tend();
        }
    }

    /// Writes what is counted when its time is over, also when nobody calls any more.
    fn tend(self: &Arc<Self>) {
        let (refusals, window) = (Arc::downgrade(self), self.window);
        let tending = async move {
            loop {
                tokio::time::sleep(window).await;
                let Some(refusals) = refusals.upgrade() else { return };
                let mut table = refusals.lock();
                let ended = table.ended(window, Instant::now());
                table.is_tended = !table.kinds.is_empty();
                let is_done = !table.is_tended;
                drop(table);
                refusals.write(ended);
                if is_done {
                    return;
                }
            }
        };
        // Without a runtime this is about to end, and writes what is left then.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(tending);
        }
    }

    fn write(&self, counted: impl IntoIterator<Item = (Refused, Count)>) {
        for (refused, Count { times, bytes_in, .. }) in counted {
            self.write_line(&refused, Some(times), bytes_in);
        }
    }

    fn write_line(&self, Refused { function, of, outcome }: &Refused, times: Option<u64>, bytes_in: usize) {
        let Shared { name: plugin, digest, audit, .. } = &*self.plugin;
        audit.record(&Line {
            event: "call",
            plugin,
            digest: format!("sha256:{digest}"),
            function,
            name: of.as_ref().map(|(name, _)| Escaped(name).to_string()),
            caller: of.as_ref().map(|(_, caller)| caller.to_string()),
            outcome,
            instance: None,
            times,
            fuel: 0,
            elapsed_us: 0,
            cpu_us: 0,
            bytes_in,
            bytes_out: 0,
            arguments: None,
        });
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Refusals {
    fn drop(&mut self) {
        let kinds = std::mem::take(&mut self.lock().kinds);
        self.write(kinds.into_iter().filter(|(_, count)| count.times > 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::host::Common;
    use crate::observe::Audit;
    use crate::sandbox::{GuestMemory, Store};

    fn refused(name: &str) -> Refused {
        Refused::new("tools/call", name, Caller::Stdio, Outcome::Quarantined)
    }

    #[test]
    fn the_first_of_a_kind_is_told_at_once_and_the_rest_together() {
        let (mut table, start) = (Table::default(), Instant::now());
        assert_eq!(table.count(refused("a"), 5, start), Some(refused("a")));
        assert!((0..3).all(|_| table.count(refused("a"), 5, start).is_none()));
        assert!(table.count(refused("b"), 1, start + WINDOW / 2).is_some());
        assert!(table.ended(WINDOW, start + WINDOW / 2).is_empty());
        let counted = Count { since: start, times: 3, bytes_in: 15 };
        assert_eq!(table.ended(WINDOW, start + WINDOW), [(refused("a"), counted)]);
        assert!(table.count(refused("a"), 5, start + WINDOW).is_some(), "a new window");
        assert!(table.ended(WINDOW, start + 3 * WINDOW).is_empty(), "each had its line");
        assert!(table.kinds.is_empty());
    }

    #[test]
    fn many_names_are_told_as_one() {
        let (mut table, start) = (Table::default(), Instant::now());
        let told = (0..1_000).filter_map(|n| table.count(refused(&n.to_string()), 1, start)).count();
        assert_eq!((told, table.kinds.len()), (MOST + 1, MOST + 1));
        let lines = table.ended(WINDOW, start + WINDOW);
        assert_eq!(lines.len(), 1);
        assert!(lines.iter().all(|(kind, count)| kind.of.is_none() && told as u64 + count.times == 1_000));
        assert!(refused(&"ä".repeat(NAME)).of.unwrap().0.len() <= NAME);
    }

    #[tokio::test]
    async fn what_is_counted_is_written_when_nobody_calls_any_more() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let (audit, _writer) = Audit::open(path.clone(), 1 << 20, 1).unwrap();
        let common = Common {
            changes: Arc::default(),
            store: Store::new("unused".into()),
            audit,
            advice: Default::default(),
            budgets: Arc::default(),
            memory: GuestMemory::new(&crate::config::Server::default()),
        };
        let shared = Shared::new("p", String::new(), Config::new("plugins".into()).plugin("p"), common);
        let refusals = Refusals::within(Duration::from_millis(50), Arc::new(shared));
        (0..5).for_each(|_| refusals.note(refused("a"), 3));
        let text = || std::fs::read_to_string(&path).unwrap();
        while text().lines().count() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let told: Vec<serde_json::Value> =
            text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&told[0]["times"], &told[0]["bytes_in"]), (&().into(), &3.into()));
        assert_eq!((&told[1]["times"], &told[1]["bytes_in"]), (&4.into(), &12.into()));
        while refusals.lock().is_tended {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        (0..3).for_each(|_| refusals.note(refused("a"), 3));
        drop(refusals);
        while text().lines().count() < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
