//! A server under attack by clients on raw sockets, or by clients and guests together, while a neighbour calls the guest
//! `polite`.
//!
//! The points are those of an attack by a guest, but without an expected error text, which the test itself asserts. The
//! neighbour calls from another address than the attackers, as another person would.

use std::time::Duration;

use super::neighbour::NeighbourLoop;
use super::process_stats::grown;
use super::{GROWTH, Latencies, Neighbour, PATIENCE, ProcessStats, assert_log, assert_memory_released};
use crate::server::{Builder, Server};

/// Where the neighbour calls from.
const ELSEWHERE: [u8; 4] = [127, 0, 0, 2];

/// What not even one call of the neighbour may take: of some thousand, the hundredth part is too many to be forgotten.
const SLOWEST: Duration = Duration::from_secs(2);

/// The result of the attack.
#[derive(Debug)]
pub struct AttackReport {
    pub before: Latencies,
    pub during: Latencies,
    /// Bytes that the server had more of at most, and afterwards.
    pub most: i64,
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
}

impl AttackedServer {
    /// Starts the server with the guest `polite` beside its others, and starts the neighbour's loop.
    pub async fn begin(name: &'static str, builder: Builder) -> Self {
        let server = builder.guest("polite").alone().start().await;
        let neighbour = Neighbour::from(server.url(), ELSEWHERE);
        neighbour.echo_times(20).await;
        let before = neighbour.echo_times(50).await;
        let start = ProcessStats::of(&server).settled().await;
        let neighbour_loop = neighbour.start_loop();
        Self { name, server, neighbour, before, start, neighbour_loop }
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Where it listens, as a socket has it.
    pub fn authority(&self) -> String {
        let url = self.server.url();
        url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned()
    }

    /// Ends the attack, of which nothing may be under way any more, and asserts all points: the neighbour was served in
    /// time, at most `most` bytes were taken meanwhile and nearly all of them given back, files and threads too, and
    /// nothing panicked.
    pub async fn end(self, most: u64) -> AttackReport {
        self.end_after(Duration::ZERO, most).await
    }

    /// The same, where the server may keep for so long what it has taken. Other servers have the machine meanwhile.
    pub async fn end_after(mut self, kept: Duration, most: u64) -> AttackReport {
        let name = self.name;
        let during = self.neighbour_loop.end().await;
        let after = self.neighbour.echo_times(20).await;
        for (when, waits) in [("during", &during), ("after", &after)] {
            let wait = waits.percentile(99);
            assert!(wait < PATIENCE, "{name}: {when} the attack a neighbour waited {wait:?}: {waits:?}");
            let wait = waits.percentile(100);
            assert!(wait < SLOWEST, "{name}: {when} the attack a neighbour waited {wait:?} once: {waits:?}");
        }
        let taken = grown(ProcessStats::of(&self.server).peak, self.start.memory);
        assert!(taken < i64::try_from(most).unwrap(), "{name}: {} MiB were taken", taken >> 20);
        self.server.release_machine();
        tokio::time::sleep(kept).await;
        let left = assert_memory_released(name, &self.server, self.start, GROWTH).await;
        assert_log(name, &self.server);
        AttackReport { before: self.before, during, most: taken, left }
    }
}
