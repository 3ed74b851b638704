//! Measures what telemetry costs a call, in one run: `POST /mcp` without a socket, without `[telemetry]`, with metrics,
//! with a trace that is not sampled, and with one that is. Then it measures what a bad collector does to calls.
//!
//! The cases take turns, a thousand calls each, so that a machine that becomes slower becomes slower for all. The
//! figures are the fastest round of each case, which the rest of the machine disturbed least, and the median of the
//! rounds. What counts is the median of the differences to the first case, each within one round; it stands beside the
//! aim. After a round with sampled traces the exporter empties the queue, into a port at which nobody listens; the last
//! line is what it takes for the spans of a call.
//!
//! For the bad collectors, one connection calls three servers in turns over loopback HTTP, a second each: one without a
//! collector, one at whose collector's port nobody listens, and one whose collector reads and never answers. What
//! counts is the median of the ratios of the 99th percentiles, each within one round.

use std::io::Read as _;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::support::connection::Connection;
use crate::support::http::{InProcess, request};
use crate::support::in_process::{BenchFn as _, runtime, thread_cpu};
use crate::support::{entry, guest_file, loader, quantile, verdict};
use plugport::catalog::{Catalog, Snapshot};
use plugport::config::ServerConfig;
use plugport::mcp::Server;
use plugport::observe::trace::{OtlpTarget, TraceExporter, Tracer};
use plugport::transport::http::{Listener, ServerRoutes, router, serve};
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 60;
const CALLS: usize = 1_000;

/// More than there are calls, so that each is sampled.
const EVERY_TRACE: u64 = 1_000_000_000;

/// Longer than the exporter takes for the spans of a round: two for each call, which the queue holds.
const EXPORT_TIME: Duration = Duration::from_millis(50);

