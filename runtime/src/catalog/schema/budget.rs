//! A budget for validating one value against one schema.
//!
//! A few kilobytes of schema can describe endless work, and a plugin writes its own schemas. The validator cannot be
//! interrupted from outside, so it reads the value through [`charged_json`](super::charged_json), which charges before
//! every read: a keyword that compares a value with a thousand others reads it a thousand times. Where nothing is read,
//! [marked](super::subschema_charge) subschemas charge. When the budget is used up, the validator is unwound. Chained
//! references recurse deeply: each level of the value may go through the whole schema. So the validator runs on a stack
//! that is large enough, up to [`STACK`], and is unwound when it comes near the end of its stack.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::sandbox::{WorkBudget, WorkStopped};

/// Steps between two checks of the work budget, some ten microseconds.
const CHECK_INTERVAL: u64 = 1_000;

/// Bytes of text that are compared or counted in one step.
const BYTES: u64 = 256;

/// States of a regular expression times bytes of text that are one step. A search that falls back to following all
/// states at once takes some nanoseconds for each.
const STATES: u64 = 128;

/// Most steps of one search with a regular expression, which nothing interrupts: some 10 ms, and 50 ms when it follows
/// all states at once.
const MAX_SEARCH: u64 = 200_000;

/// Memory for the faults of one value, bytes. Each fault has its path and parts of the schema.
const FAULTS: usize = 32 << 20;

/// Least memory of one fault, bytes.
const FAULT: usize = 512;

/// The largest stack: enough for a chain of a thousand references at the deepest value that is accepted. Only address
/// space until it is used.
const STACK: usize = 512 << 20;

/// Most stack of one subschema, which it takes in an unoptimised build.
const SUBSCHEMA: usize = 12 << 10;

/// Stack of a validation besides its subschemas.
const BASE: usize = 256 << 10;

/// The steps of one validation, and the sizes that its charges depend on.
#[derive(Debug, Clone)]
pub(super) struct SchemaBudget {
    pub(super) steps: u64,
    pub(super) work_budget: Option<WorkBudget>,
    /// States of the largest regular expression.
    pub(super) states: u64,
    /// Bytes of the schema, and of the value.
    pub(super) schema: usize,
    pub(super) value: usize,
    /// See [`subschema_charge::subschemas_per_level`](super::subschema_charge::subschemas_per_level).
    pub(super) subschemas_per_level: usize,
}

/// Why a validation was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BudgetError {
    /// The steps or the stack are used up, or one search would take more than [`MAX_SEARCH`].
    Exhausted,
    /// The faults take too much memory.
    Faults,
    /// The work budget is used up, or the work was abandoned.
    Stopped(WorkStopped),
}

/// The validation that runs on this thread.
struct RunningCheck {
    budget: SchemaBudget,
    faults: usize,
    /// Longest name of a field, which may be part of a fault's path.
    name: usize,
}

thread_local! {
    /// Steps until the next check of the work budget.
    static REMAINING: Cell<u64> = const { Cell::new(0) };
    /// Stack that must remain at every charge, bytes.
    static MIN_STACK: Cell<usize> = const { Cell::new(0) };
    static CHECK: RefCell<Option<RunningCheck>> = const { RefCell::new(None) };
}

/// Charges steps, before the work is done. Outside of a validation nothing is charged.
pub(super) fn charge(steps: u64) {
    match REMAINING.get().checked_sub(steps) {
        Some(remaining) => REMAINING.set(remaining),
        None => refill(steps - REMAINING.get()),
    }
    let min_stack = MIN_STACK.get();
    if min_stack > 0 && stacker::remaining_stack().is_some_and(|remaining| remaining < min_stack) {
        abort_check(BudgetError::Exhausted);
    }
}

/// Charges for text that is compared or counted.
pub(super) fn charge_bytes(bytes: usize) {
    charge(1 + bytes as u64 / BYTES);
}

/// Charges for text that a regular expression may be about to search.
pub(super) fn charge_search(bytes: usize) {
    let states = with_check(|check| Ok(check.budget.states)).unwrap_or(1);
    let steps = (bytes as u64 + 8).saturating_mul(states) / STATES;
    if steps > MAX_SEARCH {
        abort_check(BudgetError::Exhausted);
    }
    charge(1 + steps);
}

/// Notes the name of a field.
pub(super) fn note_name(bytes: usize) {
    if bytes > FAULT {
        with_check(|check| {
            check.name = check.name.max(bytes);
            Ok(())
        });
    }
}

/// Charges for a fault before it is described. With `is_whole` the description may repeat the whole value.
pub(super) fn charge_fault(is_whole: bool) {
    charge(1);
    with_check(|check| {
        let SchemaBudget { schema, value, .. } = check.budget;
        let value_bytes = if is_whole { value } else { 0 };
        let parts = schema.saturating_add(check.name).saturating_mul(8).saturating_add(value_bytes);
        let faults = check.faults.checked_sub(FAULT.saturating_add(parts));
        check.faults = faults.ok_or(BudgetError::Faults)?;
        Ok(())
    });
}

