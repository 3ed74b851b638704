//! What "contained" means, in one place: every attack of the corpus goes through [`assert_contained`], which looks at all
//! eight points, so that no test can forget one.
//!
//! An attack runs against the real binary, over HTTP, with a polite plugin loaded beside it and called all the while. It is
//! repeated, a hundred times where that takes seconds, because what a single call leaks does not show. What was measured
//! comes back as a [`Row`], for whoever prints it.

mod attack;
mod canaries;
mod ground;
mod measure;
mod neighbour;
mod row;
mod together;

use std::time::{Duration, Instant};

use serde_json::Value;

pub use attack::{Attack, Deed, Source};
use canaries::Canaries;
pub use ground::Ground;
use ground::Laid;
pub use measure::Process;
pub use neighbour::{Latencies, Neighbour};
pub use row::Row;
pub use together::{fairness, sequence};

use crate::http::{Client, Reply};
use crate::server::{Builder, Server};

/// What every attacked server is configured with. Quarantine would answer in a plugin's place after its fifth crash.
const COMMON_LIMITS: &str = "[limits]\nquarantine_traps = 1000000\nlog_kib = 8\nlog_kib_per_second = 8\n";

/// What a neighbour may wait, one time in a hundred.
pub const PATIENCE: Duration = Duration::from_millis(250);

/// What a server may have grown by after all the repeats.
const GROWTH: i64 = 32 << 20;

/// Log of one attack, all its repeats together.
const LOG: usize = 1 << 20;

/// Calls before anything is measured: pools and caches fill.
const WARM_UP: u32 = 10;

/// Runs one attack and asserts all eight points.
pub async fn assert_contained(entry: &str, attack: &Attack) -> Row {
    match attack.deed {
        Deed::Calls { .. } => assert_calls_contained(entry, attack).await,
        Deed::Refused { .. } | Deed::Published { .. } => assert_file_contained(entry, attack).await,
    }
}

/// A server with what every attack needs around it.
fn builder(attack: &Attack, canaries: &Canaries, laid: &Laid) -> Builder {
    let plugin = attack.source.plugin();
    let (settings, grants) = (attack.config, laid.grants(plugin));
    let config = format!("{COMMON_LIMITS}[plugins.{plugin}]\n{settings}\n{grants}");
    let (name, value) = canaries.variable();
    Server::builder().guest("polite").config(&config).env(name, value).alone()
}

async fn assert_calls_contained(entry: &str, attack: &Attack) -> Row {
    let (canaries, laid) = (Canaries::lay().await, Laid::lay(attack.ground).await);
    let plugin = attack.source.plugin();
    let server = builder(attack, &canaries, &laid)
        .file(&format!("{plugin}.wasm"), &attack.source.bytes())
        .start()
        .await;
    let client = Client::new(server.url());
    let neighbour = Neighbour::new(server.url());
    let (tool, arguments) = told(attack, &canaries, &laid);
    let warm_up = WARM_UP.min(attack.repeats);
    for _ in 0..warm_up {
        canaries.search(&client.call(&tool, arguments.clone()).await.text);
        neighbour.ask().await;
    }
    let before = neighbour.ask_times(50).await;
    let start = Process::of(&server).settled().await;

    let visiting = neighbour.visit();
    let mut observed = String::new();
    for _ in 0..attack.repeats {
        let begun = Instant::now();
        let reply = client.call(&tool, arguments.clone()).await;
        assert!(begun.elapsed() < attack.within, "{entry}: one attack took {:?}", begun.elapsed());
        canaries.search(&reply.text);
        observed = assert_expected(entry, attack, &reply); // (a)
    }
    let during = visiting.end().await;
    let after = neighbour.ask_times(20).await;
    assert_patience(entry, &during, &after); // (b)
    let grown = assert_back(entry, &server, start).await; // (c), (d), (e)
    assert_quiet(entry, &server); // (c), (f)
    assert_audited(entry, &server, attack, warm_up + attack.repeats).await; // (g)
    canaries.assert_untouched(entry, &server).await; // (h)
    laid.assert_left().await;
    Row::new(entry, attack, observed, (before, during), grown)
}

/// The published name of the tool, and what it is called with.
fn told(attack: &Attack, canaries: &Canaries, laid: &Laid) -> (String, Value) {
    let Deed::Calls { tool, arguments, .. } = attack.deed else { panic!("{attack:?} calls nothing") };
    let arguments = laid.insert(&canaries.insert(arguments));
    (format!("{}-{tool}", attack.source.plugin()), serde_json::from_str(&arguments).unwrap())
}

/// (a): the failure has the type and the words that it should have. What a client heard.
fn assert_expected(entry: &str, attack: &Attack, reply: &Reply) -> String {
    let Deed::Calls { outcome, says, .. } = attack.deed else { panic!("{attack:?} calls nothing") };
    let failed = reply.result()["isError"] == true;
    assert_eq!(failed, outcome != "ok", "{entry}: {attack:?} answered {}", shortened(&reply.text));
    let told = reply.tool_text();
    assert!(told.contains(says), "{entry}: expected {says:?} in {:?}", shortened(told));
    let guests_own = matches!(outcome, "ok" | "error");
    assert!(
        guests_own || (told.len() < 250 && !told.contains('\n') && !told.contains("wasm")),
        "not one sentence: {told}"
    );
    shortened(told)
}

