//! Three callers make one attack at once, again and again, on a machine with two cores: what a neighbour waits, when a call
//! that is cancelled is gone, and when a server that is told to stop has stopped.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::{JoinHandle, JoinSet};

use super::{Attack, Canaries, Deed, Laid, Latencies, Neighbour, assert_quiet, told};
use crate::server::{Builder, Server};

const ATTACKERS: usize = 3;

/// Where the neighbour calls from.
const ELSEWHERE: [u8; 4] = [127, 0, 0, 2];

/// How long an attack may have been under way before it is cancelled.
const BEGUN: Duration = Duration::from_millis(300);

/// Quarantine would answer in a plugin's place.
const UNQUARANTINED: &str = "[limits]\nquarantine_traps = 1000000\nlog_kib = 8\nlog_kib_per_second = 8\n";

/// The same without anything that would end the attack before its client does.
const UNLIMITED: &str = "[limits]\nquarantine_traps = 1000000\nlog_kib = 8\nlog_kib_per_second = 8\n\
                         fuel = 1_000_000_000_000\ncpu_ms = 600_000\nwall_ms = 600_000\n";

/// What three attackers came to.
#[derive(Debug)]
pub struct Assault {
    pub name: String,
    pub waits: Latencies,
    /// From the moment that a client hangs up to the line of the audit; empty when the attack ends sooner by itself.
    pub cancelled: Latencies,
    /// From SIGTERM to the end, with three attacks under way.
    pub stopped: Duration,
    /// How calls ended, and how often.
    pub outcomes: BTreeMap<String, usize>,
    /// The most processor time of a call that ended well, of all that the audit has.
    pub dearest_ok: Duration,
    /// What `cpu_ms` allowed a call.
    pub cpu: Duration,
}

impl Assault {
    pub const HEADING: &'static str = "| attack × 3 | neighbour p50 | p99 | max, ms | cancelled after at most, ms | stopped after, ms | dearest ok, ms of processor | outcomes |\n\
                                       |---|---|---|---|---|---|---|---|";

    pub fn markdown(&self) -> String {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let outcomes: Vec<String> =
            self.outcomes.iter().map(|(name, times)| format!("{times} {name}")).collect();
        format!(
            "| {} | {:.1} | {:.1} | {:.1} | {:.0} | {:.0} | {:.0} | {} |",
            self.name,
            ms(self.waits.percentile(50)),
            ms(self.waits.percentile(99)),
            ms(self.waits.percentile(100)),
            ms(self.cancelled.percentile(100)),
            ms(self.stopped),
            ms(self.dearest_ok),
            outcomes.join(", ")
        )
    }
}

/// Makes an attack that is a call, for so long.
pub async fn assault(attack: &Attack, time: Duration) -> Assault {
    let canaries = Canaries::lay().await;
    let laid = Laid::lay(attack.ground).await;
    let (tool, arguments) = told(attack, attack.source.plugin(), &canaries, &laid);
    let server = builder(attack, &laid, UNQUARANTINED, attack.config).start().await;
    let waits = besieged(&server, &tool, &arguments, time).await;
    let (outcomes, dearest_ok) = ended(&server, attack);
    assert_quiet(&tool, &server);
    drop(server);
    let endless = builder(attack, &laid, UNLIMITED, &without_limits(attack.config)).start().await;
    let cancelled = cancelled(&endless, &tool, &arguments).await;
    let stopped = stopped(endless, &tool, &arguments).await;
    let name = match attack.deed {
        Deed::Calls { arguments: "{}", .. } => format!("`{tool}`"),
        Deed::Calls { arguments, .. } => format!("`{tool}` `{arguments}`"),
        Deed::Refused { .. } | Deed::Published { .. } => String::new(),
    };
    Assault { name, waits, cancelled, stopped, outcomes, dearest_ok, cpu: cpu(attack.config) }
}

fn builder(attack: &Attack, laid: &Laid, common: &str, settings: &str) -> Builder {
    let plugin = attack.source.plugin();
    let config = format!("{common}[plugins.{plugin}]\n{settings}\n{}", laid.grants(plugin));
    let file = format!("{plugin}.wasm");
    Server::builder().guest("polite").file(&file, &attack.source.bytes()).config(&config).alone()
}

