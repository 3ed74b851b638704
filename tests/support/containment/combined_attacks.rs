//! All attacks of the corpus, one after another, against one server; and eight spinning guests at once.

use std::time::Duration;

use serde_json::json;

use super::hostile_file::{assert_load_outcome, published};
use super::memory_watch::MemoryWatch;
use super::{
    Attack, AttackAction, COMMON_LIMITS, Canaries, Latencies, Neighbour, PreparedGrant, assert_audited,
    assert_expected, assert_log, assert_neighbour_served, call, tool_and_arguments,
};
use crate::corpus;
use crate::http_client::Client;
use crate::server::{Builder, Server};

/// The maximum memory of a server and its compilers for the whole corpus. Without optimisation the allocator, the pools
/// and the compiled code came to 629 MiB; this is a fifth above that.
const MEMORY: u64 = 768 << 20;

/// How often each attack is made.
const ROUNDS: u32 = 3;

/// An attack as a plugin of its own, with its target.
struct InstalledAttack {
    entry: &'static str,
    plugin: String,
    attack: &'static Attack,
    prepared: PreparedGrant,
}

/// Starts one server with every attack of the corpus as a plugin of its own, makes the attacks one after the other, and
/// asserts the outcome of each and the maximum memory. Returns the figures.
pub async fn all_in_sequence() -> String {
    let canaries = Canaries::prepare().await;
    let installed = installed_attacks().await;
    let builder = builder(&installed, &canaries);
    let watch = MemoryWatch::begin(builder.folder());
    let server = builder.start().await;
    let made = assert_sequence(&server, &installed, &canaries).await;
    let peak = watch.end().await;
    for InstalledAttack { entry, plugin, attack, prepared } in &installed {
        assert_audited(entry, &server, attack, plugin, ROUNDS).await;
        prepared.assert_unused().await;
    }
    assert_log("the corpus in sequence", &server);
    canaries.assert_untouched("the corpus in sequence", &server).await;
    let (peak_mib, compilers) = (peak.bytes >> 20, peak.compilers);
    assert!(peak.bytes < MEMORY, "at most {peak_mib} MiB were resident");
    format!(
        "{} plugins, {made} calls; at most {peak_mib} MiB resident, {compilers} compilers included",
        installed.len()
    )
}

async fn installed_attacks() -> Vec<InstalledAttack> {
    let mut installed = Vec::new();
    for entry in corpus::entries() {
        for attack in entry.attacks() {
            let (plugin, prepared) =
                (format!("a{}", installed.len()), PreparedGrant::prepare(attack.grant).await);
            installed.push(InstalledAttack { entry: entry.id, plugin, attack, prepared });
        }
    }
    installed
}

fn builder(installed: &[InstalledAttack], canaries: &Canaries) -> Builder {
    let (name, value) = canaries.variable();
    let mut builder = Server::builder().guest("polite").env(name, value);
    let mut config = COMMON_LIMITS.to_owned();
    for InstalledAttack { plugin, attack, prepared, .. } in installed {
        config += &format!("[plugins.{plugin}]\n{}\n{}", attack.config, prepared.grants(plugin));
        builder = builder.file(&format!("{plugin}.wasm"), &attack.source.bytes());
    }
    builder.config(&config)
}

/// Asserts the outcome of each file, makes each attack that is a call, and returns the number of calls.
async fn assert_sequence(server: &Server, installed: &[InstalledAttack], canaries: &Canaries) -> usize {
    let (client, neighbour) = (Client::new(server.url()), Neighbour::new(server.url()));
    let (said, published) = (server.log(), published(&client, canaries).await);
    for InstalledAttack { entry, plugin, attack, .. } in installed {
        assert_load_outcome(entry, attack, plugin, &said, &published);
    }
    let (mut made, mut waits) = (0, Vec::new());
    for InstalledAttack { entry, plugin, attack, prepared } in
        std::iter::repeat_n(installed, ROUNDS as usize).flatten()
    {
        let AttackAction::Calls { .. } = attack.action else { continue };
        let (tool, arguments) = tool_and_arguments(attack, plugin, canaries, prepared);
        let reply = call(&client, attack, &tool, arguments).await;
        canaries.search(&reply.text);
        assert_expected(entry, attack, &reply);
        waits.push(neighbour.echo().await);
        made += 1;
    }
    assert_neighbour_served("the corpus in sequence", "right after", &Latencies::of(waits));
    made
}

/// Eight guests spin. Returns how long a neighbour waits for an echo before and during that.
pub async fn eight_spinning_guests() -> String {
    let config = "[plugins.hostile_loop_in_call]\nlimits = { fuel = 1_000_000_000_000, cpu_ms = 600_000 }\n";
    let server =
        Server::builder().guest("polite").guest("hostile_loop_in_call").config(config).alone().start().await;
    let neighbour = Neighbour::new(server.url());
    neighbour.echo_times(50).await;
    let before = neighbour.echo_times(500).await;
    let client = Client::new(server.url());
    let spinning: Vec<_> = (0..8)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call("hostile_loop_in_call-spin", json!({})).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let during = neighbour.echo_times(500).await;
    assert!(spinning.iter().all(|task| !task.is_finished()), "the guests stopped spinning");
    spinning.iter().for_each(tokio::task::JoinHandle::abort);
    assert_neighbour_served("eight spinning guests", "during", &during);
    let ms = |wait: Duration| wait.as_secs_f64() * 1e3;
    format!(
        "echo p50/p99 {:.1} / {:.1} ms before, {:.1} / {:.1} ms during",
        ms(before.percentile(50)),
        ms(before.percentile(99)),
        ms(during.percentile(50)),
        ms(during.percentile(99))
    )
}