/// (b): a neighbour waits no longer than it should, during the attack and after it.
fn assert_patience(entry: &str, during: &Latencies, after: &Latencies) {
    for (when, latencies) in [("during", during), ("after", after)] {
        let wait = latencies.percentile(99);
        assert!(wait < PATIENCE, "{entry}: {when} the attack a neighbour waited {wait:?}: {latencies:?}");
    }
}

/// (c), (d), (e): the process is there, and as large as it was. By how much it has grown.
async fn assert_back(entry: &str, server: &Server, start: Process) -> (i64, i64) {
    let end = Process::of(server).back_to(start).await;
    let memory = end.memory as i64 - start.memory as i64;
    assert!(memory < GROWTH, "{entry}: resident memory went from {} to {}", start.memory, end.memory);
    assert!(end.files <= start.files + 2, "{entry}: {} files were open, then {}", start.files, end.files);
    assert!(end.threads <= start.threads + 2, "{entry}: {} threads, then {}", start.threads, end.threads);
    (memory, end.files as i64 - start.files as i64)
}

/// (c), (f): nothing in the server panicked, and it wrote no more than it should. A guest's own panic is a line of its log
/// and begins with a time.
fn assert_quiet(entry: &str, server: &Server) {
    let said = server.said();
    let panic =
        said.lines().find(|line| line.starts_with("thread '") || line.starts_with("fatal runtime error"));
    assert_eq!(panic, None, "{entry}: the server panicked");
    assert!(said.len() < LOG, "{entry}: the server printed {} bytes", said.len());
    assert!(!said.contains('\u{1b}'), "{entry}: a terminal sequence got through");
}

/// (g): each call is in the audit once, with how it ended.
async fn assert_audited(entry: &str, server: &Server, attack: &Attack, calls: u32) {
    let Deed::Calls { outcome, tool, .. } = attack.deed else { return };
    let plugin = attack.source.plugin();
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
        assert_eq!(line["outcome"], outcome, "{entry}: {line}");
    }
}

async fn assert_file_contained(entry: &str, attack: &Attack) -> Row {
    let (canaries, laid) = (Canaries::lay().await, Laid::lay(attack.ground).await);
    let plugin = attack.source.plugin();
    let bytes = attack.source.bytes();
    let mut builder = builder(attack, &canaries, &laid).file(&format!("{plugin}.wasm"), &bytes);
    // The same file again and again: what one leaks does not show.
    for copy in 0..attack.repeats {
        builder = builder.file(&format!("copy{copy}.wasm"), &bytes);
    }
    let begun = Instant::now();
    let server = builder.start().await;
    let took = begun.elapsed();
    let most = attack.within * (attack.repeats + 1);
    assert!(took < most, "{entry}: the server took {took:?} to start");
    let neighbour = Neighbour::new(server.url());
    neighbour.ask_times(10).await;
    let start = Process::of(&server).settled().await;
    let client = Client::new(server.url());
    let observed = assert_vetted(entry, attack, &server, &client, &canaries).await; // (a)
    let after = neighbour.ask_times(50).await;
    assert_patience(entry, &after, &after); // (b)
    let grown = assert_back(entry, &server, start).await; // (c), (d), (e)
    assert_quiet(entry, &server); // (c), (f)
    assert_load_audited(entry, &server, attack); // (g)
    canaries.assert_untouched(entry, &server).await; // (h)
    Row::of_file(entry, attack, observed, after, grown)
}

/// (a): the log has one line on the file, or on each item that is not published, and clients see what is left.
async fn assert_vetted(
    entry: &str,
    attack: &Attack,
    server: &Server,
    client: &Client,
    canaries: &Canaries,
) -> String {
    let plugin = attack.source.plugin();
    let (prefix, said) = (format!("{plugin}-"), server.said());
    let listed = client.request("tools/list", serde_json::json!({})).await;
    canaries.search(&listed.text);
    let names = listed.result()["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str());
    let own: Vec<&str> = names.filter_map(|name| name.strip_prefix(&prefix)).collect();
    match attack.deed {
        Deed::Refused { says } => {
            let line =
                said.lines().filter(|line| line.contains(&format!("/{plugin}.wasm:"))).collect::<Vec<_>>();
            assert!(
                line.len() == 1 && line[0].contains(says),
                "{entry}: expected {says:?} in {line:?}\n{}",
                shortened(&said)
            );
            assert!(own.is_empty(), "{entry}: {own:?} are published");
            shortened(line[0].split_once(".wasm: ").map_or(line[0], |(_, why)| why))
        }
        Deed::Published { tools, says } => {
            assert_eq!(own, tools, "{entry}: {}", shortened(&said));
            for says in says {
                assert!(said.contains(says), "{entry}: expected {says:?} in\n{said}");
            }
            format!("published: {}; refused: {}", own.join(", "), says.len())
        }
        Deed::Calls { .. } => String::new(),
    }
}

/// (g) for a file: one line that says what became of it.
fn assert_load_audited(entry: &str, server: &Server, attack: &Attack) {
    let file = format!("{}.wasm", attack.source.plugin());
    let mut lines = server.audit();
    lines.retain(|line| {
        line["event"] == "load" && line["file"].as_str().is_some_and(|path| path.ends_with(&file))
    });
    let outcome = if matches!(attack.deed, Deed::Refused { .. }) { "refused" } else { "published" };
    assert!(lines.len() == 1 && lines[0]["outcome"] == outcome, "{entry}: {lines:?}");
}

/// The beginning of a text, for people.
pub(crate) fn shortened(text: &str) -> String {
    let kept: String = text.chars().take(160).collect();
    if kept.len() < text.len() { format!("{kept}…") } else { kept }
}
