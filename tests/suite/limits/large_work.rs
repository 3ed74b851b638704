//! Work that the server does for a guest, such as validating a large result, ends with its call and delays nobody else.

use std::time::{Duration, Instant};

use plugport_tests::containment::{Neighbour, processor_time};
use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::{Value, json};

/// The maximum wait of a neighbour on two busy cores with an unoptimised server.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Bytes of large arguments: a text of this length is read in place, and objects are not.
const LARGE: usize = 400 << 10;

/// Calls that are cancelled while their results are validated: more than a plugin's permits for that.
const CANCELLED: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn a_long_text_is_quick_and_objects_of_the_same_length_delay_no_neighbour() {
    let server = Server::builder().guest("polite").alone().start().await;
    let neighbour = Neighbour::new(server.url());
    let text = json!({ "message": "x".repeat(LARGE) });
    let objects = json!({ "message": "x", "more": vec![json!({ "": 0 }); LARGE / r#"{"":0},"#.len()] });
    let fastest = async |arguments: &Value, says: &str| {
        let mut fastest = Duration::MAX;
        for _ in 0..5 {
            let begun = Instant::now();
            let reply = neighbour.post("polite-echo", arguments).await.unwrap();
            fastest = fastest.min(begun.elapsed());
            assert!(reply.contains(says), "{reply:.400}");
        }
        fastest
    };
    let (text_wait, objects_wait) = (fastest(&text, "xxxxxxxx").await, fastest(&objects, "do not fit").await);
    assert!(text_wait < MAX_WAIT && text_wait < objects_wait, "{text_wait:?} and {objects_wait:?}");
    let neighbour_loop = neighbour.start_loop();
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (caller, objects) = (Neighbour::new(server.url()), objects.clone());
            tokio::spawn(async move {
                for _ in 0..5 {
                    caller.post("polite-echo", &objects).await.unwrap();
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    let waits = neighbour_loop.end().await;
    assert!(waits.percentile(99) < MAX_WAIT, "{waits:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_neighbour_answers_while_results_are_validated() {
    let server = Server::builder().guest("polite").guest("hostile_schema_checks").alone().start().await;
    let neighbour = Neighbour::new(server.url());
    neighbour.echo_times(10).await;
    let neighbour_loop = neighbour.start_loop();
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
    let waits = neighbour_loop.end().await;
    assert!(waits.percentile(100) < MAX_WAIT, "{waits:?}");
    let is_attack =
        |line: &Value| line["plugin"] == "hostile_schema_checks" && line["function"] == "tools/call";
    let audited = server.wait_for_audit_lines(is_attack, 3).await;
    assert!(audited.len() == 3 && audited.iter().all(|line| line["outcome"] != "ok"), "{audited:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn validating_a_result_counts_as_time_of_its_call() {
    let limits = "[limits]\ncpu_ms = 100\n";
    let server = Server::builder().guest("hostile_schema_checks").config(limits).start().await;
    let arguments = json!({ "items": 500_000 });
    let reply = Client::new(server.url()).call("hostile_schema_checks-compare", arguments).await;
    assert!(reply.tool_error().contains("(limit `cpu_ms`)"), "{}", reply.tool_error());
    let lines = server.wait_for_audit("call", 2).await;
    assert_eq!((&lines[1]["outcome"], &lines[1]["limit"]), (&json!("limit"), &json!("cpu_ms")));
    assert!(lines[1]["cpu_us"].as_u64().unwrap() >= 100_000, "{}", lines[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn validating_arguments_for_too_long_is_audited_and_quarantines_nothing() {
    let limits = "[limits]\ncpu_ms = 100\nquarantine_failures = 2\n";
    let server = Server::builder().guest("hostile_schema_checks").config(limits).start().await;
    let client = Client::new(server.url());
    let want = async |items: usize| {
        let arguments = json!({ "a": vec![1_111_111_111; items] });
        client.call("hostile_schema_checks-want", arguments).await
    };
    for _ in 0..3 {
        let reply = want(200_000).await;
        assert!(reply.tool_error().contains("(limit `cpu_ms`)"), "{}", reply.tool_error());
    }
    assert_eq!(want(1).await.tool_text(), "had");
    let lines = server.wait_for_audit("call", 5).await;
    let told: Vec<_> = lines[1..].iter().map(|line| (&line["outcome"], &line["limit"])).collect();
    let (limit, cpu) = (json!("limit"), json!("cpu_ms"));
    assert_eq!(told[..3], [(&limit, &cpu); 3]);
    assert_eq!(told[3], (&json!("ok"), &Value::Null));
    assert!(lines[1]["cpu_us"].as_u64().unwrap() >= 100_000, "{}", lines[1]);
    assert!(lines[1]["arguments"].as_str().unwrap().starts_with("sha256:"), "{}", lines[1]);
    assert!(server.audit().iter().all(|line| line["event"] != "quarantine"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_counted_once_and_before_its_arguments_are_validated() {
    let limits = "[limits]\ncpu_ms = 100\ntool_calls_per_second = 1\n";
    let server = Server::builder().guest("hostile_schema_checks").config(limits).start().await;
    let want = |items: usize| {
        let client = Client::new(server.url());
        let arguments = json!({ "a": vec![1_111_111_111; items] });
        async move { client.call("hostile_schema_checks-want", arguments).await }
    };
    assert_eq!(want(1).await.tool_text(), "had");
    let costly: Vec<_> = (0..8).map(|_| tokio::spawn(want(20_000))).collect();
    let mut rejected = 0;
    for call in costly {
        let reply = call.await.unwrap();
        rejected += usize::from(reply.tool_error().contains("(limit `tool_calls_per_second`)"));
    }
    assert!(rejected > 0, "checks have no rate");
}

#[tokio::test(flavor = "multi_thread")]
async fn validation_ends_with_its_call() {
    let limits = "[limits]\ncpu_ms = 600000\nwall_ms = 600000\n";
    let server = Server::builder().guest("hostile_schema_checks").config(limits).alone().start().await;
    let call = || {
        let client = Client::new(server.url());
        let arguments = json!({ "items": 400_000 });
        async move { client.call("hostile_schema_checks-compare", arguments).await }
    };
    let begun = Instant::now();
    let reply = call().await;
    assert!(reply.tool_error().contains("checking takes too long"), "{reply:?}");
    // A validation that is not cancelled takes this long.
    let whole = begun.elapsed();
    let before = processor_time(server.pid());
    let attacks: Vec<_> = (0..CANCELLED).map(|_| tokio::spawn(call())).collect();
    tokio::time::sleep(whole / 4).await;
    assert!(attacks.iter().all(|attack| !attack.is_finished()), "they ended before anybody cancelled them");
    let used = processor_time(server.pid()).saturating_sub(before);
    assert!(used > whole / 20, "{used:?} of processor time: nothing is being checked, of {whole:?}");
    attacks.iter().for_each(tokio::task::JoinHandle::abort);
    let begun = Instant::now();
    // Before them come the listing and the call that was not cancelled.
    let lines = server.wait_for_audit("call", 2 + CANCELLED).await;
    assert!(begun.elapsed() < MAX_WAIT * 4, "cancelled calls went on: {lines:?}");
    assert!(lines[2..].iter().all(|line| line["outcome"] == "cancelled"), "{lines:?}");
    // Reading or writing one large message cannot be interrupted.
    tokio::time::sleep(whole / 4).await;
    let before = processor_time(server.pid());
    tokio::time::sleep(whole).await;
    // A thread that had not stopped would still have half of its validation to do.
    let used = processor_time(server.pid()).saturating_sub(before);
    assert!(
        used < (whole / 8).max(Duration::from_millis(50)),
        "{used:?} of processor time in {whole:?} for calls that are gone"
    );
}
