//! Three attackers make one attack at once, again and again, on a machine with two cores. Measures the waits of a
//! neighbour, the time until cancelled calls have ended, and the time until the server has stopped.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::{JoinHandle, JoinSet};

use super::{
    Attack, AttackAction, Canaries, Latencies, Neighbour, PreparedGrant, Source, assert_no_panic, log_limit,
    processor_time, tool_and_arguments,
};
use crate::server::{Builder, Server};

const ATTACKERS: usize = 3;

/// The neighbour's address.
const ELSEWHERE: [u8; 4] = [127, 0, 0, 2];

/// How long an attack has been under way before it is cancelled.
const BEGUN: Duration = Duration::from_millis(300);

/// The maximum time of a call after it was cancelled. The server's processor time is measured for as long after that.
const GOING: Duration = Duration::from_millis(200);

/// Without these limits the plugin would be quarantined.
const UNQUARANTINED: &str = "[limits]\nquarantine_failures = 1000000\nlog_kib = 8\n";

/// The same without the limits that would end the attack before its client does.
const UNLIMITED: &str = "[limits]\nquarantine_failures = 1000000\nlog_kib = 8\n\
                         fuel = 1_000_000_000_000\ncpu_ms = 600_000\nwall_ms = 600_000\n";

/// The measurements of three attackers.
#[derive(Debug)]
pub struct ParallelAttack {
    pub name: String,
    pub waits: Latencies,
    /// From the moment that a client hangs up to the line of the audit; empty when the attack ends sooner by itself.
    pub cancelled: Latencies,
    /// Processor time of the server in the 200 ms after the last of them had ended.
    pub afterwards: Duration,
    /// From SIGTERM to the end, with three attacks under way.
    pub stopped: Duration,
    /// Attacks that were under way when they were cancelled, and when the server was told to stop.
    pub under_way: [usize; 2],
    /// The expected number of each: all, where only a limit ends them.
    pub expected_under_way: usize,
    /// How calls ended, and how often.
    pub outcomes: BTreeMap<String, usize>,
    /// The maximum processor time in the audit of a call that ended well.
    pub most_cpu_of_ok: Duration,
    /// The limit `cpu_ms` of a call.
    pub cpu: Duration,
}

impl ParallelAttack {
    pub const HEADING: &'static str = "| attack × 3 | neighbour p50 | p99 | max, ms | under way | cancelled after at most, ms | stopped after, ms | dearest ok, ms of processor | outcomes |\n\
                                       |---|---|---|---|---|---|---|---|---|";

    pub fn markdown(&self) -> String {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let outcomes: Vec<String> =
            self.outcomes.iter().map(|(name, times)| format!("{times} {name}")).collect();
        format!(
            "| {} | {:.1} | {:.1} | {:.1} | {}, {} | {:.0} | {:.0} | {:.0} | {} |",
            self.name,
            ms(self.waits.percentile(50)),
            ms(self.waits.percentile(99)),
            ms(self.waits.percentile(100)),
            self.under_way[0],
            self.under_way[1],
            ms(self.cancelled.percentile(100)),
            ms(self.stopped),
            ms(self.most_cpu_of_ok),
            outcomes.join(", ")
        )
    }
}

/// Makes an attack that is a call for this time.
pub async fn attack_in_parallel(attack: &Attack, time: Duration) -> ParallelAttack {
    let canaries = Canaries::prepare().await;
    let prepared = PreparedGrant::prepare(attack.grant).await;
    let (tool, arguments) = tool_and_arguments(attack, attack.source.plugin(), &canaries, &prepared);
    let server = builder(attack, &prepared, UNQUARANTINED, attack.config).start().await;
    let (waits, calls) = measure_neighbour(&server, &tool, &arguments, time).await;
    let (outcomes, most_cpu_of_ok) = call_outcomes(&server, attack, calls).await;
    assert_no_panic(&tool, &server, log_limit(time));
    canaries.assert_untouched(&tool, &server).await;
    drop(server);
    let endless = builder(attack, &prepared, UNLIMITED, &without_limits(attack.config)).start().await;
    let (first, cancelled, afterwards) = cancel_calls(&endless, &tool, &arguments).await;
    let (second, stopped) = stop_server(endless, &tool, &arguments).await;
    prepared.assert_unused().await;
    let (under_way, expected_under_way) = ([first, second], if is_endless(attack) { ATTACKERS } else { 0 });
    let name = match attack.action {
        AttackAction::Calls { arguments: "{}", .. } => format!("`{tool}`"),
        AttackAction::Calls { arguments, .. } => format!("`{tool}` `{arguments}`"),
        AttackAction::Rejected { .. } | AttackAction::Published { .. } => String::new(),
    };
    let cpu = cpu_limit(attack.config);
    ParallelAttack {
        name,
        waits,
        cancelled,
        afterwards,
        stopped,
        under_way,
        expected_under_way,
        outcomes,
        most_cpu_of_ok,
        cpu,
    }
}

/// Whether only a limit on its time ends an attack. For attacks that call the host this is unknown: another limit may
/// come first.
fn is_endless(attack: &Attack) -> bool {
    let is_limited = matches!(attack.action, AttackAction::Calls { outcome: "limit", .. });
    is_limited
        && match attack.source {
            Source::Adapter(passing) => passing.rounds == 0,
            Source::Wat(_) => true,
            Source::Guest(_) | Source::Variant(..) | Source::Made(_) => false,
        }
}

