//! A server, a neighbour, and attackers that a seed leads, round after round.
//!
//! Every round puts new components in the place of the old ones, as an operator who replaces files does, and three callers
//! attack with them and with the guests that call and answer at random. The server stays the same throughout: what a round
//! leaves behind adds up.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;

use super::{Passing, Random, attack, passing};
use crate::contained::{Latencies, Neighbour, PATIENCE, Process};
use crate::place::Place;
use crate::reload::put_bytes;
use crate::server::Server;

/// Where the neighbour calls from.
const ELSEWHERE: [u8; 4] = [127, 0, 0, 2];

const ATTACKERS: u64 = 3;

/// Components that a round makes.
const COMPONENTS: usize = 3;

/// The `cpu_ms` below, and a tick, which is how often a guest is looked at: more processor time has no call that ended well.
const CPU: Duration = Duration::from_millis(200 + 10);

/// Small limits, so that a round has many calls. Quarantine would answer in a plugin's place.
const LIMITS: &str = "[limits]\nquarantine_traps = 1000000\nlog_kib = 8\nlog_kib_per_second = 8\ncpu_ms = 200\n\
                      wall_ms = 2_000\nfuel = 100_000_000\n";

/// What memory may have grown by, once all is over.
const GROWTH: i64 = 64 << 20;

/// What a server may need to stop: the drain time of its connections, and a second.
const STOP: Duration = Duration::from_secs(6);

/// How long attacks go on, and by which seeds.
#[derive(Debug, Clone, Copy)]
pub struct Campaign {
    /// Of the first round; each further one has the next.
    pub seed: u64,
    pub time: Duration,
    pub round: Duration,
    /// Of a hundred calls of a neighbour, how many have to be answered in time: all of them, or in a server without
    /// optimisation nearly all.
    pub percent: usize,
}

/// What came of it.
#[derive(Debug)]
pub struct Found {
    pub rounds: u64,
    pub calls: usize,
    pub waits: Latencies,
    pub outcomes: BTreeMap<String, usize>,
    /// Bytes that the server had more of at the end.
    pub grown: i64,
}

impl Campaign {
    /// Runs it, and asserts all points in every round.
    pub async fn run(self) -> Found {
        let place = Place::new();
        let builder = Server::builder()
            .guest("polite")
            .guest("hostile_library_calls")
            .guest("hostile_dear_checks")
            .config(&config(&place));
        let server = with_components(builder, self.seed).alone().start().await;
        let neighbour = Neighbour::from(server.url(), ELSEWHERE);
        neighbour.ask_times(20).await;
        // The first round fills pools and caches.
        self.round(&server, &neighbour, self.seed).await;
        let start = Process::of(&server).settled().await;
        let (begun, mut waits, mut rounds) = (Instant::now(), Vec::new(), 1);
        while begun.elapsed() < self.time {
            waits.extend(self.round(&server, &neighbour, self.seed + rounds).await);
            rounds += 1;
        }
        let grown = given_back(&server, start).await;
        assert!(
            grown < GROWTH,
            "{} MiB were not given back after {rounds} rounds from {}",
            grown >> 20,
            self.seed
        );
        let (calls, outcomes) = audited(&server);
        self.assert_stops(server).await;
        place.assert_untouched();
        Found { rounds, calls, waits: Latencies::of(waits), outcomes, grown }
    }

