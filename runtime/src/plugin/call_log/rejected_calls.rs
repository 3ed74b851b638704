//! Calls that were rejected before they began, and their lines in the audit.
//!
//! A client that calls in a loop must not push everything else out of the audit. The first rejected call of a kind has
//! a line at once. Calls of the same kind in the [window](WINDOW) after it have one line together, with their count.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::call_line::{CallLine, CallOutcome, client_and_address};
use crate::call_env::Caller;
use crate::capability::PluginCtx;
use crate::observe::{Escaped, SerializeDisplay};

/// For how long calls of one kind are counted before their line is written.
const WINDOW: Duration = Duration::from_secs(10);

/// Kinds that are kept apart by name and caller. As many more are kept apart by caller, so that a caller with many
/// names does not hide others, and all further ones by function and outcome only.
const MAX_KINDS: usize = 64;

/// Longest name, bytes; the rest is cut.
const MAX_NAME: usize = 256;

/// What rejected calls of one kind have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RejectionKey {
    function: &'static str,
    /// `None`: several names.
    name: Option<String>,
    /// `None`: several callers.
    caller: Option<Caller>,
    outcome: CallOutcome,
}

impl RejectionKey {
    pub(super) fn new(function: &'static str, name: &str, caller: Caller, outcome: CallOutcome) -> Self {
        let name = name.get(..name.floor_char_boundary(MAX_NAME)).unwrap_or_default().to_owned();
        Self { function, name: Some(name), caller: Some(caller), outcome }
    }
}

/// Calls of one kind that have no line yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RejectionCount {
    since: Instant,
    times: u64,
    bytes_in: usize,
}

/// The rejected calls of one plugin.
#[derive(Debug)]
pub(super) struct RejectedCalls {
    plugin: Arc<PluginCtx>,
    window: Duration,
    table: Mutex<RejectionTable>,
}

#[derive(Debug, Default)]
struct RejectionTable {
    kinds: HashMap<RejectionKey, RejectionCount>,
    /// A task waits for the ends of windows.
    has_task: bool,
}

impl RejectionTable {
    /// Counts a call. Returns its key if the call is the first of its kind and needs a line at once.
    fn count(&mut self, mut key: RejectionKey, bytes_in: usize, now: Instant) -> Option<RejectionKey> {
        if self.is_full_for(&key, MAX_KINDS) {
            key.name = None;
        }
        if self.is_full_for(&key, 2 * MAX_KINDS) {
            key.caller = None;
        }
        if let Some(count) = self.kinds.get_mut(&key) {
            count.times += 1;
            count.bytes_in = count.bytes_in.saturating_add(bytes_in);
            return None;
        }
        self.kinds.insert(key.clone(), RejectionCount { since: now, times: 0, bytes_in: 0 });
        Some(key)
    }

    /// Whether this would be another kind beyond `most`.
    fn is_full_for(&self, key: &RejectionKey, most: usize) -> bool {
        self.kinds.len() >= most && !self.kinds.contains_key(key)
    }

    /// Removes the kinds whose windows have ended, and returns those that need a line.
    fn ended(&mut self, window: Duration, now: Instant) -> Vec<(RejectionKey, RejectionCount)> {
        let is_over = |count: &RejectionCount| now.saturating_duration_since(count.since) >= window;
        let ended = self.kinds.extract_if(|_, count| is_over(count));
        ended.filter(|(_, count)| count.times > 0).collect()
    }
}

impl RejectedCalls {
    pub(super) fn new(plugin: Arc<PluginCtx>) -> Arc<Self> {
        Self::within(WINDOW, plugin)
    }

    fn within(window: Duration, plugin: Arc<PluginCtx>) -> Arc<Self> {
        Arc::new(Self { plugin, window, table: Mutex::default() })
    }

    /// Counts a rejected call, and writes the lines that are due.
    pub(super) fn record(self: &Arc<Self>, key: RejectionKey, bytes_in: usize) {
        let now = Instant::now();
        let mut table = self.table.lock();
        let ended = table.ended(self.window, now);
        let first = table.count(key, bytes_in, now);
        let needs_task = first.is_none() && !std::mem::replace(&mut table.has_task, true);
        drop(table);
        self.write(ended);
        if let Some(first) = first {
            self.write_line(&first, None, bytes_in);
        }
        if needs_task {
            self.spawn_flush();
        }
    }

