//! What a call costs on servers with 1, 10, 100 and 1,000 plugins: of one plugin, and of all plugins in turn.
//!
//! All servers run at the same time, and take turns, so that a machine that becomes slower becomes slower for all. When
//! all plugins are called in turn, the memory of each instance is mapped anew once there are more plugins than the
//! engine keeps instances ready for, and code and data come from farther away than the processor's caches.

use std::time::Instant;

use super::figures::Figures;
use super::homes::{Homes, largest, name};
use super::process::CpuTimes;
use super::requests::call;
use super::{SETTLE, SIZES, median};
use crate::support::connection::Connection;
use crate::support::server::Server;

const ROUNDS: usize = 15;
const CALLS: usize = 2_000;
const WARM_UP: usize = 200;

/// Aim for the cost of a call among 1,000 plugins, in calls of the only plugin.
const AIM: f64 = 1.05;

/// A server, and the requests for its plugins.
struct MeasuredServer {
    server: Server,
    /// A call of each plugin.
    requests: Vec<String>,
    /// How often a plugin was called in turn.
    called: usize,
    /// Of one plugin, and of all plugins in turn.
    costs: [Vec<Cost>; 2],
}

/// A round of calls: of each its processor time in the server, and the median time that the client waited, µs.
#[derive(Clone, Copy)]
struct Cost {
    cpu: f64,
    p50: f64,
}

impl MeasuredServer {
    async fn new(homes: &Homes, at: usize) -> Self {
        let server = homes.server(&homes.by_size[at], SIZES[at]).await;
        let of = |number| call(server.address(), &format!("{}-client", name(number)));
        let requests = (0..SIZES[at]).map(of).collect();
        Self { server, requests, called: 0, costs: Default::default() }
    }

    fn call(&mut self, connection: &mut Connection, in_turn: bool) {
        let at = if in_turn { self.called % self.requests.len() } else { self.requests.len() - 1 };
        self.called += usize::from(in_turn);
        let response = connection.send_ok(&self.requests[at]);
        assert!(response.contains("\"resultType\":\"complete\""), "{response}");
    }

    fn round(&mut self, in_turn: bool) {
        // The server closes connections that are silent for some seconds, as in the rounds of the others.
        let mut connection = Connection::open(self.server.address());
        (0..WARM_UP).for_each(|_| self.call(&mut connection, in_turn));
        let before = CpuTimes::of(self.server.id());
        let mut times = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            let begun = Instant::now();
            self.call(&mut connection, in_turn);
            times.push(begun.elapsed().as_secs_f64() * 1e6);
        }
        let cpu = CpuTimes::of(self.server.id()).micros_since(&before) / CALLS as f64;
        self.costs[usize::from(in_turn)].push(Cost { cpu, p50: median(times) });
    }
}

/// Returns the processor time for each number of plugins, µs: of calls of one plugin, and of all in turn.
pub async fn measure(homes: &Homes, figures: &mut Figures) -> [Vec<(f64, f64)>; 2] {
    let mut servers = Vec::new();
    for at in 0..SIZES.len() {
        servers.push(MeasuredServer::new(homes, at).await);
    }
    tokio::time::sleep(SETTLE).await;
    for _ in 0..ROUNDS {
        for in_turn in [false, true] {
            servers.iter_mut().for_each(|measured| measured.round(in_turn));
        }
    }
    let mut lines = [Vec::new(), Vec::new()];
    for (mode, text) in ["calls of one plugin", "calls of all plugins in turn"].into_iter().enumerate() {
        figures.heading(&format!("{text}: processor time of the server, and median latency"));
        for (plugins, measured) in SIZES.iter().zip(&servers) {
            let parts: [fn(&Cost) -> f64; 2] = [|cost| cost.cpu, |cost| cost.p50];
            let [cpu, p50] = parts.map(|part| median(measured.costs[mode].iter().map(part).collect()));
            figures.plain(&format!("{plugins} plugins: processor time"), cpu, "µs");
            figures.plain(&format!("{plugins} plugins: p50"), p50, "µs");
            lines[mode].push((*plugins as f64, cpu));
        }
        // Rounds that follow each other are compared, and then the median is taken.
        let (first, last) = (&servers[0].costs[mode], &servers[SIZES.len() - 1].costs[mode]);
        let ratio = |part: fn(&Cost) -> f64| {
            median(last.iter().zip(first).map(|(last, first)| part(last) / part(first)).collect())
        };
        let among = format!("among {} plugins, in calls of the only one", largest());
        figures.aimed(&format!("{among}: processor time"), ratio(|cost| cost.cpu), "", AIM);
        figures.plain(&format!("{among}: p50"), ratio(|cost| cost.p50), "");
    }
    for measured in servers {
        measured.server.end().await;
    }
    lines
}
