//! What a call that ends within the grace costs more, because it might have become a task.
//!
//! The cases take turns, so that a machine that becomes slower becomes slower for all. What counts is the median of the
//! differences to the first case, each within one round.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use plugport::catalog::{Catalog, Snapshot};
use plugport::config::ServerConfig;
use plugport::mcp::Server;
use plugport::sandbox::KvDatabase;
use plugport::transport::http::router;
use serde_json::json;

use super::post::{Post, Repeated};
use super::{Figure, count, quantile};
use crate::support::in_process::{BenchFn as _, runtime, thread_cpu};
use crate::support::{entry_with, loader};

const ROUNDS: usize = count(60, 3);
const CALLS: usize = count(1_000, 20);

/// µs of processor time.
const AIM: f64 = 3.0;

/// Name, whether the client knows tasks, whether it is bridged otherwise, and the aim for the difference.
type Case = (&'static str, bool, bool, Option<f64>);

const CASES: [Case; 3] = [
    ("a call of a client without tasks", false, false, None),
    ("more with the extension declared", true, false, Some(AIM)),
    ("more with `task_bridge`, of a client without tasks", false, true, None),
];

pub(super) fn measure(guest: &Path) -> Vec<Figure> {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let mut subjects = Vec::new();
        for (at, (_, knows_tasks, is_bridged, _)) in CASES.iter().enumerate() {
            let router = routes(guest, &folder.path().join(at.to_string()), *is_bridged).await;
            let post = Post::call("polite-echo", json!({ "message": "0123456789abcdef" }), *knows_tasks);
            subjects.push(Repeated { router, post, expected: "0123456789abcdef" });
        }
        let mut times = vec![Vec::new(); CASES.len()];
        for _ in 0..=ROUNDS {
            for (subject, times) in subjects.iter_mut().zip(&mut times) {
                times.push(round(subject).await);
            }
        }
        // The first round warms up.
        let times: Vec<_> = times.iter().map(|times| &times[1..]).collect();
        CASES
            .iter()
            .zip(&times)
            .enumerate()
            .map(|(at, (case, own))| figure(at, case, own, times[0]))
            .collect()
    })
}

fn figure(at: usize, (name, _, _, aim): &Case, times: &[f64], first: &[f64]) -> Figure {
    let differences = times.iter().zip(first).map(|(time, first)| time - first);
    let measured = if at == 0 { times.to_vec() } else { differences.collect() };
    Figure::new(name, quantile(measured, 0.5), "µs CPU", *aim)
}

/// Processor time of one call, µs.
async fn round(subject: &mut Repeated) -> f64 {
    let begun = thread_cpu();
    for _ in 0..CALLS {
        subject.once().await;
    }
    (thread_cpu() - begun) / CALLS as f64 * 1e6
}

async fn routes(guest: &Path, state: &Path, is_bridged: bool) -> Router {
    let entry = entry_with(&loader(), guest, |settings| settings.task_bridge = is_bridged).await;
    let catalog = Arc::new(Catalog::new(Snapshot::new(vec![entry])));
    let server = Server::new(catalog, ServerConfig::default());
    router(Arc::new(server.with_tasks(KvDatabase::of_state(Some(state.to_owned())))))
}
