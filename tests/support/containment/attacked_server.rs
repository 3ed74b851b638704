//! A server under attack by clients on raw sockets, or by clients and guests together, while a neighbour calls the
//! guest `polite`.
//!
//! The points are those of an attack by a guest, but without an expected error text, which the test itself asserts, and
//! of the audit only the lines of the neighbour are known. The neighbour calls from another address than the attackers,
//! as another person would.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::Value;

use super::neighbour::NeighbourLoop;
use super::process_stats::grown;
use super::{
    Canaries, GROWTH, Latencies, MAX_NEIGHBOUR_WAIT, Neighbour, ProcessStats, assert_log,
    assert_memory_released,
};
use crate::server::{Builder, Server};

/// The neighbour's address.
const ELSEWHERE: [u8; 4] = [127, 0, 0, 2];

/// The neighbour's calls that are not measured, and those that are measured before and after the attack.
const WARM_UP: u32 = 20;
const BEFORE: u32 = 50;
const AFTER: u32 = 20;

/// The maximum time of any call of the neighbour: of some thousand calls, one in a hundred is too many to ignore.
const SLOWEST: Duration = Duration::from_secs(2);

/// The result of the attack.
#[derive(Debug)]
pub struct AttackReport {
    pub before: Latencies,
    pub during: Latencies,
    /// By how many bytes the server had grown at its peak, and afterwards.
    pub peak: i64,
    pub left: i64,
}

/// A server under attack.
pub struct AttackedServer {
    name: &'static str,
    server: Server,
    neighbour: Neighbour,
    before: Latencies,
    start: ProcessStats,
    neighbour_loop: NeighbourLoop,
    canaries: Canaries,
}

impl AttackedServer {
    /// Starts the server with the guest `polite` beside its others, and starts the neighbour's loop.
    pub async fn begin(name: &'static str, builder: Builder) -> Self {
        let canaries = Canaries::prepare().await;
        let (variable, secret) = canaries.variable();
        let server = builder.guest("polite").env(variable, secret).alone().start().await;
        let neighbour = Neighbour::from(server.url(), ELSEWHERE);
        neighbour.echo_times(WARM_UP).await;
        let before = neighbour.echo_times(BEFORE).await;
        let start = ProcessStats::of(&server).settled().await;
        let neighbour_loop = neighbour.start_loop();
        Self { name, server, neighbour, before, start, neighbour_loop, canaries }
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The address and port where the server listens.
    pub fn authority(&self) -> String {
        let url = self.server.url();
        url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned()
    }

    /// Asserts all points after the attack has ended: the neighbour was served in time, the server used at most `max`
    /// bytes more and released nearly all of them, its files and threads are as before, nothing panicked, the audit has
    /// all calls of the neighbour, and the canaries are untouched.
    pub async fn end(self, max: u64) -> AttackReport {
        self.end_after(Duration::ZERO, max).await
    }

    /// The same for a server that may release its memory only after some time. Others may start meanwhile.
    pub async fn end_after(mut self, release_time: Duration, max: u64) -> AttackReport {
        let name = self.name;
        let during = self.neighbour_loop.end().await;
        let after = self.neighbour.echo_times(AFTER).await;
        for (when, waits) in [("during", &during), ("after", &after)] {
            let wait = waits.percentile(99);
            assert!(
                wait < MAX_NEIGHBOUR_WAIT,
                "{name}: {when} the attack a neighbour waited {wait:?}: {waits:?}"
            );
            let wait = waits.percentile(100);
            assert!(wait < SLOWEST, "{name}: {when} the attack a neighbour waited {wait:?} once: {waits:?}");
        }
        let peak = grown(ProcessStats::of(&self.server).peak, self.start.memory);
        assert!(peak < i64::try_from(max).unwrap(), "{name}: {} MiB were taken", peak >> 20);
        self.server.release_machine();
        tokio::time::sleep(release_time).await;
        let left = assert_memory_released(name, &self.server, self.start, GROWTH).await;
        assert_log(name, &self.server);
        let calls = (WARM_UP + BEFORE + AFTER) as usize + during.count();
        assert_neighbour_audited(name, &self.server, calls).await;
        self.canaries.assert_untouched(name, &self.server).await;
        AttackReport { before: self.before, during, peak, left }
    }
}

/// The audit has one line for each call of the neighbour. That of a long attack has several files, and is not counted.
async fn assert_neighbour_audited(name: &str, server: &Server, calls: usize) {
    if server.state().join("audit.jsonl.1").exists() {
        return;
    }
    let address = IpAddr::from(ELSEWHERE).to_string();
    let is_neighbours = |line: &Value| line["event"] == "call" && line["caller"] == address.as_str();
    let lines = server.wait_for_audit_lines(is_neighbours, calls).await;
    assert_eq!(lines.len(), calls, "{name}: one line of the audit for each call of the neighbour");
    let strange = lines.iter().find(|line| line["name"] != "echo" || line["outcome"] != "ok");
    assert!(strange.is_none(), "{name}: {strange:?}");
}
