//! Instances that serve several calls of one caller.

use std::time::{Duration, Instant};

use plugport_tests::guests::{folder, guest};
use plugport_tests::http_client::{Client, HttpResponse};
use plugport_tests::reload::install_bytes;
use plugport_tests::server::{Server, program};
use plugport_tests::stdio_client::StdioClient;
use serde_json::{Value, json};

use crate::cli::status::versions;

const REUSE: &str = "[plugins.instance_reuse]\ninstances = \"reuse\"\n";

async fn reuse_server(config: &str) -> (Server, Client) {
    let server = Server::builder().guest("instance_reuse").config(config).start().await;
    let client = Client::new(server.url());
    (server, client)
}

async fn call(client: &Client, tool: &str) -> HttpResponse {
    client.call(&format!("instance_reuse-{tool}"), json!({})).await
}

async fn amount(client: &Client, tool: &str, amount: u64) -> HttpResponse {
    client.call(&format!("instance_reuse-{tool}"), json!({ "amount": amount })).await
}

async fn count(client: &Client) -> u32 {
    call(client, "count").await.tool_text().parse().unwrap()
}

/// The number of idle instances of the served version.
fn idle_instances(server: &Server, name: &str) -> Value {
    let served = versions(server, name).into_iter().find(|version| version["state"] == "serving");
    served.unwrap()["idle_instances"].clone()
}

