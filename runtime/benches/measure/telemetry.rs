//! Measures what telemetry costs a call, in one run: `POST /mcp` without a socket, without `[telemetry]`, with metrics,
//! with a trace that is not sampled, and with one that is.
//!
//! The cases take turns, a thousand calls each, so that a machine that becomes slower becomes slower for all. The
//! figures are the fastest round of each case, which the rest of the machine disturbed least, and the median of the
//! rounds. What counts is the difference to the first case. After a round with sampled traces the exporter empties the
//! queue, into a port at which nobody listens; the last line is what it takes for the spans of a call.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::support::http::InProcess;
use crate::support::in_process::{BenchFn as _, runtime, thread_cpu};
use crate::support::{entry, guest_file, loader};
use plugport::catalog::{Catalog, Snapshot};
use plugport::config::ServerConfig;
use plugport::mcp::Server;
use plugport::observe::trace::{OtlpTarget, TraceExporter, Tracer};
use plugport::transport::http::router;
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 60;
const CALLS: usize = 1_000;

/// More than there are calls, so that each is sampled.
const EVERY_TRACE: u64 = 1_000_000_000;

/// Longer than the exporter takes for the spans of a round: two for each call, which the queue holds.
const EXPORT_TIME: Duration = Duration::from_millis(50);

/// What a case measures: its name, whether requests are counted, and the traces in a second.
type Case = (&'static str, bool, Option<u64>);

const CASES: [Case; 5] = [
    ("without [telemetry]", false, None),
    ("metrics", true, None),
    ("a trace that is not sampled", false, Some(1)),
    ("a trace that is sampled", false, Some(EVERY_TRACE)),
    ("metrics and a trace that is sampled", true, Some(EVERY_TRACE)),
];

pub fn run() {
    let guest = guest_file("telemetry");
    runtime().block_on(async {
        let mut subjects = Vec::new();
        for case in CASES {
            subjects.push(subject(&guest, case).await);
        }
        let (mut times, mut export_times) = (vec![Vec::new(); CASES.len()], Vec::new());
        for _ in 0..ROUNDS {
            for ((subject, times), (.., rate)) in subjects.iter_mut().zip(&mut times).zip(CASES) {
                times.push(round(subject).await);
                if rate == Some(EVERY_TRACE) {
                    let begun = thread_cpu();
                    tokio::time::sleep(EXPORT_TIME).await;
                    export_times.push(per_call(begun));
                }
            }
        }
        print(&mut times, &mut export_times);
    });
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

fn print(times: &mut [Vec<f64>], export_times: &mut [f64]) {
    let figures = |times: &mut [f64]| {
        times.sort_by(f64::total_cmp);
        (times[0], times[times.len() / 2])
    };
    let (first_fastest, first_median) = figures(&mut times[0]);
    println!(
        "{:<48}{:>12}{:>10}{:>12}{:>10}",
        "POST /mcp without a socket, CPU µs", "fastest", "more", "median", "more"
    );
    for ((name, ..), times) in CASES.iter().zip(times) {
        let (fastest, median) = figures(times);
        let (more, more_median) = (fastest - first_fastest, median - first_median);
        println!("{name:<48}{fastest:>12.2}{more:>10.2}{median:>12.2}{more_median:>10.2}");
    }
    let (fastest, median) = figures(export_times);
    println!("{:<48}{fastest:>12.2}{:>10}{median:>12.2}", "exporting the spans of a call", "");
}

async fn subject(guest: &Path, (_, has_metrics, rate): Case) -> InProcess {
    let catalog = Arc::new(Catalog::new(Snapshot::new(vec![entry(&loader(), guest, &[]).await])));
    let server = Server::new(catalog, ServerConfig::default());
    let server = if has_metrics { server.with_metrics() } else { server };
    let server = match rate {
        Some(rate) => server.with_tracer(tracer(rate)),
        None => server,
    };
    InProcess::new(async || router(Arc::new(server))).await
}

/// A tracer whose exporter runs on this thread until the end.
fn tracer(traces_per_second: u64) -> Tracer {
    let (tracer, spans) = Tracer::new(traces_per_second);
    // The port is free again when its listener is dropped.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let place = ("127.0.0.1".to_owned(), port, false);
    let target = OtlpTarget::new(place, "127.0.0.1", "/v1/traces".to_owned(), &[]).unwrap();
    tokio::spawn(TraceExporter::new(spans, target).run(CancellationToken::new()));
    tracer
}
