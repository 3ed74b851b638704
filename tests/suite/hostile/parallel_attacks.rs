//! Three attackers at once on two cores, a campaign of generated attacks, and many hostile clients and plugins on a
//! small machine.
//!
//! The suite runs a short campaign against an unoptimised server, where a neighbour may wait longer now and then. The
//! bounds are meant for a release build that has the machine to itself: `cargo test --release -p plugport-tests soak_
//! -- --ignored --nocapture`, and `cargo run --release -p plugport-tests --bin parallel_attacks` for the table.

use std::time::Duration;

use plugport_tests::containment::{MAX_NEIGHBOUR_WAIT, ManyClients, ParallelAttack, attack_in_parallel};
use plugport_tests::corpus;
use plugport_tests::generator::Campaign;

/// The maximum wait of a neighbour in this many of a hundred calls.
const PERCENT: usize = if cfg!(debug_assertions) { 95 } else { 100 };

/// The maximum time of any call of a neighbour.
const SLOWEST: Duration = Duration::from_millis(if cfg!(debug_assertions) { 2_000 } else { 250 });

/// The maximum time from a client's disconnection to the end of its call.
const CANCELLED: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1_000 } else { 200 });

/// The server's maximum processor time in the 200 ms after its last call was cancelled: less than half of a core.
const AFTERWARDS: Duration = Duration::from_millis(100);

/// The drain time of connections, and a second.
const STOPPED: Duration = Duration::from_secs(6);

/// By how much a call that ended well may have exceeded `cpu_ms`: a guest runs for at most two epochs of 5 ms without a
/// pause.
const TICK: Duration = Duration::from_millis(10);

/// The exceeded bounds.
fn wrong(found: &ParallelAttack) -> Option<String> {
    let waited = found.waits.percentile(PERCENT);
    let cancelled = found.cancelled.percentile(100);
    let bounds = [
        ("a neighbour waited", waited, MAX_NEIGHBOUR_WAIT),
        ("a neighbour waited once", found.waits.percentile(100), SLOWEST),
        ("a cancelled call went on for", cancelled, CANCELLED),
        ("after cancelled calls the server computed for", found.afterwards, AFTERWARDS),
        ("the server took to stop", found.stopped, STOPPED),
        ("a call ended well with processor time of", found.most_cpu_of_ok, found.cpu + TICK),
    ];
    let beyond = bounds.iter().filter(|(_, is, max)| is >= max);
    let mut beyond: Vec<String> = beyond.map(|(what, is, _)| format!("{what} {is:?}")).collect();
    if found.under_way.iter().any(|under_way| *under_way < found.expected_under_way) {
        beyond.push(format!("{:?} of {} attacks were under way", found.under_way, found.expected_under_way));
    }
    (!beyond.is_empty()).then(|| format!("{}: {}", found.name, beyond.join(", ")))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "soak: every attack of these kinds for ten seconds takes twenty minutes"]
async fn soak_three_attackers_of_every_kind_leave_room_for_others() {
    let mut failed = Vec::new();
    println!("{}", ParallelAttack::HEADING);
    for (_, attack) in corpus::parallel_attacks() {
        let found = attack_in_parallel(attack, Duration::from_secs(10)).await;
        println!("{}", found.markdown());
        failed.extend(wrong(&found));
    }
    assert_eq!(failed, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_campaign_finds_nothing() {
    let (time, round) = (Duration::from_secs(16), Duration::from_secs(4));
    let found = Campaign { seed: 1, time, round, percent: PERCENT }.run().await;
    println!("{found:?}");
    assert!(found.calls > 20, "too little was tried: {found:?}");
}

/// The first seed is `PLUGPORT_SEED`, or the time; it is printed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "soak: half an hour"]
async fn soak_a_campaign_of_half_an_hour_finds_nothing() {
    let seed = seed();
    println!("PLUGPORT_SEED={seed}");
    let (time, round) = (Duration::from_secs(30 * 60), Duration::from_secs(10));
    let found = Campaign { seed, time, round, percent: PERCENT }.run().await;
    let ms = |percent| found.waits.percentile(percent).as_secs_f64() * 1e3;
    println!(
        "{} rounds from seed {seed}, {} calls ({:?}); a neighbour waited {:.1} ms, 99 in 100 {:.1}, at most {:.1}; {:+} MiB, in the rounds {:?}",
        found.rounds,
        found.calls,
        found.outcomes,
        ms(50),
        ms(99),
        ms(100),
        found.grown >> 20,
        found.own
    );
}

#[expect(clippy::disallowed_methods, reason = "whoever runs a soak again has to name its seed")]
fn seed() -> u64 {
    let from_environment = std::env::var("PLUGPORT_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    from_environment.unwrap_or_else(|| now.unwrap().as_secs())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "soak: ten minutes"]
async fn soak_many_clients_and_plugins_stay_within_a_gibibyte() {
    println!("{:?}", ManyClients { clients: 64, time: Duration::from_secs(600) }.assert_survived().await);
}
