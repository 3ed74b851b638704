//! Tests of quotas with many simultaneous callers, across restarts, and in a flood of new callers.

use std::cell::RefCell;

use super::usage_table::MAX_CALLERS;
use super::*;

const START: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn role(name: &str, rates: &[(QuotaKind, u64)], concurrent: Option<u32>) -> RoleQuota {
    RoleQuota { role: name.into(), quota: Arc::new(QuotaConfig::of(rates, concurrent)) }
}

fn calls(name: &str, per_day: u64) -> RoleQuota {
    role(name, &[(QuotaKind::CallsPerDay, per_day)], None)
}

fn ada() -> QuotaCaller {
    QuotaCaller::principal("token:ada")
}

/// A file that records all buckets it was given.
#[derive(Default)]
struct FakeFile(RefCell<Vec<(BucketKey, StoredBucket)>>);

impl WriteAheadLog for FakeFile {
    fn put(&self, key: BucketKey, stored: StoredBucket) -> u64 {
        let mut lines = self.0.borrow_mut();
        lines.push((key, stored));
        lines.len() as u64
    }
}

/// Whether a call is admitted. The call ends at once.
fn is_admitted(
    table: &mut UsageTable,
    caller: QuotaCaller,
    roles: &[RoleQuota],
    now: u64,
    file: &FakeFile,
) -> bool {
    let Ok(Some(admitted)) = table.admit(caller, roles, now, file) else { return false };
    table.end(&admitted.key);
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_calls_as_the_quota_has_are_admitted_however_many_come_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut sum = 0;
    for round in 0..3 {
        let quotas = Arc::new(Quotas::new(Some(dir.path().to_owned())));
        quotas.open();
        let tasks: Vec<_> = (0..64)
            .map(|_| {
                let quotas = Arc::clone(&quotas);
                tokio::spawn(async move {
                    let mut admitted = 0;
                    for _ in 0..5 {
                        admitted += usize::from(quotas.admit(ada(), &[calls("a", 101)]).await.is_ok());
                    }
                    admitted
                })
            })
            .collect();
        for task in tasks {
            sum += task.await.unwrap();
        }
        assert_eq!(sum, 101, "in round {round}");
        assert!(quotas.admit(QuotaCaller::principal("token:bob"), &[calls("a", 101)]).await.is_ok());
        assert!(quotas.admit(ada(), &[calls("b", 101)]).await.is_ok(), "another role counts on its own");
    }
}

