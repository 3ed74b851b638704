//! Attacks by a file that is only in the plugin folder. The server reads the file when it starts, so the cost shows in
//! comparison with the same server without the file.

use serde_json::json;

use super::{
    Attack, AttackAction, Canaries, Latencies, Neighbour, PreparedGrant, ProcessStats, ReportRow, assert_log,
    assert_neighbour_served, assert_released, builder, shortened,
};
use crate::http_client::Client;
use crate::server::{Builder, Server};

/// Echoes as soon as the server serves, and as many again later.
const ECHOES: u32 = 50;

/// Puts the file and copies of it into a folder, starts a server, and asserts the eight points.
pub(super) async fn assert_file_contained(entry: &str, attack: &Attack) -> ReportRow {
    let (canaries, prepared) = (Canaries::prepare().await, PreparedGrant::prepare(attack.grant).await);
    let (mut start, before) = without(builder(attack, &canaries, &prepared)).await;
    if let AttackAction::Published { .. } = attack.action {
        // The engine keeps the image of a plugin's memory in an open file as long as the plugin is there.
        start.files += attack.repeats as usize + 1;
    }
    let mut server = with_copies(attack, builder(attack, &canaries, &prepared)).start().await;
    let took = server.start();
    let max = attack.within * (attack.repeats + 1);
    assert!(took < max, "{entry}: the server took {took:?} to start");
    let neighbour = Neighbour::new(server.url());
    let during = neighbour.echo_times(ECHOES).await;
    let published = published(&Client::new(server.url()), &canaries).await;
    let observed = assert_load_outcome(entry, attack, attack.source.plugin(), &server.log(), &published); // (a)
    let after = neighbour.echo_times(ECHOES).await;
    assert_neighbour_served(entry, "right after", &during); // (b)
    assert_neighbour_served(entry, "long after", &after);
    server.release_machine();
    let grown = assert_released(entry, &server, start).await; // (c), (d), (e)
    assert_log(entry, &server); // (c), (f)
    assert_load_audited(entry, &server, attack); // (g)
    canaries.assert_untouched(entry, &server).await; // (h)
    ReportRow::new(attack, observed, (before, during), grown)
}

/// The memory of the server without the file after as many requests, and how long its callers wait.
async fn without(builder: Builder) -> (ProcessStats, Latencies) {
    let server = builder.start().await;
    let neighbour = Neighbour::new(server.url());
    let waits = neighbour.echo_times(ECHOES).await;
    Client::new(server.url()).request("tools/list", json!({})).await;
    neighbour.echo_times(ECHOES).await;
    (ProcessStats::of(&server).settled().await, waits)
}

/// Many copies of the file, since the leak of one would not show.
fn with_copies(attack: &Attack, builder: Builder) -> Builder {
    let bytes = attack.source.bytes();
    let first = builder.file(&format!("{}.wasm", attack.source.plugin()), &bytes);
    (0..attack.repeats).fold(first, |builder, copy| builder.file(&format!("copy{copy}.wasm"), &bytes))
}

/// The names of all tools that clients see.
pub(super) async fn published(client: &Client, canaries: &Canaries) -> Vec<String> {
    let (mut names, mut params) = (Vec::new(), json!({}));
    loop {
        let page = client.request("tools/list", params).await;
        canaries.search(&page.text);
        let tools = page.result()["tools"].as_array().unwrap();
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        let Some(next) = page.result()["nextCursor"].as_str() else { return names };
        params = json!({ "cursor": next });
    }
}

/// (a): the log has one line on the file, or on each item that is not published, and clients see the other items.
pub(super) fn assert_load_outcome(
    entry: &str,
    attack: &Attack,
    plugin: &str,
    said: &str,
    published: &[String],
) -> String {
    let prefix = format!("{plugin}-");
    let own: Vec<&str> = published.iter().filter_map(|name| name.strip_prefix(&prefix)).collect();
    match attack.action {
        AttackAction::Rejected { says } => {
            assert!(own.is_empty(), "{entry}: {own:?} are published");
            assert_rejected(entry, &format!("/{plugin}.wasm:"), says, said)
        }
        AttackAction::Published { tools, says } => {
            assert_eq!(own, tools, "{entry}: {}", shortened(said));
            for says in says {
                assert!(said.contains(says), "{entry}: expected {says:?} in\n{said}");
            }
            format!("published: {}; rejected: {}", own.join(", "), says.len())
        }
        AttackAction::Calls { .. } => String::new(),
    }
}

/// Asserts that one line of the log says why the file was rejected, and returns the reason.
fn assert_rejected(entry: &str, file: &str, says: &str, said: &str) -> String {
    let lines = said.lines().filter(|line| line.contains(file)).collect::<Vec<_>>();
    assert!(
        lines.len() == 1 && lines[0].contains(says),
        "{entry}: expected {says:?} in {lines:?}\n{}",
        shortened(said)
    );
    shortened(lines[0].split_once(".wasm: ").map_or(lines[0], |(_, why)| why))
}

/// (g): the audit has one line with the outcome of the file.
fn assert_load_audited(entry: &str, server: &Server, attack: &Attack) {
    let file = format!("/{}.wasm", attack.source.plugin());
    let mut lines = server.audit();
    lines.retain(|line| {
        line["event"] == "load" && line["file"].as_str().is_some_and(|path| path.ends_with(&file))
    });
    let outcome =
        if matches!(attack.action, AttackAction::Rejected { .. }) { "rejected" } else { "published" };
    assert!(lines.len() == 1 && lines[0]["outcome"] == outcome, "{entry}: {lines:?}");
}
