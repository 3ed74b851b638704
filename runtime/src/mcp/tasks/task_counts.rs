//! The limits on tasks: how many are unfinished, and how many bytes of results are stored, of each caller, of each
//! plugin and of all.
//!
//! Pure: it knows no clock, no disk and no task. A caller or a plugin at its bound gets no new task; it never takes
//! anything from another, and no result is deleted before its time. Bytes are counted before they are written, and
//! until they are deleted.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::sandbox::RecordId;

/// What a record counts besides its result, in bytes: its head, its pages in the database and its entry here.
const RECORD_BYTES: u64 = 4 << 10;

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

/// When a record expires, in milliseconds since 1970, and its id.
pub(super) type Expiry = (u64, RecordId);

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
    /// The records that stay until they expire, with their callers and their bytes.
    stored: BTreeMap<Expiry, (Arc<str>, u64)>,
}

impl TaskCounts {
    pub(super) fn new(bounds: TaskBounds) -> Self {
        let (plugins, callers, stored) = (HashMap::new(), HashMap::new(), BTreeMap::new());
        Self { bounds, unfinished: 0, bytes: 0, plugins, callers, stored }
    }

    /// Counts a new task and its record, if there is room for them. The plugin may have `max_tasks`.
    pub(super) fn admit(&mut self, owner: &TaskOwner, max_tasks: usize) -> bool {
        let caller = self.callers.get(&owner.caller).copied().unwrap_or_default();
        let of_plugin = self.plugins.get(&owner.plugin).copied().unwrap_or_default();
        let has_room = self.unfinished < self.bounds.tasks
            && of_plugin < max_tasks
            && caller.unfinished < TASKS_OF_CALLER
            && self.add_if_it_fits(&owner.caller, RECORD_BYTES);
        if has_room {
            self.unfinished += 1;
            *self.plugins.entry(Arc::clone(&owner.plugin)).or_default() += 1;
            self.callers.entry(Arc::clone(&owner.caller)).or_default().unfinished += 1;
        }
        has_room
    }

    /// Counts the result of an unfinished task, if it fits.
    pub(super) fn add_result(&mut self, owner: &TaskOwner, bytes: u64) -> bool {
        self.add_if_it_fits(&owner.caller, bytes)
    }

    /// The record of an unfinished task, with a counted result of `bytes`, stays until it expires.
    pub(super) fn keep(&mut self, owner: &TaskOwner, expiry: Expiry, bytes: u64) {
        let bytes = bytes.saturating_add(RECORD_BYTES);
        self.stored.insert(expiry, (Arc::clone(&owner.caller), bytes));
    }

    /// A task has ended, and its record is counted as stored.
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

    /// A task ended before it had a record.
    pub(super) fn end_without_record(&mut self, owner: &TaskOwner) {
        self.subtract(&owner.caller, RECORD_BYTES);
        self.end(owner);
    }

    /// Counts a record that was on the disk before. What does not fit is counted all the same.
    pub(super) fn load(&mut self, caller: Arc<str>, expiry: Expiry, bytes: u64) {
        let bytes = bytes.saturating_add(RECORD_BYTES);
        self.add(&caller, bytes);
        self.stored.insert(expiry, (caller, bytes));
    }

    /// The records that have expired at `now`. They count until [`Self::deleted`].
    pub(super) fn expired(&self, now: u64) -> Vec<Expiry> {
        self.stored.keys().take_while(|(expires, _)| *expires <= now).copied().collect()
    }

    /// These records are not on the disk any more.
    pub(super) fn deleted(&mut self, expired: &[Expiry]) {
        for expiry in expired {
            if let Some((caller, bytes)) = self.stored.remove(expiry) {
                self.subtract(&caller, bytes);
            }
        }
    }

    /// Unfinished tasks, and stored ones.
    pub(super) fn totals(&self) -> (usize, usize) {
        (self.unfinished, self.stored.len())
    }

