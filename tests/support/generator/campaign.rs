//! Runs generated attacks against one server, round after round, while a neighbour calls it.
//!
//! Each round replaces the components of the round before, as an operator replaces files. Three attackers call these
//! components and two guests that act at random. All rounds use one server, so leaks add up.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;

use super::{AdapterComponent, Random, random_adapter, random_call};
use crate::containment::{
    Canaries, LOG, Latencies, MAX_NEIGHBOUR_WAIT, Neighbour, ProcessStats, assert_memory_released,
    assert_no_panic,
};
use crate::granted_dir::GrantedDir;
use crate::reload::install_bytes;
use crate::server::Server;

/// The neighbour's address.
const ELSEWHERE: [u8; 4] = [127, 0, 0, 2];

const ATTACKERS: u64 = 3;

/// The number of components of a round.
const COMPONENTS: usize = 3;

/// The maximum processor time of a call that ended well: the `cpu_ms` below, and two epochs of 5 ms, for which a guest
/// runs without a pause.
const CPU: Duration = Duration::from_millis(200 + 10);

/// Small limits, so that a round has many calls, and an audit of one file. Quarantine would answer in a plugin's place.
/// As much memory as a server of two gigabytes has: what the pool keeps resident grows with it, on a large machine to 1
/// MiB for each of some hundred instances, and would hide what is really kept.
const LIMITS: &str = "[server]\nguest_memory_mib = 1_024\n[audit]\nmax_mib = 4_096\n[limits]\nquarantine_failures = 1000000\nlog_kib = 8\ncpu_ms = 200\n\
                      wall_ms = 2_000\nfuel = 100_000_000\n";

/// The maximum growth of memory at the end.
const GROWTH: i64 = 64 << 20;

/// The maximum time until the server has stopped: the drain time of its connections, and a second.
const STOP: Duration = Duration::from_secs(6);

/// The maximum time of any call of the neighbour.
const SLOWEST: Duration = Duration::from_millis(if cfg!(debug_assertions) { 2_000 } else { 250 });

/// How long a line of the audit may take: calls that are rejected are gathered for ten seconds.
const AUDITED: Duration = Duration::from_secs(15);

/// The length and the seeds of a campaign.
#[derive(Debug, Clone, Copy)]
pub struct Campaign {
    /// Of the first round; each further one has the next.
    pub seed: u64,
    pub time: Duration,
    pub round: Duration,
    /// How many of a hundred calls of a neighbour must get a response in time: all, or nearly all with a server without
    /// optimisation.
    pub percent: usize,
}

/// The outcome of a campaign.
#[derive(Debug)]
pub struct CampaignReport {
    pub rounds: u64,
    pub calls: usize,
    pub waits: Latencies,
    pub outcomes: BTreeMap<String, usize>,
    /// The growth of the server's memory at the end, bytes.
    pub grown: i64,
    /// The server's own memory after each round, while calls ran, MiB.
    pub own: Vec<u64>,
}

/// The outcome of one round.
struct CampaignRound {
    waits: Vec<Duration>,
    replies: AttackerReplies,
}

/// The responses that attackers got.
#[derive(Debug, Default, Clone, Copy)]
struct AttackerReplies {
    responses: u64,
    /// Responses that are results of calls, and no errors of the protocol.
    results: u64,
}

