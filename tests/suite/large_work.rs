//! What the server itself has to compute for a guest or a client holds up nobody else, and ends.

use std::time::{Duration, Instant};

use plugport_tests::contained::Neighbour;
use plugport_tests::http::Client;
use plugport_tests::server::Server;
use serde_json::{Value, json};

/// What a neighbour may wait on two cores that are busy with others, by a server that is built without optimisation.
const PATIENCE: Duration = Duration::from_millis(500);

/// Processor time of a process so far.
fn processor_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // In hundredths of a second, whatever the machine.
    let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_neighbour_answers_while_results_are_checked() {
    let server = Server::builder().guest("polite").guest("hostile_schema_checks").alone().start().await;
    let neighbour = Neighbour::new(server.url());
    neighbour.ask_times(10).await;
    let visiting = neighbour.visit();
    let attacks: Vec<_> = ["compare", "alternatives", "compare"]
        .into_iter()
        .map(|tool| {
            let client = Client::new(server.url());
            let tool = format!("hostile_schema_checks-{tool}");
            tokio::spawn(async move { client.call(&tool, json!({ "items": 1_000_000 })).await })
        })
        .collect();
    for attack in attacks {
        let told = attack.await.unwrap().tool_error().to_owned();
        assert!(told.contains("(limit `cpu_ms`)") || told.contains("checking takes too long"), "{told}");
    }
    let waits = visiting.end().await;
    assert!(waits.percentile(100) < PATIENCE, "{waits:?}");
    let audited = server.audit();
    let outcomes: Vec<&Value> = audited
        .iter()
        .filter(|line| line["plugin"] == "hostile_schema_checks" && line["function"] == "tools/call")
        .map(|line| &line["outcome"])
        .collect();
    assert!(outcomes.len() == 3 && outcomes.iter().all(|outcome| **outcome != "ok"), "{outcomes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_of_arguments_that_takes_too_long_is_noted_and_counts() {
    let limits = "[limits]\ncpu_ms = 100\nquarantine_traps = 2\n";
    let server = Server::builder().guest("hostile_schema_checks").config(limits).start().await;
    let client = Client::new(server.url());
    let want = async |items: usize| {
        let arguments = json!({ "a": vec![1_111_111_111; items] });
        client.call("hostile_schema_checks-want", arguments).await
    };
    for _ in 0..2 {
        let reply = want(200_000).await;
        assert!(reply.tool_error().contains("(limit `cpu_ms`)"), "{}", reply.tool_error());
    }
    let reply = want(200_000).await;
    assert!(reply.tool_error().contains("`quarantine_traps`"), "{}", reply.tool_error());
    let lines = server.audited("call", 4).await;
    let told: Vec<_> = lines[1..].iter().map(|line| (&line["outcome"], &line["limit"])).collect();
    let (limit, cpu) = (json!("limit"), json!("cpu_ms"));
    assert_eq!(told, [(&limit, &cpu), (&limit, &cpu), (&json!("quarantined"), &Value::Null)]);
    assert!(lines[1]["cpu_us"].as_u64().unwrap() >= 100_000, "{}", lines[1]);
    assert!(lines[1]["arguments"].as_str().unwrap().starts_with("sha256:"), "{}", lines[1]);
    assert_eq!(server.audited("quarantine", 1).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_ends_with_its_call() {
    let limits = "[limits]\ncpu_ms = 600000\n";
    let server = Server::builder().guest("hostile_schema_checks").config(limits).alone().start().await;
    let url = server.url();
    let attacks: Vec<_> = (0..10)
        .map(|_| {
            let client = Client::new(url.clone());
            let arguments = json!({ "items": 1_000_000 });
            tokio::spawn(async move { client.call("hostile_schema_checks-compare", arguments).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    attacks.iter().for_each(tokio::task::JoinHandle::abort);
    // What is read or written in one piece ends by itself.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (begun, before) = (Instant::now(), processor_time(server.pid()));
    tokio::time::sleep(Duration::from_secs(2)).await;
    let used = processor_time(server.pid()).saturating_sub(before);
    assert!(used < Duration::from_millis(100), "{used:?} in {:?} for calls that are gone", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_neighbour_answers_while_large_arguments_are_read() {
    let server = Server::builder().guest("polite").guest("version_a").alone().start().await;
    let neighbour = Neighbour::new(server.url());
    neighbour.ask_times(10).await;
    let visiting = neighbour.visit();
    let arguments = json!({ "message": "x", "more": vec![1; 1_900_000] });
    let posts: Vec<_> = (0..8)
        .map(|_| {
            let (client, arguments) = (Neighbour::new(server.url()), arguments.clone());
            tokio::spawn(async move { client.try_call("version_a-version", &arguments).await.is_ok() })
        })
        .collect();
    for post in posts {
        assert!(post.await.unwrap(), "the server answers");
    }
    let waits = visiting.end().await;
    assert!(waits.percentile(100) < PATIENCE, "{waits:?}");
}
