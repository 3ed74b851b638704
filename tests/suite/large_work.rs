//! What the server itself has to compute for a guest holds up nobody else, and ends.

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
