//! Runs an attack of the corpus and asserts all eight points of containment in one place ([`assert_contained`]), so
//! that no test can forget one.
//!
//! An attack runs against the real binary, over HTTP, while a neighbour calls the guest `polite`. The attack is
//! repeated, because the leak of a single call does not show: twenty times in the suite, and by the program
//! `containment` a hundred times where that takes seconds. Up to five other servers run meanwhile, and more while this
//! one waits for idle threads to end. The result is a [`ReportRow`].

mod attack;
mod attack_grant;
mod attacked_server;
mod canaries;
mod combined_attacks;
mod hostile_file;
mod many_clients;
mod memory_watch;
mod neighbour;
mod parallel_attack;
mod process_stats;
mod report_row;
mod task_call;

use std::time::{Duration, Instant};

use serde_json::Value;

pub use attack::{Attack, AttackAction, ENDED, Source};
pub use attack_grant::AttackGrant;
use attack_grant::PreparedGrant;
pub use attacked_server::AttackedServer;
pub(crate) use canaries::Canaries;
pub use combined_attacks::{all_in_sequence, eight_spinning_guests};
use hostile_file::assert_file_contained;
pub use many_clients::ManyClients;
pub use neighbour::{Latencies, Neighbour};
pub use parallel_attack::{ParallelAttack, attack_in_parallel};
pub(crate) use process_stats::assert_memory_released;
pub use process_stats::{ProcessStats, children, processor_time, resident};
pub use report_row::{ReportRow, list_item};

use crate::http_client::{Client, HttpResponse};
use crate::server::{Builder, Server};

/// The configuration of every attacked server. Without it, the plugin would be quarantined after its fifth crash.
const COMMON_LIMITS: &str = "[limits]\nquarantine_failures = 1000000\nlog_kib = 8\n";

/// The maximum wait of a neighbour in 99 of 100 calls.
pub const MAX_NEIGHBOUR_WAIT: Duration = Duration::from_millis(250);

/// The maximum growth of a server after all the repeats.
pub const GROWTH: i64 = 32 << 20;

/// The maximum size of the log of one attack, all its repeats together.
pub(crate) const LOG: usize = 1 << 20;

/// Calls before anything is measured: pools and caches fill.
const WARM_UP: u32 = 5;

/// Runs one attack and asserts all eight points.
pub async fn assert_contained(entry: &str, attack: &Attack) -> ReportRow {
    match attack.action {
        AttackAction::Calls { .. } => assert_calls_contained(entry, attack).await,
        AttackAction::Rejected { .. } | AttackAction::Published { .. } => {
            assert_file_contained(entry, attack).await
        }
    }
}

/// A server with the neighbour, the canaries and the grants of an attack.
fn builder(attack: &Attack, canaries: &Canaries, prepared: &PreparedGrant) -> Builder {
    let plugin = attack.source.plugin();
    let (settings, grants) = (attack.config, prepared.grants(plugin));
    let config = format!("{COMMON_LIMITS}[plugins.{plugin}]\n{settings}\n{grants}");
    let (name, value) = canaries.variable();
    Server::builder().guest("polite").config(&config).env(name, value)
}

async fn assert_calls_contained(entry: &str, attack: &Attack) -> ReportRow {
    let (canaries, prepared) = (Canaries::prepare().await, PreparedGrant::prepare(attack.grant).await);
    let plugin = attack.source.plugin();
    let mut server = builder(attack, &canaries, &prepared)
        .file(&format!("{plugin}.wasm"), &attack.source.bytes())
        .start()
        .await;
    let client = Client::new(server.url());
    let neighbour = Neighbour::new(server.url());
    let (tool, arguments) = tool_and_arguments(attack, plugin, &canaries, &prepared);
    let warm_up = WARM_UP.min(attack.repeats);
    for _ in 0..warm_up {
        canaries.search(&call(&client, attack, &tool, arguments.clone()).await.text);
        neighbour.echo().await;
    }
    let before = neighbour.echo_times(50).await;
    let start = ProcessStats::of(&server).settled().await;

    let neighbour_loop = neighbour.start_loop();
    let mut observed = String::new();
    for _ in 0..attack.repeats {
        let begun = Instant::now();
        let reply = call(&client, attack, &tool, arguments.clone()).await;
        assert!(begun.elapsed() < attack.within, "{entry}: one attack took {:?}", begun.elapsed());
        canaries.search(&reply.text);
        observed = assert_expected(entry, attack, &reply); // (a)
    }
    let during = neighbour_loop.end().await;
    let after = neighbour.echo_times(20).await;
    assert_neighbour_served(entry, "during", &during); // (b)
    assert_neighbour_served(entry, "after", &after);
    server.release_machine();
    let grown = assert_released(entry, &server, start).await; // (c), (d), (e)
    assert_log(entry, &server); // (c), (f)
    assert_audited(entry, &server, attack, plugin, warm_up + attack.repeats).await; // (g)
    canaries.assert_untouched(entry, &server).await; // (h)
    prepared.assert_unused().await;
    ReportRow::new(attack, observed, (before, during), grown)
}

