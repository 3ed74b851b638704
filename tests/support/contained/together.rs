//! Attacks side by side and one after the other, against one server.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::{Attack, Canaries, Deed, Laid, Neighbour, Process, assert_quiet, shortened, told};
use crate::corpus;
use crate::http::Client;
use crate::server::Server;

/// What a server may need for the whole corpus, its plugins and their compilation included.
const MEMORY: u64 = 512 << 20;

/// Less of everything, so that the corpus takes a minute.
const LIMITS: &str = "[limits]\nquarantine_traps = 1000000\nfuel = 20000000\ncpu_ms = 200\nwall_ms = 500\nstartup_ms = 1000\nlog_kib = 8\nlog_kib_per_second = 8\n";

/// How often each attack is made.
const ROUNDS: u32 = 3;

/// Makes every attack of the corpus, one after the other, against one server that has all the guests, and asserts that it
/// never needs more than its memory. What it came to.
pub async fn sequence() -> String {
    let canaries = Canaries::lay().await;
    let attacks: Vec<&Attack> = corpus::entries().flat_map(|entry| entry.attacks()).collect();
    let (name, value) = canaries.variable();
    let mut builder = Server::builder().guest("polite").env(name, value).alone();
    let (mut config, mut plugins) = (LIMITS.to_owned(), BTreeMap::new());
    for attack in &attacks {
        let plugin = attack.source.plugin();
        if !plugins.contains_key(plugin) {
            let laid = Laid::lay(attack.ground).await;
            config.push_str(&laid.grants(plugin));
            plugins.insert(plugin, laid);
            builder = builder.file(&format!("{plugin}.wasm"), &attack.source.bytes());
        }
    }
    let server = builder.config(&config).start().await;
    let client = Client::new(server.url());
    let neighbour = Neighbour::new(server.url());
    let mut made = 0;
    for attack in std::iter::repeat_n(&attacks, ROUNDS as usize).flatten() {
        let Deed::Calls { .. } = attack.deed else { continue };
        let (tool, arguments) = told(attack, &canaries, &plugins[attack.source.plugin()]);
        let reply = client.call(&tool, arguments).await;
        assert!(reply.answer().get("result").is_some(), "{attack:?}: {}", shortened(&reply.text));
        canaries.search(&reply.text);
        neighbour.ask().await;
        made += 1;
        let process = Process::of(&server);
        assert!(process.memory < MEMORY, "after {attack:?}: {} bytes", process.memory);
    }
    for laid in plugins.values() {
        laid.assert_left().await;
    }
    assert_quiet("the corpus in sequence", &server);
    canaries.assert_untouched("the corpus in sequence", &server).await;
    let process = Process::of(&server);
    assert!(process.peak < MEMORY, "at most {} bytes were resident", process.peak);
    format!("{} plugins, {made} attacks; at most {} MiB resident", plugins.len(), process.peak >> 20)
}

/// Eight guests spin; what a neighbour waits for an echo before and meanwhile.
pub async fn fairness() -> String {
    let config = "[plugins.hostile_loop_in_call]\nlimits = { fuel = 1_000_000_000_000, cpu_ms = 600_000 }\n";
    let server =
        Server::builder().guest("polite").guest("hostile_loop_in_call").config(config).alone().start().await;
    let neighbour = Neighbour::new(server.url());
    neighbour.ask_times(50).await;
    let before = neighbour.ask_times(500).await;
    let client = Client::new(server.url());
    let spinning: Vec<_> = (0..8)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call("hostile_loop_in_call-spin", json!({})).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let during = neighbour.ask_times(500).await;
    assert!(spinning.iter().all(|task| !task.is_finished()), "the guests stopped spinning");
    spinning.iter().for_each(tokio::task::JoinHandle::abort);
    let ms = |wait: Duration| wait.as_secs_f64() * 1e3;
    format!(
        "echo p50/p99 {:.1} / {:.1} ms before, {:.1} / {:.1} ms during",
        ms(before.percentile(50)),
        ms(before.percentile(99)),
        ms(during.percentile(50)),
        ms(during.percentile(99))
    )
}
