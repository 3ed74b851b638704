//! Measures what metrics cost a call, in one run: `POST /mcp` without a socket, without and with `[telemetry]`.
//!
//! The two take turns, a thousand calls each, and the figure is the minimum of the rounds: what else runs on the
//! machine only adds to it.

#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark stops at the first surprise"
)]

mod support;

use std::path::Path;
use std::sync::Arc;

use plugport::catalog::{Catalog, Snapshot};
use plugport::config::ServerConfig;
use plugport::mcp::Server;
use plugport::transport::http::router;
use support::http::InProcess;
use support::in_process::{BenchFn as _, runtime, thread_cpu};
use support::{entry, guest_file, loader};

const ROUNDS: usize = 60;
const CALLS: usize = 1_000;

fn main() {
    let guest = guest_file("telemetry");
    runtime().block_on(async {
        let mut subjects = [subject(&guest, false).await, subject(&guest, true).await];
        let mut minima = [f64::INFINITY; 2];
        for _ in 0..ROUNDS {
            for (subject, minimum) in subjects.iter_mut().zip(&mut minima) {
                let begun = thread_cpu();
                for _ in 0..CALLS {
                    subject.once().await;
                }
                *minimum = minimum.min((thread_cpu() - begun) / CALLS as f64 * 1e6);
            }
        }
        println!("{:<48}{:>12}{:>14}", "POST /mcp without a socket", "CPU µs", "more, µs");
        for (name, minimum) in ["without metrics", "with metrics"].into_iter().zip(minima) {
            println!("{name:<48}{minimum:>12.2}{:>14.2}", minimum - minima[0]);
        }
    });
}

async fn subject(guest: &Path, has_metrics: bool) -> InProcess {
    let catalog = Arc::new(Catalog::new(Snapshot::new(vec![entry(&loader(), guest, &[]).await])));
    let server = Server::new(catalog, ServerConfig::default());
    let server = if has_metrics { server.with_metrics() } else { server };
    InProcess::new(async || router(Arc::new(server))).await
}