/// An attack's settings, without the limits that end it.
fn without_limits(settings: &str) -> String {
    settings.lines().filter(|line| !line.starts_with("limits")).collect::<Vec<_>>().join("\n")
}

/// What a neighbour waits while three attack.
async fn besieged(server: &Server, tool: &str, arguments: &Value, time: Duration) -> Latencies {
    let neighbour = Neighbour::from(server.url(), ELSEWHERE);
    neighbour.ask_times(20).await;
    let begun = Instant::now();
    let mut attackers = JoinSet::new();
    for _ in 0..ATTACKERS {
        let (client, tool, arguments) = (Neighbour::new(server.url()), tool.to_owned(), arguments.clone());
        attackers.spawn(async move {
            while begun.elapsed() < time {
                client.post(&tool, &arguments).await.expect("the server answers");
            }
        });
    }
    let mut waits = Vec::new();
    while begun.elapsed() < time {
        waits.push(neighbour.ask().await);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    attackers.join_all().await;
    Latencies::of(waits)
}

/// How the calls of the attack ended, by the audit.
fn ended(server: &Server, attack: &Attack) -> (BTreeMap<String, usize>, Duration) {
    let (mut outcomes, mut dearest) = (BTreeMap::new(), Duration::ZERO);
    for line in server.audit() {
        if line["event"] != "call" || line["plugin"] != attack.source.plugin() || line["caller"] == "server" {
            continue;
        }
        let outcome = line["outcome"].as_str().unwrap_or_default();
        let outcome = line["limit"].as_str().map_or(outcome.to_owned(), |limit| format!("`{limit}`"));
        *outcomes.entry(outcome).or_insert(0) += 1;
        if line["outcome"] == "ok" {
            dearest = dearest.max(Duration::from_micros(line["cpu_us"].as_u64().unwrap()));
        }
    }
    (outcomes, dearest)
}

/// What an attack's settings say of `cpu_ms`, or the default.
fn cpu(settings: &str) -> Duration {
    let said = settings.split("cpu_ms = ").nth(1).unwrap_or("1000");
    let number = said.chars().take_while(|char| char.is_ascii_digit() || *char == '_');
    let digits: String = number.filter(char::is_ascii_digit).collect();
    Duration::from_millis(digits.parse().expect("a number"))
}

/// How long after their clients hang up three calls are in the audit.
async fn cancelled(server: &Server, tool: &str, arguments: &Value) -> Latencies {
    let attackers = under_way(server, tool, arguments).await;
    if attackers.is_empty() {
        return Latencies::of(Vec::new());
    }
    let (begun, expected) = (Instant::now(), attackers.len());
    attackers.iter().for_each(|attacker| attacker.abort());
    let mut waits = Vec::new();
    while waits.len() < expected && begun.elapsed() < Duration::from_secs(60) {
        tokio::time::sleep(Duration::from_millis(3)).await;
        let gone = server.audit().iter().filter(|line| line["outcome"] == "cancelled").count();
        waits.resize(gone.min(expected), begun.elapsed());
    }
    waits.resize(expected, begun.elapsed());
    Latencies::of(waits)
}

/// Three attacks that have begun and have not ended.
async fn under_way(server: &Server, tool: &str, arguments: &Value) -> Vec<JoinHandle<()>> {
    let attackers: Vec<_> = (0..ATTACKERS)
        .map(|_| {
            let (client, tool, arguments) =
                (Neighbour::new(server.url()), tool.to_owned(), arguments.clone());
            tokio::spawn(async move { drop(client.post(&tool, &arguments).await) })
        })
        .collect();
    tokio::time::sleep(BEGUN).await;
    attackers.into_iter().filter(|attacker| !attacker.is_finished()).collect()
}

/// How long a server needs to stop while it is attacked.
async fn stopped(server: Server, tool: &str, arguments: &Value) -> Duration {
    let attackers = under_way(&server, tool, arguments).await;
    let begun = Instant::now();
    server.signal("-TERM").await;
    server.ended().await;
    attackers.iter().for_each(|attacker| attacker.abort());
    begun.elapsed()
}
