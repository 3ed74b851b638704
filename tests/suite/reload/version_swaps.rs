//! Two builds of a plugin replace each other again and again while callers never pause: no call fails, no call that
//! begins after a version was published gets the one before, and no memory leaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use plugport_tests::containment::{GROWTH, Latencies, MAX_NEIGHBOUR_WAIT, Neighbour, ProcessStats};
use plugport_tests::guests::guest;
use plugport_tests::http_client::{Client, LEGACY};
use plugport_tests::reload::{install_guest, wait_for_log_times};
use plugport_tests::server::Server;
use serde_json::json;
use tokio::task::JoinHandle;

/// No rates, since all callers call one tool from one address as fast as they can. No pings, since the listening client
/// does nothing else.
const CONFIG: &str = "[server]\ncaller_calls_per_second = 1_000_000_000\nping_interval_s = 0\n\
                      [limits]\ntool_calls_per_second = 1_000_000_000\n";

/// The size of a run.
struct Trial {
    swaps: usize,
    callers: usize,
    /// Swaps before anything is measured: pools and caches fill.
    warm_up: usize,
    /// How long calls are measured without swaps.
    idle: Duration,
    /// By how much the 99th percentile during swaps may exceed twice that without swaps.
    slack: Duration,
}

/// C1 at full size. Run it with `--ignored --nocapture`, in release, on an idle machine.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "soak: a thousand swaps take about five minutes"]
async fn soak_a_thousand_swaps_fail_no_call() {
    let idle = Duration::from_secs(20);
    assert_unnoticed(Trial { swaps: 1_000, callers: 64, warm_up: 100, idle, slack: Duration::ZERO }).await;
}

/// C1 in the suite. An unoptimised server shares two busy cores with its callers here, and validating a listing uses a
/// core for longer than a call takes, so calls may wait as long as a neighbour of an attack.
#[tokio::test(flavor = "multi_thread")]
async fn swaps_fail_no_call() {
    let idle = Duration::from_secs(4);
    assert_unnoticed(Trial { swaps: 60, callers: 16, warm_up: 10, idle, slack: MAX_NEIGHBOUR_WAIT }).await;
}

/// The progress of the swaps. Swap 0 is the version at the start of the server.
#[derive(Default)]
struct Progress {
    /// The last swap that was begun.
    begun: AtomicUsize,
    /// The last swap that is known to be published: by `list_changed` or by a result.
    published: AtomicUsize,
    phase: AtomicUsize,
    over: AtomicBool,
}

const PHASES: usize = 4;
const IDLE: usize = 1;
const SWAPPING: usize = 3;

/// The waits of one caller, by phase.
type Waits = [Vec<Duration>; PHASES];

/// The result of the version that a swap installs.
fn version(swap: usize) -> &'static str {
    if swap.is_multiple_of(2) { "a" } else { "b" }
}