/// What a case measures: its name, whether requests are counted, the traces in a second, and how many µs of processor
/// time more than the first case a call should take at most.
type Case = (&'static str, bool, Option<u64>, Option<f64>);

const CASES: [Case; 5] = [
    ("without [telemetry]", false, None, None),
    ("metrics", true, None, Some(0.3)),
    ("a trace that is not sampled", false, Some(1), Some(0.5)),
    ("a trace that is sampled", false, Some(EVERY_TRACE), Some(4.0)),
    ("metrics and a trace that is sampled", true, Some(EVERY_TRACE), None),
];

/// The servers of [`with_bad_collectors`], each with the port of its collector.
type Collectors = [(&'static str, Option<u16>); 3];

/// The most that the configuration allows.
const TRACES_PER_SECOND: u64 = 1_000;

const WINDOWS: usize = 10;
const WINDOW: Duration = Duration::from_secs(1);

/// A bad collector must change nothing, as far as this can be measured.
const RATIO_AIM: f64 = 1.1;

pub fn run() {
    let guest = guest_file("telemetry");
    runtime().block_on(async {
        let mut subjects = Vec::new();
        for case in CASES {
            subjects.push(subject(&guest, case).await);
        }
        let (mut times, mut export_times) = (vec![Vec::new(); CASES.len()], Vec::new());
        for _ in 0..ROUNDS {
            for ((subject, times), (_, _, rate, _)) in subjects.iter_mut().zip(&mut times).zip(CASES) {
                times.push(round(subject).await);
                if rate == Some(EVERY_TRACE) {
                    let begun = thread_cpu();
                    tokio::time::sleep(EXPORT_TIME).await;
                    export_times.push(per_call(begun));
                }
            }
        }
        print(&times, &export_times);
    });
    with_bad_collectors(&guest);
}

/// Processor time of one call, µs.
async fn round(subject: &mut InProcess) -> f64 {
    let begun = thread_cpu();
    for _ in 0..CALLS {
        subject.once().await;
    }
    per_call(begun)
}

fn per_call(begun: f64) -> f64 {
    (thread_cpu() - begun) / CALLS as f64 * 1e6
}

fn print(times: &[Vec<f64>], export_times: &[f64]) {
    println!(
        "{:<48}{:>9}{:>9}{:>9}{:>9}",
        "POST /mcp without a socket, CPU µs", "fastest", "median", "more", "aim"
    );
    let first = &times[0];
    for ((name, _, _, aim), times) in CASES.iter().zip(times) {
        let differences = times.iter().zip(first).map(|(time, first)| time - first);
        let more = quantile(differences.collect(), 0.5);
        let (fastest, median) = (quantile(times.clone(), 0.0), quantile(times.clone(), 0.5));
        println!("{name:<48}{fastest:>9.2}{median:>9.2}{more:>9.2}{}", verdict(more, *aim));
    }
    let (fastest, median) = (quantile(export_times.to_vec(), 0.0), quantile(export_times.to_vec(), 0.5));
    println!("{:<48}{fastest:>9.2}{median:>9.2}", "exporting the spans of a call");
}

fn with_bad_collectors(guest: &Path) {
    let collectors: Collectors = [
        ("without a collector", None),
        ("with a collector that is gone", Some(unused_port())),
        ("with a collector that never answers", Some(silent_collector())),
    ];
    let mut servers = collectors.map(|(_, collector)| {
        let address = start_server(guest, collector);
        (Connection::open(address), request(address, None), Vec::new())
    });
    for _ in 0..WINDOWS {
        for (connection, request, windows) in &mut servers {
            let (begun, mut times) = (Instant::now(), Vec::new());
            while begun.elapsed() < WINDOW {
                let sent = Instant::now();
                connection.send_ok(request);
                times.push(sent.elapsed().as_secs_f64() * 1e6);
            }
            windows.push((quantile(times.clone(), 0.5), quantile(times, 0.99)));
        }
    }
    println!(
        "\n{:<48}{:>9}{:>9}{:>9}{:>9}",
        "POST /mcp, medians of rounds", "p50 µs", "p99 µs", "ratio", "aim"
    );
    let windows = servers.map(|(_, _, windows)| windows);
    let first = &windows[0];
    for ((name, collector), windows) in collectors.iter().zip(&windows) {
        let ratios = windows.iter().zip(first).map(|((_, p99), (_, first))| p99 / first);
        let ratio = quantile(ratios.collect(), 0.5);
        let (p50, p99): (Vec<f64>, Vec<f64>) = windows.iter().copied().unzip();
        let (p50, p99) = (quantile(p50, 0.5), quantile(p99, 0.5));
        let verdict = verdict(ratio, collector.map(|_| RATIO_AIM));
        println!("{name:<48}{p50:>9.1}{p99:>9.1}{ratio:>9.2}{verdict}");
    }
}

/// A server on a thread of its own, for as long as this process.
fn start_server(guest: &Path, collector: Option<u16>) -> SocketAddr {
    let guest = guest.to_owned();
    let (send, receive) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        runtime().block_on(async {
            let server = server(&guest).await;
            let server = match collector {
                Some(port) => server.with_tracer(tracer(TRACES_PER_SECOND, port)),
                None => server,
            };
            let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
            send.send(listener.address).unwrap();
            let routes = ServerRoutes::new(Arc::new(server));
            serve(listener, routes, &ServerConfig::default(), CancellationToken::new()).await;
        });
    });
    receive.recv().unwrap()
}

/// A port at which nobody listens: it is free again when its listener is dropped.
fn unused_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The port of a collector that reads everything and answers nothing.
fn silent_collector() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut buffer = [0; 64 << 10];
                while stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
            });
        }
    });
    port
}

async fn server(guest: &Path) -> Server {
    let catalog = Arc::new(Catalog::new(Snapshot::new(vec![entry(&loader(), guest, &[]).await])));
    Server::new(catalog, ServerConfig::default())
}

async fn subject(guest: &Path, (_, has_metrics, rate, _): Case) -> InProcess {
    let server = server(guest).await;
    let server = if has_metrics { server.with_metrics() } else { server };
    let server = match rate {
        Some(rate) => server.with_tracer(tracer(rate, unused_port())),
        None => server,
    };
    InProcess::new(async || router(Arc::new(server))).await
}

/// A tracer whose exporter runs on this thread until the end, and sends to this port.
fn tracer(traces_per_second: u64, port: u16) -> Tracer {
    let (tracer, spans) = Tracer::new(traces_per_second);
    let place = ("127.0.0.1".to_owned(), port, false);
    let target = OtlpTarget::new(place, "127.0.0.1", "/v1/traces".to_owned(), &[]).unwrap();
    tokio::spawn(TraceExporter::new(spans, target).run(CancellationToken::new()));
    tracer
}