#[test]
fn sixty_four_threads_take_no_more_than_there_is() {
    let (quotas, role) = (Arc::new(Quotas::new(None)), calls("a", 1_000));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let handle = runtime.handle();
    let admitted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..64)
            .map(|_| {
                scope.spawn(|| {
                    let role = [role.clone()];
                    (0..100).filter(|_| handle.block_on(quotas.admit(ada(), &role)).is_ok()).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(admitted, 1_000);
}

#[test]
fn a_server_that_is_killed_at_any_moment_gives_no_more() {
    for killed_after in 0..40 {
        let (role, file) = ([calls("a", 32)], FakeFile::default());
        let mut table = UsageTable::default();
        let before =
            (0..killed_after).filter(|n| is_admitted(&mut table, ada(), &role, START + *n, &file)).count();
        let mut table = UsageTable::default();
        for (key, stored) in file.0.into_inner() {
            table.restore(key, stored);
        }
        let file = FakeFile::default();
        let after =
            (0..100).filter(|n| is_admitted(&mut table, ada(), &role, START + SECOND + *n, &file)).count();
        assert!(before + after <= 32, "{before} and {after}");
        assert!(before + after >= 29, "a restart takes a sixteenth and no more: {before} and {after}");
    }
}

#[test]
fn a_clock_that_goes_back_locks_nobody_out_also_after_a_restart() {
    let (role, file) = ([calls("a", 2)], FakeFile::default());
    let mut table = UsageTable::default();
    assert!((0..2).all(|_| is_admitted(&mut table, ada(), &role, START, &file)));
    let back = START - 365 * 86_400 * SECOND;
    let over = table.admit(ada(), &role, back, &file).unwrap_err();
    assert_eq!(over.retry_after_s(), 36 * 3_600, "a day of debt, and what one call needs");
    let free = back + 36 * 3_600 * SECOND;
    assert!(!is_admitted(&mut table, ada(), &role, free - 1, &file));
    assert!(is_admitted(&mut table, ada(), &role, free, &file));
    let mut table = UsageTable::default();
    for (key, stored) in file.0.into_inner() {
        table.restore(key, stored);
    }
    let over = table.admit(ada(), &role, free, &FakeFile::default()).unwrap_err();
    assert!(over.retry_after_s() < 14 * 3_600, "the file has the TAT of the new clock: {over}");
}

#[test]
fn after_a_restart_a_smaller_number_makes_nobody_wait_for_a_day() {
    let file = FakeFile::default();
    assert!(is_admitted(&mut UsageTable::default(), ada(), &[calls("a", 1_000)], START, &file));
    let mut table = UsageTable::default();
    for (key, stored) in file.0.into_inner() {
        table.restore(key, stored);
    }
    let over = table.admit(ada(), &[calls("a", 10)], START, &FakeFile::default()).unwrap_err();
    assert!(over.retry_after_s() <= 86_400 / 10, "{over}");
}

#[tokio::test]
async fn a_call_that_runs_while_the_number_changes_goes_on_by_the_new_one() {
    let quotas = Arc::new(Quotas::default());
    let tokens = |number| [role("a", &[(QuotaKind::SamplingTokensPerDay, number)], None)];
    let begun = quotas.admit(ada(), &tokens(1_000_000)).await.unwrap().unwrap();
    assert!(begun.reserve_tokens(500_000).await.is_ok());
    for _ in 0..3 {
        assert!(quotas.admit(ada(), &tokens(1_000)).await.is_ok(), "a call needs no tokens");
        let over = begun.reserve_tokens(900).await.unwrap_err();
        assert_eq!(over.value(), 1_000, "half of a million was used");
    }
}

#[tokio::test]
async fn no_more_is_given_back_after_a_change_than_was_reserved() {
    let quotas = Arc::new(Quotas::default());
    let tokens = |number| [role("a", &[(QuotaKind::SamplingTokensPerDay, number)], None)];
    let begun = quotas.admit(ada(), &tokens(100)).await.unwrap().unwrap();
    let reservation = begun.reserve_tokens(100).await.unwrap();
    let later = quotas.admit(ada(), &tokens(1_000)).await.unwrap().unwrap();
    assert!(later.reserve_tokens(900).await.is_ok());
    begun.refund(reservation);
    assert!(later.reserve_tokens(200).await.is_err(), "900 of 1,000 are used");
}

#[test]
fn there_are_few_writes() {
    let (role, file) = ([calls("a", 3_200)], FakeFile::default());
    let mut table = UsageTable::default();
    let admitted = (0..5_000).filter(|n| is_admitted(&mut table, ada(), &role, START + *n, &file)).count();
    assert_eq!(admitted, 3_200);
    assert!(file.0.borrow().len() <= 17, "{}", file.0.borrow().len());
}

#[test]
fn a_caller_with_several_roles_uses_one_after_the_other() {
    let (roles, file) = ([calls("a", 2), calls("b", 3)], FakeFile::default());
    let mut table = UsageTable::default();
    let admitted = (0..9).filter(|_| is_admitted(&mut table, ada(), &roles, START, &file)).count();
    assert_eq!(admitted, 5);
    let over = table.admit(ada(), &roles, START, &file).unwrap_err();
    assert_eq!(
        (over.role(), over.value(), over.retry_after_s()),
        ("b", 3, 28_800),
        "the one that is free first"
    );
    assert!(table.admit(ada(), &[], START, &file).unwrap().is_none());
}

#[test]
fn a_number_that_divides_no_period_is_exact() {
    for number in [7, 11, 13, 9_973] {
        let (role, file) = ([calls("a", number)], FakeFile::default());
        let mut table = UsageTable::default();
        let mut admitted = 0;
        while is_admitted(&mut table, ada(), &role, START, &file) {
            admitted += 1;
        }
        assert_eq!(admitted, number);
    }
}

#[tokio::test]
async fn calls_that_run_are_counted_until_they_end() {
    let quotas = Arc::new(Quotas::default());
    let role = [role("a", &[], Some(2))];
    let (one, two) = (quotas.admit(ada(), &role).await.unwrap(), quotas.admit(ada(), &role).await.unwrap());
    let over = quotas.admit(ada(), &role).await.unwrap_err();
    assert_eq!(over.limit_name(), "quota:concurrent");
    drop(one);
    assert!(quotas.admit(ada(), &role).await.is_ok());
    drop(two);
}

#[tokio::test]
async fn what_a_call_used_is_charged_when_it_has_ended() {
    let quotas = Arc::new(Quotas::default());
    let role = [role("a", &[(QuotaKind::FuelPerHour, 1_000_000), (QuotaKind::CpuPerHour, 10)], None)];
    let charge = quotas.admit(ada(), &role).await.unwrap().unwrap();
    let running = quotas.admit(ada(), &role).await.unwrap().unwrap();
    charge.used(1_500_000, Duration::ZERO);
    drop(charge);
    let over = quotas.admit(ada(), &role).await.unwrap_err();
    assert_eq!(over.limit_name(), "quota:fuel_per_hour");
    assert!((1_790..=1_801).contains(&over.retry_after_s()), "{}", over.retry_after_s());
    running.used(0, Duration::from_secs(11));
    let bob = QuotaCaller::principal("token:bob");
    let charge = quotas.admit(bob, &role).await.unwrap().unwrap();
    charge.used(1, Duration::from_secs(11));
    assert_eq!(quotas.admit(bob, &role).await.unwrap_err().limit_name(), "quota:cpu_s_per_hour");
}

#[tokio::test]
async fn tokens_are_reserved_and_given_back() {
    let quotas = Arc::new(Quotas::default());
    let role = [role("a", &[(QuotaKind::SamplingTokensPerDay, 1_000)], None)];
    let charge = quotas.admit(ada(), &role).await.unwrap().unwrap();
    let reservation = charge.reserve_tokens(900).await.unwrap();
    assert_eq!(charge.reserve_tokens(200).await.unwrap_err().limit_name(), "quota:sampling_tokens_per_day");
    charge.refund(reservation);
    assert!(charge.reserve_tokens(1_000).await.is_ok());
    assert!(charge.reserve_tokens(1).await.is_err());
    assert!(quotas.admit(ada(), &role).await.is_ok(), "a call needs no tokens");
}

#[test]
fn in_a_flood_the_new_callers_pay() {
    let (role, file) = ([calls("a", 2)], FakeFile::default());
    let mut table = UsageTable::default();
    let at = |n: usize| QuotaCaller::anonymous(&n.to_string());
    assert!((0..2).all(|_| is_admitted(&mut table, at(0), &role, START, &file)));
    for n in 1..2 * MAX_CALLERS {
        is_admitted(&mut table, at(n), &role, START, &file);
    }
    assert_eq!(table.callers(), MAX_CALLERS + 1, "the last one is shared");
    assert!(!is_admitted(&mut table, at(0), &role, START, &file), "the flood gives back nothing");
    assert!(
        !is_admitted(&mut table, at(3 * MAX_CALLERS), &role, START, &file),
        "a new caller shares with others"
    );
    assert!(is_admitted(&mut table, ada(), &role, START, &file), "principals have room of their own");
    let whole = START + 86_400 * SECOND + SECOND;
    assert!(is_admitted(&mut table, at(3 * MAX_CALLERS), &role, whole, &file));
    assert_eq!(
        table.callers(),
        2,
        "callers that are whole again are forgotten, but for other kinds of callers"
    );
}