/// Calls the tool of an attack, as a client that knows tasks if the attack needs one.
async fn call(client: &Client, attack: &Attack, tool: &str, arguments: Value) -> HttpResponse {
    if attack.as_task {
        task_call::call(client, tool, arguments).await
    } else {
        client.call(tool, arguments).await
    }
}

/// The published name of the tool, and its arguments.
fn tool_and_arguments(
    attack: &Attack,
    plugin: &str,
    canaries: &Canaries,
    prepared: &PreparedGrant,
) -> (String, Value) {
    let AttackAction::Calls { tool, arguments, .. } = attack.action else {
        panic!("{attack:?} calls nothing")
    };
    let arguments = prepared.insert(&canaries.insert(arguments));
    (format!("{plugin}-{tool}"), serde_json::from_str(&arguments).unwrap())
}

/// (a): the failure has the expected type and text. Returns the text.
fn assert_expected(entry: &str, attack: &Attack, reply: &HttpResponse) -> String {
    let AttackAction::Calls { outcome, says, .. } = attack.action else { panic!("{attack:?} calls nothing") };
    let failed = reply.result()["isError"] == true;
    assert!(
        outcome == ENDED || failed == (outcome != "ok"),
        "{entry}: {attack:?} answered {}",
        shortened(&reply.text)
    );
    let told = reply.tool_text();
    assert!(told.contains(says), "{entry}: expected {says:?} in {:?} of {attack:?}", shortened(told));
    let guests_own = !failed || outcome == "error";
    assert!(
        guests_own || (told.len() < 250 && !told.contains('\n') && !told.contains("wasm")),
        "not one sentence: {told}"
    );
    shortened(told)
}

/// (b): a neighbour waits no longer than `MAX_NEIGHBOUR_WAIT`.
fn assert_neighbour_served(entry: &str, when: &str, latencies: &Latencies) {
    let wait = latencies.percentile(99);
    assert!(
        wait < MAX_NEIGHBOUR_WAIT,
        "{entry}: {when} the attack a neighbour waited {wait:?}: {latencies:?}"
    );
}

/// (c), (d), (e): the process runs, and is as large as before. Returns its growth.
async fn assert_released(entry: &str, server: &Server, start: ProcessStats) -> (i64, i64) {
    let memory = assert_memory_released(entry, server, start, GROWTH).await;
    (memory, ProcessStats::of(server).files as i64 - start.files as i64)
}

/// (c), (f): nothing in the server panicked, and its log is small enough. A guest's own panic is a line of the log that
/// begins with a time.
fn assert_log(entry: &str, server: &Server) {
    assert_no_panic(entry, server, LOG);
}

/// The same with another maximum for the log.
pub(crate) fn assert_no_panic(entry: &str, server: &Server, log: usize) {
    let said = server.log();
    let panic =
        said.lines().find(|line| line.starts_with("thread '") || line.starts_with("fatal runtime error"));
    assert_eq!(panic, None, "{entry}: the server panicked");
    assert!(said.len() < log, "{entry}: the server printed {} bytes", said.len());
    assert!(!said.contains('\u{1b}'), "{entry}: a terminal sequence got through");
}

/// The maximum size of the log of an attack of this length: each call that traps is a few kilobytes.
pub(crate) fn log_limit(time: Duration) -> usize {
    LOG * usize::try_from(1 + time.as_secs()).unwrap()
}

/// (g): each call is in the audit once, with its outcome and its limit.
async fn assert_audited(entry: &str, server: &Server, attack: &Attack, plugin: &str, calls: u32) {
    let AttackAction::Calls { outcome, tool, says, .. } = attack.action else { return };
    let own = |line: &Value| line["event"] == "call" && line["plugin"] == plugin && line["name"] == tool;
    let deadline = Instant::now() + Duration::from_secs(5);
    let mut lines = Vec::new();
    while lines.len() < calls as usize && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(20)).await;
        lines = server.audit();
        lines.retain(own);
    }
    assert_eq!(lines.len(), calls as usize, "{entry}: one line of the audit for each call");
    for line in lines {
        assert!(outcome == ENDED || line["outcome"] == outcome, "{entry}: {line}");
        assert_eq!(line["limit"].is_string(), line["outcome"] == "limit", "{entry}: {line}");
        if let Some(limit) = limit_in(says).filter(|_| outcome == "limit") {
            assert_eq!(line["limit"], limit, "{entry}: {line}");
        }
    }
}

/// The limit that a sentence names; `None` for "(limit `", which stands for any limit.
fn limit_in(says: &str) -> Option<&str> {
    let (_, rest) = says.split_once("(limit `")?;
    rest.split_once("`)").map(|(limit, _)| limit)
}

/// The first 160 characters of a text.
pub(crate) fn shortened(text: &str) -> String {
    let beginning: String = text.chars().take(160).collect();
    if beginning.len() < text.len() { format!("{beginning}…") } else { beginning }
}
