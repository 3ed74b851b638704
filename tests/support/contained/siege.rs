//! A server with a polite plugin whose neighbour is called all the while, for attacks that no guest makes: clients on raw
//! sockets, or clients and guests together.
//!
//! The same points as for a guest, but without a sentence to expect; what clients are told is for the test to say. The
//! neighbour calls from another address than everyone else, as another person would.

use std::time::Duration;

use super::measure::grown;
use super::neighbour::Visit;
use super::{GROWTH, Latencies, Neighbour, PATIENCE, Process, assert_given_back, assert_quiet};
use crate::server::{Builder, Server};

/// Where the neighbour calls from.
const ELSEWHERE: [u8; 4] = [127, 0, 0, 2];

/// What not even one call of the neighbour may take: of some thousand, the hundredth part is too many to be forgotten.
const SLOWEST: Duration = Duration::from_secs(2);

/// What a siege came to.
#[derive(Debug)]
pub struct Held {
    pub before: Latencies,
    pub during: Latencies,
    /// Bytes that the server had more of at most, and afterwards.
    pub most: i64,
    pub left: i64,
}

/// A server under attack.
pub struct Siege {
    name: &'static str,
    server: Server,
    neighbour: Neighbour,
    before: Latencies,
    start: Process,
    visiting: Visit,
}

impl Siege {
    /// Starts the server, with the polite plugin beside whatever it has, and lets the neighbour begin.
    pub async fn begin(name: &'static str, builder: Builder) -> Self {
        let server = builder.guest("polite").alone().start().await;
        let neighbour = Neighbour::from(server.url(), ELSEWHERE);
        neighbour.ask_times(20).await;
        let before = neighbour.ask_times(50).await;
        let start = Process::of(&server).settled().await;
        let visiting = neighbour.visit();
        Self { name, server, neighbour, before, start, visiting }
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
    /// time, at most `most` bytes were taken meanwhile and nearly all of them given back, files and threads too, and nothing
    /// panicked.
    pub async fn end(mut self, most: u64) -> Held {
        let name = self.name;
        let during = self.visiting.end().await;
        let after = self.neighbour.ask_times(20).await;
        for (when, waits) in [("during", &during), ("after", &after)] {
            let wait = waits.percentile(99);
            assert!(wait < PATIENCE, "{name}: {when} the attack a neighbour waited {wait:?}: {waits:?}");
            let wait = waits.percentile(100);
            assert!(wait < SLOWEST, "{name}: {when} the attack a neighbour waited {wait:?} once: {waits:?}");
        }
        let taken = grown(Process::of(&self.server).peak, self.start.memory);
        assert!(taken < i64::try_from(most).unwrap(), "{name}: {} MiB were taken", taken >> 20);
        self.server.step_aside();
        let left = assert_given_back(name, &self.server, self.start, GROWTH).await;
        assert_quiet(name, &self.server);
        Held { before: self.before, during, most: taken, left }
    }
}