async fn assert_unnoticed(trial: Trial) {
    let build = std::fs::read(guest("version_a")).unwrap();
    let server = Server::builder().file("v.wasm", &build).config(CONFIG).alone().start().await;
    let mut stream = Client::new(server.url()).session(LEGACY).await.listen(None).await;
    let progress = Arc::new(Progress::default());
    let neighbour = Neighbour::new(server.url());
    let callers: Vec<_> = (0..trial.callers).map(|_| loop_on(&neighbour, &progress)).collect();

    tokio::time::sleep(Duration::from_secs(1)).await;
    enter(&progress, IDLE);
    tokio::time::sleep(trial.idle).await;
    enter(&progress, IDLE + 1);
    for number in 1..=trial.warm_up {
        swap(&server, &progress, number).await;
    }
    let start = ProcessStats::of(&server).settled().await;
    enter(&progress, SWAPPING);
    let begun = Instant::now();
    for number in trial.warm_up + 1..=trial.warm_up + trial.swaps {
        swap(&server, &progress, number).await;
    }
    let each = begun.elapsed() / u32::try_from(trial.swaps).unwrap();
    let end = ProcessStats::of(&server).wait_until_back_to(start).await;
    progress.over.store(true, Ordering::Relaxed);
    let (idle, during) = latencies(callers).await;
    let (memory, grown) = (end.memory >> 10, end.memory as i64 - start.memory as i64);
    println!(
        "{} swaps of {each:?} under {} callers: p99 {idle:?} without and {during:?} during swaps; {memory} KiB, {} KiB more \
         than after {} swaps; files {} to {}, threads {} to {}",
        trial.swaps,
        trial.callers,
        grown >> 10,
        trial.warm_up,
        start.files,
        end.files,
        start.threads,
        end.threads,
    );
    assert!(during <= 2 * idle + trial.slack, "p99 was {idle:?} without swaps and {during:?} during them");
    assert_flat(start, end);
    // Both builds describe the same, so a client has nothing to fetch.
    let told = tokio::time::timeout(Duration::from_millis(200), stream.message()).await;
    assert!(told.is_err(), "clients were told of a change that they cannot see: {told:?}");
    install_guest("polite", server.folder(), "polite.wasm");
    assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
}

fn enter(progress: &Progress, phase: usize) {
    progress.phase.store(phase, Ordering::Relaxed);
}

/// Installs the next version and waits until `list_changed` is sent. A call may have returned its result before.
async fn swap(server: &Server, progress: &Progress, number: usize) {
    progress.begun.store(number, Ordering::SeqCst);
    install_guest(&format!("version_{}", version(number)), server.folder(), "v.wasm");
    // It was announced once when the server started.
    wait_for_log_times(server, "published v: ", number + 1).await;
    progress.published.fetch_max(number, Ordering::SeqCst);
}

/// Calls until the end. Every call must have a result of a version that was served while it ran.
fn loop_on(neighbour: &Neighbour, progress: &Arc<Progress>) -> JoinHandle<Waits> {
    let (neighbour, progress) = (neighbour.clone(), Arc::clone(progress));
    tokio::spawn(async move {
        let mut waits = Waits::default();
        while !progress.over.load(Ordering::Relaxed) {
            let phase = progress.phase.load(Ordering::Relaxed);
            let published = progress.published.load(Ordering::SeqCst);
            let (waited, response) = neighbour.call("v-version", &json!({})).await;
            let begun = progress.begun.load(Ordering::SeqCst);
            assert!(
                (published..=begun).any(|swap| version(swap) == response),
                "{response} answered a call that began after swap {published} and ended before swap {begun} did"
            );
            if begun == published + 1 && version(begun) == response {
                progress.published.fetch_max(begun, Ordering::SeqCst);
            }
            waits[phase].push(waited);
        }
        waits
    })
}

/// The 99th percentile of the waits, without swaps and during them.
async fn latencies(callers: Vec<JoinHandle<Waits>>) -> (Duration, Duration) {
    let (mut idle, mut during) = (Vec::new(), Vec::new());
    for caller in callers {
        let mut waits = caller.await.unwrap();
        assert!(waits.iter().all(|phase| !phase.is_empty()), "a caller was not answered for a whole phase");
        idle.append(&mut waits[IDLE]);
        during.append(&mut waits[SWAPPING]);
    }
    (Latencies::of(idle).percentile(99), Latencies::of(during).percentile(99))
}

/// Nothing of the replaced versions is left. The engine has an open file with the image of a plugin's memory for as
/// long as the plugin or an instance of it exists, so the number of files shows leaked instances too.
fn assert_flat(start: ProcessStats, end: ProcessStats) {
    let grown = end.memory as i64 - start.memory as i64;
    assert!(grown < GROWTH, "resident memory grew by {grown} bytes, from {start:?} to {end:?}");
    assert!(end.files <= start.files + 2, "from {start:?} to {end:?}");
    assert!(end.threads <= start.threads + 2, "from {start:?} to {end:?}");
}
