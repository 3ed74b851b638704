//! Measures what busy plugins cost their neighbours: the time from a byte on a socket to the result of a tool of the
//! guest `polite`, alone and beside eight guests that compute without end. There are two worker threads, as on a
//! machine with two cores.
//!
//! `cargo measure fairness` builds the guests and runs this. It fails when the aim is missed three times in a row: one
//! run may share the machine with other work, which makes waits longer.

use std::io::Write as _;
use std::os::unix::net::UnixStream as Sender;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plugport::call_env::{Caller, NoClient};
use plugport::plugin::{Loader, Plugin};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::task::JoinSet;

use crate::support::{ARGS, GUEST, entry, loader};

const SPINNER: &str = "hostile_loop_in_call.wasm";
const SPINNERS: usize = 8;
const WAKES: usize = 2_000;

/// The pause between two wakes. A prime number of microseconds, to avoid synchronising with any period.
const PAUSE: Duration = Duration::from_micros(4_999);

/// Aim for the 99th percentile beside guests that spin.
const AIM: Duration = Duration::from_millis(5);

/// Maximum number of runs; the first that meets the aim ends the benchmark.
const RUNS: usize = 3;

pub fn run() -> ExitCode {
    // As in the server itself.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .event_interval(2)
        .enable_all()
        .build()
        .unwrap();
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        best = best.min(runtime.block_on(measure()));
        if best <= AIM {
            return ExitCode::SUCCESS;
        }
    }
    println!("the aim is not met: p99 was {best:?} at best, and may be {AIM:?}");
    ExitCode::FAILURE
}

/// Measures everything once. Returns the longest p99 beside guests that spin.
async fn measure() -> Duration {
    let loader = loader();
    let polite = plugin(&loader, GUEST, &[]).await;
    let endless = [("fuel", 1_000_000_000_000), ("cpu_ms", 600_000), ("wall_ms", 600_000)];
    let spinner = plugin(&loader, SPINNER, &endless).await;
    println!("wake by a socket and echo, {WAKES} times                p50 µs    p99 µs    max µs");
    let mut worst = Duration::ZERO;
    for spinners in [0, 2, SPINNERS] {
        let mut spinning = JoinSet::new();
        for _ in 0..spinners {
            let spinner = Arc::clone(&spinner);
            let client = Arc::new(NoClient(Caller::CommandLine));
            spinning.spawn(async move { spinner.call_tool("spin", "{}", client).await });
        }
        let mut waits = wakes(Arc::clone(&polite)).await;
        assert!(spinning.try_join_next().is_none(), "a guest stopped spinning");
        spinning.shutdown().await;
        waits.sort();
        let p99 = row(spinners, &waits);
        if spinners > 0 {
            worst = worst.max(p99);
        }
    }
    worst
}

/// Prints a row of the table, and returns its p99.
fn row(spinners: usize, waits: &[Duration]) -> Duration {
    let at = |part: f64| waits[((waits.len() as f64 * part) as usize).min(waits.len() - 1)];
    let us = |part| at(part).as_secs_f64() * 1e6;
    let aim = if spinners == 0 { String::new() } else { format!("  (aim: p99 at most {})", AIM.as_micros()) };
    println!("beside {spinners} guests that spin {:>32.0}{:>10.0}{:>10.0}{aim}", us(0.5), us(0.99), us(1.0));
    at(0.99)
}

async fn plugin(loader: &Loader, file: &str, limits: &[(&str, u64)]) -> Arc<Plugin> {
    let guest = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/guests")).join(file);
    assert!(guest.is_file(), "{} is missing; run `cargo measure fairness`, which builds it", guest.display());
    entry(loader, &guest, limits).await.plugin
}

/// A thread sends bytes; each wakes a task that calls the plugin. Returns the duration of each.
async fn wakes(polite: Arc<Plugin>) -> Vec<Duration> {
    let (mut sender, receiver) = Sender::pair().unwrap();
    receiver.set_nonblocking(true).unwrap();
    let mut receiver = UnixStream::from_std(receiver).unwrap();
    let (times, mut sent) = tokio::sync::mpsc::channel(WAKES);
    let sending = std::thread::spawn(move || {
        for _ in 0..WAKES {
            std::thread::sleep(PAUSE);
            times.blocking_send(Instant::now()).unwrap();
            sender.write_all(b"x").unwrap();
        }
    });
    let served = tokio::spawn(async move {
        let mut waits = Vec::with_capacity(WAKES);
        let mut byte = [0; 1];
        for _ in 0..WAKES {
            receiver.read_exact(&mut byte).await.unwrap();
            polite.call_tool("echo", ARGS, Arc::new(NoClient(Caller::CommandLine))).await.outcome.unwrap();
            waits.push(sent.recv().await.unwrap().elapsed());
        }
        waits
    });
    let waits = served.await.unwrap();
    sending.join().unwrap();
    waits
}
