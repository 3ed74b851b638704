//! One server with 1,000 plugins for very many clients: the memory of each session, event stream and suspended call,
//! how soon all streams are notified of a change, and what a call costs beside all of that.
//!
//! The clients run on the same machine and take a part of its time.

use std::time::{Duration, Instant};

use serde_json::json;

use super::figures::Figures;
use super::homes::{Homes, SUSPENDED, build, largest, name};
use super::listeners::Listeners;
use super::process::{CpuTimes, Memory};
use super::requests::{SESSIONS, call, post};
use super::{SETTLE, median};
use crate::support::connection::{Connection, header};
use crate::support::server::Server;

const SESSION_COUNT: usize = 10_000;
const LISTENERS: usize = 10_000;

/// Open files besides those of streams: plugins, the cache, and connections that are not counted here.
const OTHER_FILES: usize = 2_000;

/// Changes of the list.
const CHANGES: usize = 5;

const CALLS: usize = 5_000;

/// Aim for the memory of a suspended call, KiB: that of `suspended_calls`.
const SUSPENDED_KIB: f64 = 64.0;

/// Aim for the median of a call beside all clients, in calls of the same server before: that of `suspended_calls`.
const LATENCY_RATIO: f64 = 2.0;

/// `files`: how many files a process may open.
pub async fn measure(homes: &Homes, files: usize, figures: &mut Figures) {
    let listeners = LISTENERS.min(files.saturating_sub(OTHER_FILES));
    if listeners < LISTENERS {
        println!(
            "\nonly {listeners} event streams, since a process may open {files} files here (ulimit -Hn)"
        );
    }
    let server = homes.server(&homes.many_clients, largest()).await;
    let address = server.address().to_owned();
    let alone = p50(&address);
    let mut grown = MemoryGrowth::new(&server).await;
    figures
        .heading(&format!("memory for clients of a server with {} plugins: private memory each", largest()));
    begin_sessions(&address);
    figures.plain(
        &format!("each of {SESSION_COUNT} sessions"),
        grown.each(&server, SESSION_COUNT).await,
        "KiB",
    );
    let mut streams = Listeners::open(&address, listeners).await;
    let kib = grown.each(&server, listeners).await;
    figures.plain(&format!("each of {listeners} event streams, with its connection"), kib, "KiB");
    suspend_calls(&address);
    let kib = grown.each(&server, SUSPENDED).await;
    figures.aimed(&format!("each of {SUSPENDED} suspended calls"), kib, "KiB", SUSPENDED_KIB);
    figures.plain("all of it: resident", Memory::of(server.id()).resident / 1024.0, "MiB");
    figures.heading("beside all of these clients");
    let beside = p50(&address);
    figures.plain("a call before, p50", alone, "µs");
    figures.plain("a call beside them, p50", beside, "µs");
    figures.aimed("  in calls before", beside / alone, "", LATENCY_RATIO);
    figures.plain(
        "processor time of the server while nobody calls, of one processor",
        idle_share(&server).await,
        "%",
    );
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for number in 0..CHANGES {
        let file = format!("q{number}.wasm");
        // Its code is cached.
        let bytes = build(number);
        let each = streams.notified(|| homes.many_clients.put(&file, &bytes)).await;
        let of_change = [each[0], each[each.len() / 2], each[each.len() - 1]];
        times.iter_mut().zip(of_change).for_each(|(times, time)| times.push(time));
    }
    figures.heading(&format!(
        "from a new file with cached code until list_changed, the median of {CHANGES} changes"
    ));
    for (which, times) in ["first", "median", "last"].into_iter().zip(times) {
        figures.plain(&format!("the {which} of {listeners} event streams"), median(times), "ms");
    }
    server.end().await;
}

/// How the private memory of a server grows, step by step.
struct MemoryGrowth {
    before: f64,
}

impl MemoryGrowth {
    async fn new(server: &Server) -> Self {
        tokio::time::sleep(SETTLE).await;
        Self { before: Memory::of(server.id()).private }
    }

    /// KiB of each of `count` since the last step.
    async fn each(&mut self, server: &Server, count: usize) -> f64 {
        let now = Self::new(server).await.before;
        (now - std::mem::replace(&mut self.before, now)) / count as f64
    }
}

/// Begins sessions, which stay without streams.
fn begin_sessions(address: &str) {
    let mut connection = Connection::open(address);
    let params = json!({ "protocolVersion": SESSIONS, "capabilities": {},
                         "clientInfo": { "name": "bench", "version": "1" } });
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let initialize = post(address, &[], &body);
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    for _ in 0..SESSION_COUNT {
        let id = header(connection.send_ok(&initialize), "mcp-session-id").unwrap().to_owned();
        // A session that is not used ends after a minute.
        let headers = [("mcp-protocol-version", SESSIONS), ("mcp-session-id", id.as_str())];
        connection.send_ok(&post(address, &headers, &initialized));
    }
}

fn suspend_calls(address: &str) {
    let mut connection = Connection::open(address);
    let request = call(address, &format!("{}-ask", name(0)));
    for _ in 0..SUSPENDED {
        let response = connection.send_ok(&request);
        assert!(response.contains("\"resultType\":\"input_required\""), "{response}");
    }
}

/// The median latency of calls of another plugin, µs.
fn p50(address: &str) -> f64 {
    let mut connection = Connection::open(address);
    let request = call(address, &format!("{}-client", name(1)));
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let begun = Instant::now();
        let response = connection.send_ok(&request);
        times.push(begun.elapsed().as_secs_f64() * 1e6);
        assert!(response.contains("\"resultType\":\"complete\""), "{response}");
    }
    median(times)
}

/// How much of a processor the server uses while nobody calls, percent.
async fn idle_share(server: &Server) -> f64 {
    // Longer than the pause between two comments on a silent stream.
    const TIME: Duration = Duration::from_secs(16);
    let before = CpuTimes::of(server.id());
    tokio::time::sleep(TIME).await;
    CpuTimes::of(server.id()).micros_since(&before) / TIME.as_micros() as f64 * 100.0
}
