//! A folder with many plugins, and one with a plugin that compiles for long: cached plugins are in the first list,
//! others follow, and clients are notified.

use std::path::Path;
use std::time::{Duration, Instant};

use plugport_tests::containment::{ProcessStats, children};
use plugport_tests::guests::{folder, guest};
use plugport_tests::hostile_files::{burdened, labelled};
use plugport_tests::http_client::{Client, LEGACY, Stream};
use plugport_tests::raw_server::RawServer;
use plugport_tests::reload::tool_names;
use plugport_tests::server::whole_machine;
use serde_json::json;

/// An unoptimised compiler takes a fifth of a second for each.
const PLUGINS: u64 = if cfg!(debug_assertions) { 100 } else { 200 };

/// The maximum time from the start of a process to its first list, with all code cached. An unoptimised server takes a
/// few milliseconds to load a plugin where an optimised one takes a few tenths of one, and shares the machine with CI.
const START: Duration = if cfg!(debug_assertions) { Duration::from_secs(5) } else { Duration::from_secs(1) };

/// The memory that an idle plugin may hold.
const IDLE: u64 = 400 << 10;

/// All items on one page, and lists that wait for compiling.
const LONG_START: &str = "[server]\npage_size = 1000\ninitial_load_wait_ms = 600000\n";

/// The same with lists that wait only briefly.
const USUAL: &str = "[server]\npage_size = 1000\ninitial_load_wait_ms = 500\n[limits]\ncompile_ms = 600000\n";

/// So many functions take seconds to compile in any build, and less memory than a compiler may have.
const BURDEN: u32 = 30_000;

/// Starts a server and returns its first list and the time until then.
async fn first_list(plugins: &Path, config: &str) -> (RawServer, Vec<String>, Duration) {
    let begun = Instant::now();
    let server = RawServer::start(plugins, config);
    let listed = tool_names(&Client::new(server.url().await)).await;
    (server, listed, begun.elapsed())
}

/// Waits for a `list_changed` after which the tool is listed.
async fn wait_until_announced(stream: &mut Stream, client: &Client, tool: &str) {
    loop {
        assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
        if tool_names(client).await.iter().any(|name| name == tool) {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_plugins_are_there_at_once_and_cost_little() {
    let _machine = whole_machine().await;
    let plugins = folder(&[]);
    let (mut none, listed, _) = first_list(plugins.path(), LONG_START).await;
    assert_eq!(listed, [""; 0]);
    let empty = ProcessStats::read(none.pid()).settled().await;
    none.child.kill().await.unwrap();

    let small = std::fs::read(guest("version_a")).unwrap();
    for number in 0..PLUGINS {
        let bytes = labelled(&small, &format!("copy {number}"));
        std::fs::write(plugins.path().join(format!("p{number:03}.wasm")), bytes).unwrap();
    }
    let mut cold = RawServer::start(plugins.path(), LONG_START);
    cold.wait_for_log("\nloaded").await;
    cold.child.kill().await.unwrap();

    let (server, listed, took) = first_list(plugins.path(), USUAL).await;
    let expected: Vec<String> = (0..PLUGINS).map(|number| format!("p{number:03}-version")).collect();
    assert_eq!(listed, expected, "the first list has all; the server said:\n{}", server.log());
    let full = ProcessStats::read(server.pid()).settled().await;
    // Compiled code is mapped from its file: those pages are shared, and the system can reclaim them.
    let each = full.own.saturating_sub(empty.own) / PLUGINS;
    let mapped = (full.memory.saturating_sub(empty.memory) / PLUGINS).saturating_sub(each);
    let (each_kib, mapped_kib) = (each >> 10, mapped >> 10);
    println!(
        "{PLUGINS} plugins are listed {took:?} after the start; each keeps {each_kib} KiB of its own and {mapped_kib} KiB mapped"
    );
    assert!(took < START, "{PLUGINS} plugins took {took:?}");
    assert!(each <= IDLE, "{each} bytes for each plugin, from {empty:?} to {full:?}");
    let last = Client::new(server.url().await).call(&format!("p{:03}-version", PLUGINS - 1), json!({})).await;
    assert_eq!(last.tool_text(), "a");
}

/// A client that lists while one file is compiled gets the ready plugins, and `list_changed` for the other.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_takes_long_to_compile_holds_up_no_other() {
    let _machine = whole_machine().await;
    let plugins = folder(&["polite", "version_b"]);
    let slow = burdened(&std::fs::read(guest("version_a")).unwrap(), BURDEN);
    // The first by its name; the others are not cached either.
    std::fs::write(plugins.path().join("a_slow.wasm"), slow).unwrap();
    let server = RawServer::start(plugins.path(), USUAL);
    let client = Client::new(server.url().await);
    let session = client.session(LEGACY).await;
    let mut stream = session.listen(None).await;
    let early = tool_names(&client).await;
    assert!(
        !early.contains(&"a_slow-version".to_owned()),
        "it was compiled too soon to try anything: {early:?}"
    );
    for name in ["polite", "version_b"] {
        server.wait_for_log(&format!("published {name}: ")).await;
    }
    assert!(!server.log().contains("published a_slow: "), "the others waited:\n{}", server.log());
    assert_eq!(client.call("version_b-version", json!({})).await.tool_text(), "b");

    wait_until_announced(&mut stream, &client, "a_slow-version").await;
    assert_eq!(client.call("a_slow-version", json!({})).await.tool_text(), "a");
    server.wait_for_log("\nloaded").await;
}

/// The first list has every cached plugin, also while another one compiles for long.
#[tokio::test(flavor = "multi_thread")]
async fn cached_plugins_are_in_the_first_list_and_the_rest_is_announced() {
    let _machine = whole_machine().await;
    let plugins = folder(&["polite", "version_b"]);
    let (mut first, ..) = first_list(plugins.path(), LONG_START).await;
    first.wait_for_log("\nloaded").await;
    first.child.kill().await.unwrap();
    let slow = burdened(&std::fs::read(guest("version_a")).unwrap(), BURDEN);
    std::fs::write(plugins.path().join("a_slow.wasm"), &slow).unwrap();
    // More files than are loaded at the same time, with names that come before the others.
    for number in 0..5 {
        let file = plugins.path().join(format!("a_slower{number}.wasm"));
        std::fs::write(file, labelled(&slow, &format!("another {number}"))).unwrap();
    }
    for wait in [0, 1_000] {
        let config = format!("[server]\ninitial_load_wait_ms = {wait}\n[limits]\ncompile_ms = 600000\n");
        let (mut server, listed, took) = first_list(plugins.path(), &config).await;
        println!("with a wait of {wait} ms the first list came after {took:?}");
        let ready = ["polite-echo", "version_b-version"].map(str::to_owned);
        assert!(ready.iter().all(|tool| listed.contains(tool)), "{listed:?}; {}", server.log());
        assert!(!listed.contains(&"a_slow-version".to_owned()), "it was compiled too soon to try anything");
        assert!(
            took < Duration::from_millis(wait) + START,
            "the start waited for {took:?}: {}",
            server.log()
        );
        if wait > 0 {
            let session = Client::new(server.url().await).session(LEGACY).await;
            let mut stream = session.listen(None).await;
            wait_until_announced(&mut stream, &Client::new(server.url().await), "a_slow-version").await;
        }
        let compilers = children(server.pid());
        server.child.kill().await.unwrap();
        assert!(wait > 0 || !compilers.is_empty(), "nothing was being compiled");
    }
}
