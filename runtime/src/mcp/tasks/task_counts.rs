//! The limits on tasks: how many are unfinished, and how many bytes of results are stored, of each caller, of each
//! plugin and of all.
//!
//! Pure: it knows no clock, no disk and no task. A caller or a plugin at its bound gets no new task; it never takes
//! anything from another, and no result is deleted before its time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::sandbox::RecordId;

/// What a record counts at least, in bytes: its pages in the database and its entry here.
pub(super) const MIN_BYTES: u64 = 4 << 10;

/// Unfinished tasks of one caller: as many as a program starts at once, and few beside those of all callers.
const TASKS_OF_CALLER: usize = 32;

/// One caller may store this part of all results.
const SHARE_OF_CALLER: u64 = 8;

/// The bounds for all plugins together.
#[derive(Debug, Clone, Copy)]
pub(in crate::mcp) struct TaskBounds {
    /// Unfinished tasks.
    pub(in crate::mcp) tasks: usize,
    /// Bytes of results.
    pub(in crate::mcp) bytes: u64,
}

/// For whom a task counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskOwner {
    pub(super) caller: Arc<str>,
    pub(super) plugin: Arc<str>,
}

/// The tasks of one caller.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct CallerTasks {
    unfinished: usize,
    bytes: u64,
}

/// All tasks, as numbers.
#[derive(Debug)]
pub(super) struct TaskCounts {
    bounds: TaskBounds,
    unfinished: usize,
    bytes: u64,
    plugins: HashMap<Arc<str>, usize>,
    callers: HashMap<Arc<str>, CallerTasks>,
    /// Finished tasks by the millisecond in which they expire.
    stored: BTreeMap<(u64, RecordId), (Arc<str>, u64)>,
}

impl TaskCounts {
    pub(super) fn new(bounds: TaskBounds) -> Self {
        let (plugins, callers, stored) = (HashMap::new(), HashMap::new(), BTreeMap::new());
        Self { bounds, unfinished: 0, bytes: 0, plugins, callers, stored }
    }

    /// Counts a new task, if there is room for it. The plugin may have `max_tasks`.
    pub(super) fn admit(&mut self, owner: &TaskOwner, max_tasks: usize) -> bool {
        let caller = self.callers.get(&owner.caller).copied().unwrap_or_default();
        let of_plugin = self.plugins.get(&owner.plugin).copied().unwrap_or_default();
        let has_room = self.unfinished < self.bounds.tasks
            && of_plugin < max_tasks
            && caller.unfinished < TASKS_OF_CALLER
            && self.fits(owner, MIN_BYTES);
        if has_room {
            self.unfinished += 1;
            *self.plugins.entry(Arc::clone(&owner.plugin)).or_default() += 1;
            self.callers.entry(Arc::clone(&owner.caller)).or_default().unfinished += 1;
        }
        has_room
    }

    /// Whether a record of this size can be stored.
    pub(super) fn fits(&self, owner: &TaskOwner, bytes: u64) -> bool {
        let of_caller = self.callers.get(&owner.caller).copied().unwrap_or_default().bytes;
        let fits = |used: u64, max: u64| used.saturating_add(bytes.max(MIN_BYTES)) <= max;
        fits(self.bytes, self.bounds.bytes) && fits(of_caller, self.bounds.bytes / SHARE_OF_CALLER)
    }

