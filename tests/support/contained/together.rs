//! Attacks side by side and one after the other, against one server.

use std::time::Duration;

use serde_json::json;

use super::file::{assert_vetted, published};
use super::watch::Watch;
use super::{
    Attack, COMMON_LIMITS, Canaries, Deed, Laid, Latencies, Neighbour, assert_audited, assert_expected,
    assert_patience, assert_quiet, told,
};
use crate::corpus;
use crate::http::Client;
use crate::server::{Builder, Server};

/// What a server and its compilers may need for the whole corpus, all together. Without optimisation the allocator, the pools
/// and what is compiled came to 629 MiB after the entries one after another; this is a fifth above that.
const MEMORY: u64 = 768 << 20;

/// How often each attack is made.
const ROUNDS: u32 = 3;

/// An attack as a plugin of its own, with what it attacks.
struct Planted {
    entry: &'static str,
    plugin: String,
    attack: &'static Attack,
    laid: Laid,
}

/// Starts one server with every attack of the corpus as a plugin of its own, makes them one after the other, and asserts
/// how each ends and that all of it never needs more than its memory. What it came to.
pub async fn sequence() -> String {
    let canaries = Canaries::lay().await;
    let planted = planted().await;
    let builder = builder(&planted, &canaries);
    let watch = Watch::begin(builder.folder());
    let server = builder.start().await;
    let made = assert_sequence(&server, &planted, &canaries).await;
    let peak = watch.end().await;
    for Planted { entry, plugin, attack, laid } in &planted {
        assert_audited(entry, &server, attack, plugin, ROUNDS).await;
        laid.assert_left().await;
    }
    assert_quiet("the corpus in sequence", &server);
    canaries.assert_untouched("the corpus in sequence", &server).await;
    let (most, compilers) = (peak.bytes >> 20, peak.compilers);
    assert!(peak.bytes < MEMORY, "at most {most} MiB were resident");
    format!(
        "{} plugins, {made} calls; at most {most} MiB resident, {compilers} compilers included",
        planted.len()
    )
}

async fn planted() -> Vec<Planted> {
    let mut planted = Vec::new();
    for entry in corpus::entries() {
        for attack in entry.attacks() {
            let (plugin, laid) = (format!("a{}", planted.len()), Laid::lay(attack.ground).await);
            planted.push(Planted { entry: entry.id, plugin, attack, laid });
        }
    }
    planted
}

fn builder(planted: &[Planted], canaries: &Canaries) -> Builder {
    let (name, value) = canaries.variable();
    let mut builder = Server::builder().guest("polite").env(name, value).alone();
    let mut config = COMMON_LIMITS.to_owned();
    for Planted { plugin, attack, laid, .. } in planted {
        config += &format!("[plugins.{plugin}]\n{}\n{}", attack.config, laid.grants(plugin));
        builder = builder.file(&format!("{plugin}.wasm"), &attack.source.bytes());
    }
    builder.config(&config)
}

/// Looks at what became of each file, and makes each attack that is a call. How many calls that were.
async fn assert_sequence(server: &Server, planted: &[Planted], canaries: &Canaries) -> usize {
    let (client, neighbour) = (Client::new(server.url()), Neighbour::new(server.url()));
    let (said, published) = (server.said(), published(&client, canaries).await);
    for Planted { entry, plugin, attack, .. } in planted {
        assert_vetted(entry, attack, plugin, &said, &published);
    }
    let (mut made, mut waits) = (0, Vec::new());
    for Planted { entry, plugin, attack, laid } in std::iter::repeat_n(planted, ROUNDS as usize).flatten() {
        let Deed::Calls { .. } = attack.deed else { continue };
        let (tool, arguments) = told(attack, plugin, canaries, laid);
        let reply = client.call(&tool, arguments).await;
        canaries.search(&reply.text);
        assert_expected(entry, attack, &reply);
        waits.push(neighbour.ask().await);
        made += 1;
    }
    assert_patience("the corpus in sequence", "right after", &Latencies::of(waits));
    made
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
    assert_patience("eight spinning guests", "during", &during);
    let ms = |wait: Duration| wait.as_secs_f64() * 1e3;
    format!(
        "echo p50/p99 {:.1} / {:.1} ms before, {:.1} / {:.1} ms during",
        ms(before.percentile(50)),
        ms(before.percentile(99)),
        ms(during.percentile(50)),
        ms(during.percentile(99))
    )
}