fn builder(attack: &Attack, prepared: &PreparedGrant, common: &str, settings: &str) -> Builder {
    let plugin = attack.source.plugin();
    let config = format!("{common}[plugins.{plugin}]\n{settings}\n{}", prepared.grants(plugin));
    let file = format!("{plugin}.wasm");
    Server::builder().guest("polite").file(&file, &attack.source.bytes()).config(&config).alone()
}

/// An attack's settings, without the limits that end it.
fn without_limits(settings: &str) -> String {
    settings.lines().filter(|line| !line.starts_with("limits")).collect::<Vec<_>>().join("\n")
}

/// The waits of a neighbour during three attackers' calls, and the number of those calls.
async fn measure_neighbour(
    server: &Server,
    tool: &str,
    arguments: &Value,
    time: Duration,
) -> (Latencies, usize) {
    let neighbour = Neighbour::from(server.url(), ELSEWHERE);
    neighbour.echo_times(20).await;
    let begun = Instant::now();
    let mut attackers = JoinSet::new();
    for _ in 0..ATTACKERS {
        let (client, tool, arguments) = (Neighbour::new(server.url()), tool.to_owned(), arguments.clone());
        attackers.spawn(async move {
            let mut calls = 0_usize;
            while begun.elapsed() < time {
                client.post(&tool, &arguments).await.expect("the server answers");
                calls += 1;
            }
            calls
        });
    }
    let mut waits = Vec::new();
    while begun.elapsed() < time {
        waits.push(neighbour.echo().await);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let calls: usize = attackers.join_all().await.into_iter().sum();
    assert!(calls >= ATTACKERS, "nothing was attacked");
    (Latencies::of(waits), calls)
}

/// How the calls of the attack ended, by the audit, which has each of them once.
async fn call_outcomes(
    server: &Server,
    attack: &Attack,
    calls: usize,
) -> (BTreeMap<String, usize>, Duration) {
    let plugin = attack.source.plugin();
    let own = |line: &Value| {
        line["event"] == "call" && line["plugin"] == plugin && line["function"] == "tools/call"
    };
    let deadline = Instant::now() + Duration::from_secs(5);
    let mut lines = Vec::new();
    while lines.len() < calls && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(20)).await;
        lines = server.audit();
        lines.retain(own);
    }
    assert_eq!(lines.len(), calls, "{plugin}: one line of the audit for each call");
    let (mut outcomes, mut most_cpu) = (BTreeMap::new(), Duration::ZERO);
    for line in lines {
        let outcome = line["outcome"].as_str().unwrap_or_default();
        let outcome = line["limit"].as_str().map_or(outcome.to_owned(), |limit| format!("`{limit}`"));
        *outcomes.entry(outcome).or_insert(0) += 1;
        if line["outcome"] == "ok" {
            most_cpu = most_cpu.max(Duration::from_micros(line["cpu_us"].as_u64().unwrap()));
        }
    }
    (outcomes, most_cpu)
}

/// The `cpu_ms` in an attack's settings, or the default.
fn cpu_limit(settings: &str) -> Duration {
    let said = settings.split("cpu_ms = ").nth(1).unwrap_or("1000");
    let number = said.chars().take_while(|char| char.is_ascii_digit() || *char == '_');
    let digits: String = number.filter(char::is_ascii_digit).collect();
    Duration::from_millis(digits.parse().expect("a number"))
}

/// The number of calls that run when their three clients disconnect, the time until the calls are in the audit, and the
/// server's processor time after that.
async fn cancel_calls(server: &Server, tool: &str, arguments: &Value) -> (usize, Latencies, Duration) {
    let attackers = start_attacks(server, tool, arguments).await;
    let (begun, expected) = (Instant::now(), attackers.len());
    attackers.iter().for_each(|attacker| attacker.abort());
    let mut waits = Vec::new();
    while waits.len() < expected && begun.elapsed() < Duration::from_secs(60) {
        tokio::time::sleep(Duration::from_millis(3)).await;
        // Some calls end by themselves before the client disconnects.
        let ended = server.audit().iter().filter(|line| line["function"] == "tools/call").count();
        waits.resize((ended + expected).saturating_sub(ATTACKERS).min(expected), begun.elapsed());
    }
    waits.resize(expected, begun.elapsed());
    let before = processor_time(server.pid());
    tokio::time::sleep(GOING).await;
    let used = processor_time(server.pid()).saturating_sub(before);
    (expected, Latencies::of(waits), used)
}

/// Three attacks that have begun and have not ended.
async fn start_attacks(server: &Server, tool: &str, arguments: &Value) -> Vec<JoinHandle<()>> {
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

/// The number of attacks that run when the server gets SIGTERM, and the time until it has stopped.
async fn stop_server(server: Server, tool: &str, arguments: &Value) -> (usize, Duration) {
    let attackers = start_attacks(&server, tool, arguments).await;
    let begun = Instant::now();
    server.signal("-TERM").await;
    assert_eq!(server.wait_for_exit().await, Some(0), "{tool}: the server stops in order");
    let took = begun.elapsed();
    attackers.iter().for_each(|attacker| attacker.abort());
    (attackers.len(), took)
}