    /// Spawns the task that writes counts at the ends of their windows, also when no more calls come.
    fn spawn_flush(self: &Arc<Self>) {
        let (rejected_calls, window) = (Arc::downgrade(self), self.window);
        let flush = async move {
            loop {
                tokio::time::sleep(window).await;
                let Some(rejected_calls) = rejected_calls.upgrade() else { return };
                let mut table = rejected_calls.table.lock();
                let ended = table.ended(window, Instant::now());
                table.has_task = !table.kinds.is_empty();
                let is_done = !table.has_task;
                drop(table);
                rejected_calls.write(ended);
                if is_done {
                    return;
                }
            }
        };
        // Without a runtime the server is about to end; dropping `RejectedCalls` writes the counts.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(flush);
        }
    }

    fn write(&self, counted: impl IntoIterator<Item = (RejectionKey, RejectionCount)>) {
        for (key, RejectionCount { times, bytes_in, .. }) in counted {
            self.write_line(&key, Some(times), bytes_in);
        }
    }

    fn write_line(
        &self,
        RejectionKey { function, name, caller, outcome }: &RejectionKey,
        times: Option<u64>,
        bytes_in: usize,
    ) {
        let PluginCtx { name: plugin, audit_digest: digest, audit, .. } = &*self.plugin;
        // Several calls of one principal may come from several clients and addresses.
        let single = caller.as_ref().filter(|_| times.is_none());
        let (client, address) = single.map(client_and_address).unwrap_or_default();
        audit.record(&CallLine {
            event: "call",
            plugin,
            digest,
            function,
            name: name.as_deref().map(Escaped).map(SerializeDisplay),
            caller: caller.as_ref().map(SerializeDisplay),
            client,
            address,
            roles: None,
            outcome,
            instance: None,
            count: times,
            fuel: 0,
            elapsed_us: 0,
            cpu_us: 0,
            bytes_in,
            bytes_out: 0,
            arguments: None,
        });
    }
}

impl Drop for RejectedCalls {
    fn drop(&mut self) {
        let kinds = std::mem::take(&mut self.table.lock().kinds);
        self.write(kinds.into_iter().filter(|(_, count)| count.times > 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::ServerCtx;
    use crate::config::Config;
    use crate::observe::Audit;
    use crate::sandbox::{GuestMemory, KvDatabase};

    fn key(name: &str) -> RejectionKey {
        RejectionKey::new("tools/call", name, Caller::Stdio, CallOutcome::Quarantined)
    }

    #[test]
    fn the_first_of_a_kind_is_told_at_once_and_the_rest_together() {
        let (mut table, start) = (RejectionTable::default(), Instant::now());
        assert_eq!(table.count(key("a"), 5, start), Some(key("a")));
        assert!((0..3).all(|_| table.count(key("a"), 5, start).is_none()));
        assert!(table.count(key("b"), 1, start + WINDOW / 2).is_some());
        assert!(table.ended(WINDOW, start + WINDOW / 2).is_empty());
        let counted = RejectionCount { since: start, times: 3, bytes_in: 15 };
        assert_eq!(table.ended(WINDOW, start + WINDOW), [(key("a"), counted)]);
        assert!(table.count(key("a"), 5, start + WINDOW).is_some(), "a new window");
        assert!(table.ended(WINDOW, start + 3 * WINDOW).is_empty(), "each had its line");
        assert!(table.kinds.is_empty());
    }

    #[test]
    fn many_names_are_told_as_one() {
        let (mut table, start) = (RejectionTable::default(), Instant::now());
        let told = (0..1_000).filter_map(|n| table.count(key(&n.to_string()), 1, start)).count();
        assert_eq!((told, table.kinds.len()), (MAX_KINDS + 1, MAX_KINDS + 1));
        let lines = table.ended(WINDOW, start + WINDOW);
        assert_eq!(lines.len(), 1);
        assert!(lines.iter().all(|(kind, count)| kind.name.is_none() && told as u64 + count.times == 1_000));
        assert!(key(&"ä".repeat(MAX_NAME)).name.unwrap().len() <= MAX_NAME);
    }

    #[test]
    fn a_caller_with_many_names_does_not_hide_the_next_caller() {
        let (mut table, start) = (RejectionTable::default(), Instant::now());
        (0..1_000).for_each(|n| drop(table.count(key(&n.to_string()), 1, start)));
        let of = |caller| RejectionKey::new("tools/call", "a", caller, CallOutcome::Quarantined);
        let told = table.count(of(Caller::Unknown), 1, start).unwrap();
        assert_eq!((told.name, told.caller), (None, Some(Caller::Unknown)));
        let address = |n: u32| Caller::Address(std::net::Ipv4Addr::from_bits(n).into());
        (0..1_000).for_each(|n| drop(table.count(of(address(n)), 1, start)));
        assert_eq!(table.kinds.len(), 2 * MAX_KINDS + 1);
    }

    #[tokio::test]
    async fn what_is_counted_is_written_when_nobody_calls_any_more() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let (audit, _writer) = Audit::open(path.clone(), 1 << 20, 1).unwrap();
        let common = ServerCtx {
            changes: Arc::default(),
            store: KvDatabase::new("unused".into()),
            audit,
            audience: Default::default(),
            sampling_budgets: Arc::default(),
            memory: GuestMemory::new(&crate::config::ServerConfig::default()),
        };
        let shared = PluginCtx::new("p", String::new(), Config::new("plugins".into()).plugin("p"), common);
        let rejected_calls = RejectedCalls::within(Duration::from_millis(50), Arc::new(shared));
        (0..5).for_each(|_| rejected_calls.record(key("a"), 3));
        let text = || std::fs::read_to_string(&path).unwrap();
        while text().lines().count() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let told: Vec<serde_json::Value> =
            text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&told[0]["count"], &told[0]["bytes_in"]), (&().into(), &3.into()));
        assert_eq!((&told[1]["count"], &told[1]["bytes_in"]), (&4.into(), &12.into()));
        while rejected_calls.table.lock().has_task {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        (0..3).for_each(|_| rejected_calls.record(key("a"), 3));
        drop(rejected_calls);
        while text().lines().count() < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