    /// One round: new components, attackers, and a neighbour. What the neighbour waited.
    async fn round(&self, server: &Server, neighbour: &Neighbour, seed: u64) -> Vec<Duration> {
        let plugins: Vec<String> = (0..COMPONENTS).map(|at| format!("p{at}")).collect();
        let made = components(seed);
        for (plugin, (_, bytes)) in plugins.iter().zip(&made) {
            put_bytes(bytes, server.folder(), &format!("{plugin}.wasm"));
        }
        let (begun, round) = (Instant::now(), self.round);
        let mut attackers = JoinSet::new();
        for number in 0..ATTACKERS {
            let (client, plugins) = (Neighbour::new(server.url()), plugins.clone());
            let mut random = Random::new(seed.wrapping_mul(ATTACKERS).wrapping_add(number));
            attackers.spawn(async move {
                while begun.elapsed() < round {
                    let (tool, arguments) = attack(&mut random, &plugins);
                    // Some components are refused, so some tools are unknown.
                    client.post(&tool, &arguments).await.expect("the server answers");
                }
            });
        }
        let mut waits = Vec::new();
        while begun.elapsed() < round {
            waits.push(neighbour.ask().await);
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        attackers.join_all().await;
        let shapes: Vec<&Passing> = made.iter().map(|(passing, _)| passing).collect();
        let sorted = Latencies::of(waits.clone());
        let wait = sorted.percentile(self.percent);
        assert!(wait < PATIENCE, "a neighbour waited {wait:?} in the round of seed {seed}: {shapes:#?}");
        let said = server.said();
        let panic =
            said.lines().find(|line| line.starts_with("thread '") || line.starts_with("fatal runtime"));
        assert_eq!(panic, None, "the server panicked in the round of seed {seed}: {shapes:#?}");
        waits
    }

    /// A server that is attacked stops when it is told to.
    async fn assert_stops(&self, server: Server) {
        let mut random = Random::new(self.seed);
        for _ in 0..ATTACKERS {
            let (client, (tool, arguments)) =
                (Neighbour::new(server.url()), attack(&mut random, &["p0".to_owned()]));
            tokio::spawn(async move { drop(client.post(&tool, &arguments).await) });
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        let begun = Instant::now();
        assert_eq!(server.terminate().await, Some(0), "the server stops in order");
        let took = begun.elapsed();
        assert!(took < STOP, "the server took {took:?} to stop; the seed was {}", self.seed);
    }
}

/// Everything is granted that a function of the host may ask for.
fn config(place: &Place) -> String {
    let folder = place.inside();
    format!(
        "{LIMITS}[plugins.hostile_library_calls.grants]\nsampling = true\nelicitation = true\nroots = true\nkv = true\n\
         http = [\"https://example.com\"]\n\
         dirs = [{{ host = {folder:?}, guest = \"/d\", write = true, quota_mib = 2, files = 100 }}]\n"
    )
}

fn with_components(builder: crate::server::Builder, seed: u64) -> crate::server::Builder {
    let made = components(seed);
    let numbered = made.iter().enumerate();
    numbered.fold(builder, |builder, (at, (_, bytes))| builder.file(&format!("p{at}.wasm"), bytes))
}

/// The components of a round.
fn components(seed: u64) -> Vec<(Passing, Vec<u8>)> {
    let mut random = Random::new(seed);
    let shapes = (0..COMPONENTS).map(|_| passing(&mut random));
    shapes.map(|shape| (shape, shape.assembled())).collect()
}

/// By how much the server has grown, once it had time to give back what it could.
async fn given_back(server: &Server, start: Process) -> i64 {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let now = Process::of(server).back_to(start).await;
        let grown = now.memory as i64 - start.memory as i64;
        if grown < GROWTH || Instant::now() > deadline {
            return grown;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Calls, and how they ended. None that ended well used more processor time than it may, and a limit has a name.
fn audited(server: &Server) -> (usize, BTreeMap<String, usize>) {
    let mut outcomes = BTreeMap::new();
    let lines: Vec<Value> = server.audit().into_iter().filter(|line| line["event"] == "call").collect();
    for line in &lines {
        let outcome = line["outcome"].as_str().unwrap_or_default();
        assert_eq!(line["limit"].is_string(), outcome == "limit", "{line}");
        let used = Duration::from_micros(line["cpu_us"].as_u64().expect("what it used"));
        assert!(outcome != "ok" || used < CPU, "a call ended well with processor time of {used:?}: {line}");
        *outcomes.entry(line["limit"].as_str().unwrap_or(outcome).to_owned()).or_insert(0) += 1;
    }
    (lines.len(), outcomes)
}