#[cold]
fn refill(beyond: u64) {
    REMAINING.set(0);
    let next = with_check(|check| {
        let remaining = check.budget.steps.checked_sub(beyond).ok_or(BudgetError::Exhausted)?;
        if let Some(work_budget) = &check.budget.work_budget {
            work_budget.check().map_err(BudgetError::Stopped)?;
        }
        let next = remaining.min(CHECK_INTERVAL);
        check.budget.steps = remaining - next;
        Ok(next)
    });
    REMAINING.set(next.unwrap_or_default());
}

/// Runs `act` on the running validation, if there is one, and aborts the validation on an error.
fn with_check<T>(act: impl FnOnce(&mut RunningCheck) -> Result<T, BudgetError>) -> Option<T> {
    CHECK
        .with_borrow_mut(|check| check.as_mut().map(act))
        .map(|done| done.unwrap_or_else(|ended| abort_check(ended)))
}

/// Unwinds without a panic message; only `with_budget` catches it.
fn abort_check(ended: BudgetError) -> ! {
    resume_unwind(Box::new(ended))
}

/// Runs `work` with a budget.
pub(super) fn with_budget<T>(budget: &SchemaBudget, work: impl FnOnce() -> T) -> Result<T, BudgetError> {
    let check = RunningCheck { budget: budget.clone(), faults: FAULTS, name: 0 };
    let outer = (
        REMAINING.replace(0),
        MIN_STACK.replace(one_level(budget.subschemas_per_level)),
        CHECK.replace(Some(check)),
    );
    let done = catch_unwind(AssertUnwindSafe(work));
    REMAINING.set(outer.0);
    MIN_STACK.set(outer.1);
    CHECK.set(outer.2);
    done.map_err(|cause| match cause.downcast::<BudgetError>() {
        Ok(ended) => *ended,
        Err(panic) => resume_unwind(panic),
    })
}

/// Runs `work` on a large stack, which takes some microseconds. For work that is done once for each schema.
pub(super) fn with_big_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK / 2, STACK, work)
}

/// Runs a validation on a stack for `subschemas_per_level` subschemas at each of `levels` levels of a value, and at one
/// more.
pub(super) fn with_stack_for<T>(subschemas_per_level: usize, levels: usize, check: impl FnOnce() -> T) -> T {
    let size = one_level(subschemas_per_level)
        .saturating_mul(levels.saturating_add(2))
        .saturating_add(BASE)
        .min(STACK);
    stacker::maybe_grow(size, size, check)
}

/// Most stack that is taken between two charges.
fn one_level(subschemas_per_level: usize) -> usize {
    subschemas_per_level.saturating_mul(SUBSCHEMA).min(STACK / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn budget(steps: u64, work_budget: Option<WorkBudget>) -> SchemaBudget {
        SchemaBudget { steps, work_budget, states: 1, schema: 100, value: 100, subschemas_per_level: 0 }
    }

    fn endless() {
        loop {
            charge(1);
        }
    }

    #[test]
    fn a_budget_ends_the_work_and_leaves_the_outer_one() {
        let outer = with_budget(&budget(10, None), || {
            charge(4);
            assert_eq!(with_budget(&budget(100_000, None), endless), Err(BudgetError::Exhausted));
            charge(6);
            7
        });
        assert_eq!(outer, Ok(7));
        assert_eq!(with_budget(&budget(10, None), || charge(11)), Err(BudgetError::Exhausted));
    }

    #[test]
    fn a_stack_is_as_large_as_a_check_may_need_and_ends_it_before_its_own_end() {
        fn deeper(level: u64) -> u64 {
            charge(1);
            if level == u64::MAX { 0 } else { deeper(level + 1) + 1 }
        }
        let left = |subschemas_per_level, levels| {
            with_stack_for(subschemas_per_level, levels, stacker::remaining_stack).unwrap()
        };
        assert!(left(20, 5) < 16 << 20, "that of the thread");
        assert!((16 << 20..32 << 20).contains(&left(100, 18)));
        assert!(left(100_000, 60) > STACK - (1 << 20));
        let deep = SchemaBudget { subschemas_per_level: 20, ..budget(u64::MAX, None) };
        let ended = with_stack_for(20, 5, || with_budget(&deep, || deeper(0)));
        assert_eq!(ended, Err(BudgetError::Exhausted));
    }

    #[test]
    fn a_work_budget_ends_the_work() {
        let work_budget = WorkBudget::of(Duration::from_millis(10));
        let ended = with_budget(&budget(u64::MAX, Some(work_budget)), endless);
        assert_eq!(ended, Err(BudgetError::Stopped(WorkStopped::Cpu)));
    }

    #[test]
    fn one_search_is_never_long() {
        let wide = SchemaBudget { states: 10_000, ..budget(u64::MAX, None) };
        assert_eq!(with_budget(&wide, || charge_search(1 << 20)), Err(BudgetError::Exhausted));
        assert_eq!(with_budget(&budget(u64::MAX, None), || charge_search(4 << 20)), Ok(()));
    }

    #[test]
    fn faults_fit_into_memory() {
        let told = Cell::new(0);
        let many = SchemaBudget { schema: 64 << 10, ..budget(u64::MAX, None) };
        let ended: Result<(), _> = with_budget(&many, || {
            loop {
                charge_fault(false);
                told.set(told.get() + 1);
            }
        });
        assert_eq!((ended, told.get()), (Err(BudgetError::Faults), 63));
    }
}