    fn add_if_it_fits(&mut self, caller: &Arc<str>, bytes: u64) -> bool {
        let of_caller = self.callers.get(caller).copied().unwrap_or_default().bytes;
        let fits = |used: u64, max: u64| used.saturating_add(bytes) <= max;
        let fits_both =
            fits(self.bytes, self.bounds.bytes) && fits(of_caller, self.bounds.bytes / SHARE_OF_CALLER);
        if fits_both {
            self.add(caller, bytes);
        }
        fits_both
    }

    fn add(&mut self, caller: &Arc<str>, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.change(caller, |tasks| tasks.bytes = tasks.bytes.saturating_add(bytes));
    }

    fn subtract(&mut self, caller: &Arc<str>, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.change(caller, |tasks| tasks.bytes = tasks.bytes.saturating_sub(bytes));
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
        counts.end_without_record(&owner("a", "p"));
        assert!(counts.admit(&owner("b", "p"), 1));
        assert_eq!(counts.totals(), (3, 0));
    }

    #[test]
    fn results_count_before_they_are_written_and_until_they_are_deleted() {
        let mut counts = counts(9);
        let (a, b) = (owner("a", "p"), owner("b", "p"));
        assert!(counts.admit(&a, 9) && counts.admit(&a, 9));
        let left = MIB - 2 * RECORD_BYTES;
        assert!(!counts.add_result(&a, left + 1) && counts.add_result(&a, left));
        assert!(!counts.add_result(&a, 1) && counts.add_result(&b, MIB), "the other task of a caller waits");
        counts.keep(&a, (100, [1; 16]), left);
        counts.end(&a);
        assert!(!counts.admit(&a, 9) && counts.expired(99).is_empty());
        let expired = counts.expired(100);
        assert_eq!(expired, [(100, [1; 16])]);
        assert!(!counts.admit(&a, 9), "it is on the disk until it is deleted");
        counts.deleted(&expired);
        counts.deleted(&expired);
        assert_eq!(counts.callers["a"], CallerTasks { unfinished: 1, bytes: RECORD_BYTES });
    }

    #[test]
    fn all_callers_together_are_bounded() {
        let mut counts = counts(9);
        (0..8).for_each(|n| counts.load(format!("c{n}").as_str().into(), (7, [n; 16]), MIB));
        assert!(!counts.admit(&owner("z", "p"), 9));
        counts.deleted(&counts.expired(7));
        assert!(counts.admit(&owner("z", "p"), 9));
    }

    #[test]
    fn nothing_is_remembered_of_whoever_has_no_tasks() {
        let mut counts = counts(9);
        for number in 0..100_u8 {
            let owner = owner(&format!("c{number}"), &format!("p{number}"));
            assert!(counts.admit(&owner, 1) && counts.add_result(&owner, 5));
            counts.keep(&owner, (5, [number; 16]), 5);
            counts.end(&owner);
        }
        assert_eq!(counts.bytes, 100 * (RECORD_BYTES + 5));
        let expired = counts.expired(5);
        assert_eq!(expired.len(), 100);
        counts.deleted(&expired);
        assert!(counts.callers.is_empty() && counts.plugins.is_empty() && counts.stored.is_empty());
        assert_eq!((counts.bytes, counts.totals()), (0, (0, 0)));
    }

    #[test]
    fn a_million_tasks_of_one_caller_leave_nothing() {
        let mut counts = counts(9);
        let owner = owner("a", "p");
        for number in 0..1_000_000_u64 {
            assert!(counts.admit(&owner, 1) && counts.add_result(&owner, 100), "{number}");
            counts.keep(&owner, (number, u128::from(number).to_le_bytes()), 100);
            counts.end(&owner);
            if number % 100 == 99 {
                counts.deleted(&counts.expired(number));
            }
        }
        assert!(counts.callers.is_empty() && counts.plugins.is_empty() && counts.stored.is_empty());
        assert_eq!((counts.bytes, counts.totals()), (0, (0, 0)));
    }
}