async fn wait_for_idle(server: &Server, expected: u64) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while idle_instances(server, "instance_reuse") != expected {
        assert!(
            Instant::now() < deadline,
            "{expected} were expected: {}",
            idle_instances(server, "instance_reuse")
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn instances_are_fresh_unless_the_operator_says_otherwise() {
    let (server, client) = reuse_server("").await;
    assert_eq!((count(&client).await, count(&client).await), (1, 1));
    assert_eq!(idle_instances(&server, "instance_reuse"), json!(null));
    assert!(server.wait_for_audit("call", 3).await.iter().all(|line| line.get("instance").is_none()));
}

#[tokio::test]
async fn a_pooled_instance_serves_only_its_caller_again() {
    let (server, client) = reuse_server(REUSE).await;
    assert_eq!((count(&client).await, count(&client).await), (1, 2));
    let other = Client::from(server.url(), [127, 0, 0, 2]);
    assert_eq!((count(&other).await, count(&other).await), (1, 2));
    assert_eq!(count(&client).await, 3);
    let session = client.session("2025-11-25").await;
    let params = json!({ "name": "instance_reuse-count", "arguments": {} });
    let reply = session.request("tools/call", params).await;
    assert_eq!(reply.tool_text(), "4", "whatever revision it speaks");
    assert_eq!(idle_instances(&server, "instance_reuse"), 2);
    let lines = server.wait_for_audit("call", 7).await;
    let told: Vec<&Value> = lines.iter().map(|line| &line["instance"]).collect();
    let (reused, fresh) = (json!("reused"), json!(null));
    assert_eq!(told, [&fresh, &fresh, &reused, &fresh, &reused, &reused, &reused], "listing is the first");
}

#[tokio::test]
async fn a_stdio_client_is_one_caller() {
    let folder = folder(&["instance_reuse"]);
    let config = format!("[server]\ninitial_load_wait_ms = 100_000\n{REUSE}");
    std::fs::write(folder.path().join("plugport.toml"), config).unwrap();
    let mut pipe = StdioClient::start(folder.path());
    pipe.initialize("2025-11-25").await;
    for expected in ["1", "2"] {
        let params = json!({ "name": "instance_reuse-count", "arguments": {} });
        pipe.request(json!(expected), "tools/call", params).await;
        assert_eq!(pipe.next().await["result"]["content"][0]["text"], expected);
    }
    assert_eq!(pipe.end().await.2, Some(0));
}

#[tokio::test]
async fn a_tool_error_keeps_the_instance_and_a_trap_drops_it() {
    let (_server, client) = reuse_server(REUSE).await;
    assert_eq!(count(&client).await, 1);
    assert!(call(&client, "fail").await.tool_error().contains("failed in call 2"));
    assert_eq!(count(&client).await, 3);
    assert!(call(&client, "trap").await.tool_error().contains("panicked"));
    assert_eq!(count(&client).await, 1);
}

#[tokio::test]
async fn a_call_that_did_not_end_leaves_nothing_behind() {
    let (_server, client) = reuse_server(&format!("{REUSE}limits = {{ wall_ms = 1_000 }}\n")).await;
    assert_eq!(count(&client).await, 1);
    assert!(amount(&client, "nap", 60_000).await.tool_error().contains("`wall_ms`"));
    assert_eq!(count(&client).await, 1);
    let napping = tokio::time::timeout(Duration::from_millis(100), amount(&client, "nap", 60_000));
    assert!(napping.await.is_err(), "the client goes");
    assert_eq!(count(&client).await, 1);
}

#[tokio::test]
async fn a_handle_from_an_earlier_call_never_reaches_a_later_request() {
    let (_server, client) = reuse_server(REUSE).await;
    assert_eq!(call(&client, "keep").await.tool_text(), "1");
    assert_eq!(count(&client).await, 2);
    let told = call(&client, "use_kept").await;
    assert!(told.tool_error().contains("it used the handle of a request that it has answered"), "{told:?}");
    assert_eq!(call(&client, "keep").await.tool_text(), "1", "it was stopped for that");
    assert_eq!(call(&client, "drop_kept").await.tool_text(), "2026-07-28", "giving it back ends nothing");
    assert_eq!(count(&client).await, 3);
}

#[tokio::test]
async fn fuel_begins_anew_with_each_call() {
    let (server, client) = reuse_server(&format!("{REUSE}limits = {{ fuel = 100_000_000 }}\n")).await;
    for expected in ["1", "2", "3"] {
        assert_eq!(amount(&client, "burn", 4_000_000).await.tool_text(), expected);
    }
    let lines = server.wait_for_audit("call", 4).await;
    let fuel: Vec<u64> = lines[1..].iter().map(|line| line["fuel"].as_u64().unwrap()).collect();
    assert!(fuel.iter().sum::<u64>() > 150_000_000 && fuel.iter().max() < Some(&100_000_000), "{fuel:?}");
    assert!(amount(&client, "burn", 40_000_000).await.tool_error().contains("`fuel`"));
    assert_eq!(count(&client).await, 1);
}

#[tokio::test]
async fn memory_is_bounded_over_all_calls_of_an_instance() {
    let (_server, client) = reuse_server(&format!("{REUSE}limits = {{ memory_mib = 16 }}\n")).await;
    assert_eq!(amount(&client, "grow", 4).await.tool_text(), "1");
    assert_eq!(amount(&client, "grow", 4).await.tool_text(), "2");
    assert!(amount(&client, "grow", 10).await.tool_error().contains("`memory_mib`"));
    assert_eq!(amount(&client, "grow", 13).await.tool_text(), "1", "it fits where nothing is");
    assert_eq!(count(&client).await, 1, "what is nearly full is not kept");
}

#[tokio::test]
async fn each_call_has_a_log_of_its_own() {
    let (server, client) = reuse_server(&format!("{REUSE}limits = {{ log_kib = 1 }}\n")).await;
    for call_number in 1..=3 {
        assert_eq!(call(&client, "say").await.tool_text(), call_number.to_string());
        server.wait_for_log(&format!("said in call {call_number}: x")).await;
        let said = server.log();
        assert_eq!(said.matches("said in call").count(), call_number, "with its call: {said}");
        // The shared log limit of all calls, which is not tested here, is free again after four seconds.
        tokio::time::sleep(Duration::from_secs(4)).await;
    }
    assert!(!server.log().contains("was dropped"), "{}", server.log());
}

#[tokio::test]
async fn an_idle_instance_is_dropped_after_a_while_without_any_call() {
    let (server, client) = reuse_server(&format!("[server]\nidle_instance_s = 1\n{REUSE}")).await;
    assert_eq!((count(&client).await, count(&client).await), (1, 2));
    wait_for_idle(&server, 1).await;
    wait_for_idle(&server, 0).await;
    assert_eq!(count(&client).await, 1);
    wait_for_idle(&server, 1).await;
    wait_for_idle(&server, 0).await;
}

#[tokio::test]
async fn a_new_version_begins_with_an_empty_pool_and_the_old_pool_is_dropped() {
    let (server, client) = reuse_server(REUSE).await;
    assert_eq!((count(&client).await, count(&client).await), (1, 2));
    let napping = tokio::spawn({
        let client = client.clone();
        async move { amount(&client, "nap", 5_000).await.tool_text().to_owned() }
    });
    // The call has taken the idle instance.
    wait_for_idle(&server, 0).await;
    assert_eq!(count(&client).await, 1);
    wait_for_idle(&server, 1).await;
    // Other settings make another version of the same file.
    let config = format!("{REUSE}limits = {{ fuel = 1_000_000_000 }}\n");
    install_bytes(config.as_bytes(), server.folder(), "plugport.toml");
    let draining = wait_for(&server, "draining").await;
    assert_eq!((&draining["idle_instances"], &draining["instances"]), (&json!(0), &json!("reuse")));
    wait_for_idle(&server, 0).await;
    assert_eq!(count(&client).await, 1);
    assert_eq!(napping.await.unwrap(), "3", "it goes on where it began");
    assert_eq!(count(&client).await, 2, "and is not kept");
    wait_for_idle(&server, 1).await;
}

async fn wait_for(server: &Server, state: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(3);
    loop {
        let found = versions(server, "instance_reuse").into_iter().find(|version| version["state"] == state);
        if let Some(version) = found {
            return version;
        }
        assert!(Instant::now() < deadline, "no version was {state}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn idle_instances_of_many_callers_block_no_call() {
    let names = ["k1", "k2", "k3"];
    let bytes = std::fs::read(guest("instance_reuse")).unwrap();
    let mut builder = Server::builder();
    let mut config = "[server]\nidle_instances = 20\nconcurrent_calls = 4\nsuspended_calls = 1\n".to_owned();
    for name in names {
        builder = builder.file(&format!("{name}.wasm"), &bytes);
        config += &format!("[plugins.{name}]\ninstances = \"reuse\"\n");
    }
    let server = builder.config(&config).start().await;
    let files = server.open_files();
    for round in 0..2 {
        for address in 2..42 {
            let client = Client::from(server.url(), [127, 0, 1, address]);
            for name in names {
                let reply = client.call(&format!("{name}-count"), json!({})).await;
                assert_eq!(reply.tool_text(), "1", "round {round}: it made way long ago");
            }
        }
    }
    let all = || names.iter().map(|name| idle_instances(&server, name).as_u64().unwrap()).sum::<u64>();
    assert_eq!(all(), 20);
    // More calls at once than a plugin may have idle instances: they run in fresh instances.
    let calls = (0..60).map(|_| {
        let client = Client::new(server.url());
        tokio::spawn(
            async move { client.call("k1-nap", json!({ "amount": 5 })).await.tool_text().to_owned() },
        )
    });
    for call in calls.collect::<Vec<_>>() {
        assert!(call.await.unwrap().parse::<u32>().is_ok());
    }
    assert!(all() <= 20 && idle_instances(&server, "k1").as_u64().unwrap() <= 16);
    assert!(server.open_files() < files + 150, "{files} files were open, now {}", server.open_files());
}

/// A function tool that counts its calls and leaves as many handles open as its argument says.
const LEAVER: &str = r#"(component
    (import "wasi:http/types@0.2.6" (instance $http
      (export "fields" (type $fields (sub resource)))
      (export "[constructor]fields" (func (result (own $fields))))))
    (core func $new (canon lower (func $http "[constructor]fields")))
    (core module $m
      (import "host" "new" (func $new (result i32)))
      (global $count (mut i32) (i32.const 0))
      (func (export "leave") (param i32) (result i32)
        (global.set $count (i32.add (global.get $count) (i32.const 1)))
        (block $done
          (loop $more
            (br_if $done (i32.eqz (local.get 0)))
            (drop (call $new))
            (local.set 0 (i32.sub (local.get 0) (i32.const 1)))
            (br $more)))
        (global.get $count)))
    (core instance $host (export "new" (func $new)))
    (core instance $i (instantiate $m (with "host" (instance $host))))
    (func (export "leave") (param "amount" u32) (result u32) (canon lift (core func $i "leave"))))"#;

async fn leaving_server(limits: &str) -> (Server, Client) {
    let config = format!("[plugins.leaver]\ninstances = \"reuse\"\nlimits = {{ {limits} }}\n");
    let bytes = wat::parse_str(LEAVER).unwrap();
    let server = Server::builder().file("leaver.wasm", &bytes).config(&config).start().await;
    let client = Client::new(server.url());
    (server, client)
}

async fn leave(client: &Client, amount: u32) -> u64 {
    let reply = client.call("leaver-leave", json!({ "amount": amount })).await;
    reply.result()["structuredContent"]["result"].as_u64().unwrap_or_else(|| panic!("{reply:?}"))
}

#[tokio::test]
async fn an_instance_of_a_function_tool_serves_no_more_calls_than_any_other() {
    let (_server, client) = leaving_server("").await;
    for expected in (1..=256).chain([1]) {
        assert_eq!(leave(&client, 0).await, expected);
    }
}

#[tokio::test]
async fn an_instance_that_leaves_many_handles_is_not_pooled() {
    let (_server, client) = leaving_server("").await;
    assert_eq!((leave(&client, 30).await, leave(&client, 30).await), (1, 2));
    assert_eq!((leave(&client, 30).await, leave(&client, 0).await), (3, 1));
}

#[tokio::test]
async fn granted_directories_do_not_count_as_left_handles() {
    let root = tempfile::tempdir().unwrap();
    let dirs = (0..70).map(|at| {
        let dir = root.path().join(format!("d{at}"));
        std::fs::create_dir(&dir).unwrap();
        format!("{{ host = {dir:?}, guest = \"/d{at}\" }}")
    });
    let dirs = dirs.collect::<Vec<_>>().join(", ");
    std::fs::write(root.path().join("d69/note"), "here").unwrap();
    let config = format!("[plugins.file_io]\ninstances = \"reuse\"\ngrants = {{ dirs = [{dirs}] }}\n");
    let server = Server::builder().guest("file_io").config(&config).start().await;
    let client = Client::new(server.url());
    for _ in 0..2 {
        let reply = client.call("file_io-read", json!({ "path": "/d69/note" })).await;
        assert_eq!(reply.tool_text(), "here", "{reply:?}");
    }
    let lines = server.wait_for_audit("call", 3).await;
    assert_eq!(lines.last().unwrap()["instance"], "reused", "{lines:?}");
}

#[test]
fn check_warns_about_reuse_and_rejects_settings_that_contradict_it() {
    let plugins = folder(&["instance_reuse"]);
    let check = |config: &str| {
        let file = plugins.path().join("plugport.toml");
        std::fs::write(&file, config).unwrap();
        let mut command = program();
        command.arg("check").arg("--plugins").arg(plugins.path()).arg("--config").arg(file);
        let output = command.current_dir(plugins.path()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout) + &text(output.stderr))
    };
    let (code, told) = check(REUSE);
    let price = "can remember what one caller told it for that caller's later calls";
    assert!(code == Some(0) && told.contains(price), "{told}");
    let (code, told) = check("");
    assert!(code == Some(0) && !told.contains(price), "{told}");
    let (code, told) = check(&format!("{REUSE}grants = {{ roots = {{ read = [\".\"] }} }}\n"));
    assert!(code == Some(2) && told.contains("does not go with the grant `roots` to read"), "{told}");
}