impl AttackerReplies {
    /// Checks one response: a stopped call has one sentence with its limit, and no response contains the secret.
    fn note(&mut self, response: &str) {
        Canaries::assert_secret(response);
        self.responses += 1;
        self.results += u64::from(response.contains(r#""result":{"#));
        if let Some(at) = response.find("the tool was stopped: ") {
            // The sentence ends with the text that it is.
            let replies = response[at..].split('"').next().unwrap_or_default();
            let is_sentence = replies.len() < 250
                && (replies.contains("(limit `") || replies.contains(" more than "))
                && !replies.contains("\\n");
            assert!(is_sentence, "not one sentence with its limit: {replies}");
        }
    }

    fn add(&mut self, other: Self) {
        self.responses += other.responses;
        self.results += other.results;
    }
}

impl Campaign {
    /// Runs the campaign, and asserts all points in every round.
    pub async fn run(self) -> CampaignReport {
        let (dir, canaries) = (GrantedDir::new(), Canaries::prepare().await);
        let (variable, secret) = canaries.variable();
        let builder = Server::builder()
            .guest("polite")
            .guest("hostile_host_functions")
            .guest("hostile_costly_schemas")
            .env(variable, secret)
            .config(&config(&dir));
        let server = with_components(builder, self.seed).alone().start().await;
        let neighbour = Neighbour::from(server.url(), ELSEWHERE);
        neighbour.echo_times(20).await;
        // The first round fills pools and caches.
        let mut all = self.round(&server, &neighbour, self.seed).await;
        let mut start = ProcessStats::of(&server).settled().await;
        // The engine keeps the image of a plugin's memory in an open file, and not all components of a round are
        // published.
        start.files += COMPONENTS;
        let (begun, mut rounds, mut own) = (Instant::now(), 1, Vec::new());
        while begun.elapsed() < self.time {
            let round = self.round(&server, &neighbour, self.seed + rounds).await;
            all.waits.extend(round.waits);
            all.replies.add(round.replies);
            rounds += 1;
            own.push(ProcessStats::of(&server).own >> 20);
        }
        let name = format!("{rounds} rounds from seed {}", self.seed);
        let grown = assert_memory_released(&name, &server, start, GROWTH).await;
        assert_no_panic(&name, &server, LOG * usize::try_from(rounds).unwrap());
        canaries.assert_untouched(&name, &server).await;
        let (calls, outcomes) = audited(&server, all.replies).await;
        self.assert_stops(server).await;
        dir.assert_untouched();
        CampaignReport { rounds, calls, waits: Latencies::of(all.waits), outcomes, grown, own }
    }

    /// One round: new components, attackers, and a neighbour.
    async fn round(&self, server: &Server, neighbour: &Neighbour, seed: u64) -> CampaignRound {
        let plugins: Vec<String> = (0..COMPONENTS).map(|at| format!("p{at}")).collect();
        let made = components(seed);
        for (plugin, (_, bytes)) in plugins.iter().zip(&made) {
            install_bytes(bytes, server.folder(), &format!("{plugin}.wasm"));
        }
        let (begun, round) = (Instant::now(), self.round);
        let mut attackers = JoinSet::new();
        for number in 0..ATTACKERS {
            let (client, plugins) = (Neighbour::new(server.url()), plugins.clone());
            let mut random = Random::new(seed.wrapping_mul(ATTACKERS).wrapping_add(number));
            attackers.spawn(async move {
                let mut replies = AttackerReplies::default();
                while begun.elapsed() < round {
                    let (tool, arguments) = random_call(&mut random, &plugins);
                    // Some components are rejected, so some tools are unknown.
                    replies.note(&client.post(&tool, &arguments).await.expect("the server answers"));
                }
                replies
            });
        }
        let mut waits = Vec::new();
        while begun.elapsed() < round {
            waits.push(neighbour.echo().await);
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        let mut replies = AttackerReplies::default();
        attackers.join_all().await.into_iter().for_each(|more| replies.add(more));
        let adapters: Vec<&AdapterComponent> = made.iter().map(|(passing, _)| passing).collect();
        let sorted = Latencies::of(waits.clone());
        for (percent, max) in [(self.percent, MAX_NEIGHBOUR_WAIT), (100, SLOWEST)] {
            let wait = sorted.percentile(percent);
            assert!(wait < max, "a neighbour waited {wait:?} in the round of seed {seed}: {adapters:#?}");
        }
        assert_no_panic(&format!("the round of seed {seed}, {adapters:#?}"), server, usize::MAX);
        CampaignRound { waits, replies }
    }

    /// Asserts that a server under attack stops after SIGTERM.
    async fn assert_stops(&self, server: Server) {
        let mut random = Random::new(self.seed);
        for _ in 0..ATTACKERS {
            let (client, (tool, arguments)) =
                (Neighbour::new(server.url()), random_call(&mut random, &["p0".to_owned()]));
            tokio::spawn(async move { drop(client.post(&tool, &arguments).await) });
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        let begun = Instant::now();
        assert_eq!(server.terminate().await, Some(0), "the server stops in order");
        let took = begun.elapsed();
        assert!(took < STOP, "the server took {took:?} to stop; the seed was {}", self.seed);
    }
}

/// Grants for every host function.
fn config(dir: &GrantedDir) -> String {
    let folder = dir.inside();
    format!(
        "{LIMITS}[plugins.hostile_host_functions.grants]\nsampling = true\nelicitation = true\nroots = true\nkv = true\n\
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
fn components(seed: u64) -> Vec<(AdapterComponent, Vec<u8>)> {
    let mut random = Random::new(seed);
    let adapters = (0..COMPONENTS).map(|_| random_adapter(&mut random));
    adapters.map(|adapter| (adapter, adapter.assembled())).collect()
}

/// The calls in the audit, by outcome. Asserts that each call with a response has one line, that no call that ended
/// well used more than its processor time, and that each limit has a name.
async fn audited(server: &Server, replies: AttackerReplies) -> (usize, BTreeMap<String, usize>) {
    let deadline = Instant::now() + AUDITED;
    let (mut lines, mut calls) = (Vec::new(), 0_u64);
    while calls < replies.results && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(200)).await;
        lines = attacked(server);
        calls = lines.iter().map(|line| line["count"].as_u64().unwrap_or(1)).sum();
    }
    assert!(
        (replies.results..=replies.responses).contains(&calls),
        "the audit has {calls} calls: {replies:?}"
    );
    let mut outcomes = BTreeMap::new();
    for line in &lines {
        let outcome = line["outcome"].as_str().unwrap_or_default();
        assert_eq!(line["limit"].is_string(), outcome == "limit", "{line}");
        let used = Duration::from_micros(line["cpu_us"].as_u64().expect("what it used"));
        assert!(outcome != "ok" || used < CPU, "a call ended well with processor time of {used:?}: {line}");
        *outcomes.entry(line["limit"].as_str().unwrap_or(outcome).to_owned()).or_insert(0) += 1;
    }
    (lines.len(), outcomes)
}

/// The audit's lines on calls of the attackers. The neighbour has many times as many.
fn attacked(server: &Server) -> Vec<Value> {
    let text = std::fs::read_to_string(server.state().join("audit.jsonl")).unwrap();
    let others = text.lines().filter(|line| !line.contains(r#""plugin":"polite""#));
    let lines = others.map(|line| serde_json::from_str::<Value>(line).expect("a line of the audit is JSON"));
    lines.filter(|line| line["event"] == "call" && line["function"] == "tools/call").collect()
}