    /// A task has ended, and nothing of it is stored.
    pub(super) fn end(&mut self, owner: &TaskOwner) {
        self.unfinished = self.unfinished.saturating_sub(1);
        if let Some(count) = self.plugins.get_mut(&owner.plugin) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.plugins.remove(&owner.plugin);
            }
        }
        self.change(&owner.caller, |tasks| tasks.unfinished = tasks.unfinished.saturating_sub(1));
    }

    /// A record is stored until it expires. What does not fit is counted all the same.
    pub(super) fn store(&mut self, caller: Arc<str>, id: RecordId, expires: u64, bytes: u64) {
        let bytes = bytes.max(MIN_BYTES);
        self.bytes = self.bytes.saturating_add(bytes);
        self.change(&caller, |tasks| tasks.bytes = tasks.bytes.saturating_add(bytes));
        self.stored.insert((expires, id), (caller, bytes));
    }

    /// Takes out the records that have expired at `now`.
    pub(super) fn take_expired(&mut self, now: u64) -> Vec<RecordId> {
        let mut expired = Vec::new();
        while let Some(first) = self.stored.first_entry().filter(|first| first.key().0 <= now) {
            let ((_, id), (caller, bytes)) = first.remove_entry();
            self.bytes = self.bytes.saturating_sub(bytes);
            self.change(&caller, |tasks| tasks.bytes = tasks.bytes.saturating_sub(bytes));
            expired.push(id);
        }
        expired
    }

    /// Unfinished tasks, and stored ones.
    pub(super) fn totals(&self) -> (usize, usize) {
        (self.unfinished, self.stored.len())
    }

    fn change(&mut self, caller: &Arc<str>, change: impl FnOnce(&mut CallerTasks)) {
        let tasks = self.callers.entry(Arc::clone(caller)).or_default();
        change(tasks);
        if *tasks == CallerTasks::default() {
            self.callers.remove(caller);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn counts(tasks: usize) -> TaskCounts {
        TaskCounts::new(TaskBounds { tasks, bytes: 8 * MIB })
    }

    fn owner(caller: &str, plugin: &str) -> TaskOwner {
        TaskOwner { caller: caller.into(), plugin: plugin.into() }
    }

    #[test]
    fn a_caller_at_its_bound_leaves_room_for_its_neighbour() {
        let mut counts = counts(1_000);
        let (greedy, neighbour) = (owner("a", "p"), owner("b", "p"));
        let admitted = (0..1_000).filter(|_| counts.admit(&greedy, 900)).count();
        assert_eq!(admitted, TASKS_OF_CALLER);
        assert!(counts.admit(&neighbour, 900));
        counts.end(&greedy);
        assert!(counts.admit(&greedy, 900) && !counts.admit(&greedy, 900));
    }

    #[test]
    fn plugins_and_the_server_have_bounds_too() {
        let mut counts = counts(3);
        assert!(counts.admit(&owner("a", "p"), 1) && !counts.admit(&owner("b", "p"), 1));
        assert!(counts.admit(&owner("c", "q"), 9) && counts.admit(&owner("d", "r"), 9));
        assert!(!counts.admit(&owner("e", "s"), 9));
        counts.end(&owner("a", "p"));
        assert!(counts.admit(&owner("b", "p"), 1));
        assert_eq!(counts.totals(), (3, 0));
    }

    #[test]
    fn results_are_bounded_and_leave_when_their_time_is_over() {
        let mut counts = counts(9);
        let (a, b) = (owner("a", "p"), owner("b", "p"));
        assert!(counts.fits(&a, MIB) && !counts.fits(&a, MIB + 1));
        counts.store(Arc::clone(&a.caller), [1; 16], 100, MIB);
        assert!(!counts.admit(&a, 9) && counts.admit(&b, 9));
        assert!(counts.take_expired(99).is_empty());
        assert_eq!(counts.take_expired(100), [[1; 16]]);
        assert!(counts.admit(&a, 9));
        (0..8).for_each(|n| counts.store(format!("c{n}").as_str().into(), [n; 16], 7, MIB));
        assert!(!counts.admit(&owner("z", "p"), 9), "all together are bounded");
        assert_eq!(counts.take_expired(7).len(), 8);
    }

    #[test]
    fn nothing_is_remembered_of_whoever_has_no_tasks() {
        let mut counts = counts(9);
        for number in 0..100_u8 {
            let owner = owner(&format!("c{number}"), &format!("p{number}"));
            assert!(counts.admit(&owner, 1));
            counts.end(&owner);
            counts.store(owner.caller, [number; 16], 5, 1);
        }
        assert_eq!(counts.bytes, 100 * MIN_BYTES);
        assert_eq!(counts.take_expired(5).len(), 100);
        assert!(counts.callers.is_empty() && counts.plugins.is_empty() && counts.stored.is_empty());
        assert_eq!((counts.bytes, counts.totals()), (0, (0, 0)));
    }
}
