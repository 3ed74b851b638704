//! A task of a tool that its caller may not call any more does not exist for it, whether or not it has ended.

use std::time::{Duration, Instant};

use plugport_tests::http_client::Session;
use plugport_tests::server::Server;
use serde_json::{Value, json};

use super::{ADA, as_caller, both};
use crate::mcp::task_bridge::task_id;
use crate::mcp::tasks::{LISTEN, TaskClient, listen_to};

const ROLES: &str = "[limits]\ntask_after_ms = 200\n\
[roles.some]\nwho = [\"token:ada\"]\nallow = [\"polite-echo\", \"polite-nap\"]\n";

async fn configure(server: &Server, client: &TaskClient, roles: &str, tools: usize) {
    std::fs::write(server.folder().join("plugport.toml"), format!("{roles}{}", both())).unwrap();
    let begun = Instant::now();
    loop {
        let listed = client.request("tools/list", json!({})).await;
        if listed.result()["tools"].as_array().unwrap().len() == tools {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{listed:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn ask(session: &Session, method: &str, id: &str) -> i64 {
    let answer = session.request(method, json!({ "taskId": id })).await;
    if answer.response().get("error").is_some() { answer.error_code() } else { 0 }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_lost_the_role_for_a_tool_has_no_tasks_of_it() {
    let server = Server::builder().guest("polite").config(&format!("{ROLES}{}", both())).start().await;
    let http = as_caller(&server, ADA);
    let client = TaskClient::new(as_caller(&server, ADA));
    let ended = client.start("polite-nap", json!({ "ms": 400 })).await;
    let before = client.wait_for(&ended, "completed").await;
    let running = client.start("polite-nap", json!({ "ms": 60_000 })).await;
    let session = http.session("2025-11-25").await;
    let params = json!({ "name": "polite-nap", "arguments": { "ms": 60_000 }, "task": {} });
    let created = session.request("tools/call", params).await;
    let of_session = created.result()["task"]["taskId"].as_str().unwrap().to_owned();
    assert_eq!(ask(&session, "tasks/get", &of_session).await, 0);

    configure(&server, &client, &ROLES.replace(", \"polite-nap\"", ""), 1).await;
    let never = "A".repeat(43);
    let seen = async |method: &str, id: &str| {
        let answer = client.request(method, json!({ "taskId": id, "inputResponses": {} })).await;
        (answer.status, answer.text)
    };
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let unknown = seen(method, &never).await;
        assert!(unknown.1.contains("-32602"), "{unknown:?}");
        for id in [&ended, &running] {
            assert_eq!(seen(method, id).await, unknown, "{method}");
        }
    }
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(ask(&session, method, &of_session).await, -32602, "{method}");
    }
    let listen = listen_to(&[&ended, &running], json!({ "io.modelcontextprotocol/tasks": {} }));
    let accepted = http.stream(&LISTEN, &listen).await.message().await;
    assert_eq!(accepted["params"]["notifications"]["taskIds"], json!([]), "{accepted}");

    configure(&server, &client, ROLES, 2).await;
    assert_eq!(client.get(&ended).await, before);
    assert_eq!(client.get(&running).await["status"], Value::from("working"), "it went on, as a call does");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_lost_the_role_for_a_tool_has_no_bridged_calls_of_it() {
    let both_tools = ROLES.replace("\"polite-nap\"", "\"polite-nap\", \"polite-task_result\"");
    let roles = format!("[server]\ntask_bridge = true\n{both_tools}");
    let server = Server::builder().guest("polite").config(&format!("{roles}{}", both())).start().await;
    let (client, listing) = (as_caller(&server, ADA), TaskClient::new(as_caller(&server, ADA)));
    let id = task_id(&client.call("polite-nap", json!({ "ms": 400 })).await);
    let never = "A".repeat(43);
    let fetch = async |id: &str| {
        let answer = client.call("polite-task_result", json!({ "taskId": id })).await;
        (answer.status, answer.text)
    };
    let before = fetch(&id).await;
    assert!(before.1.contains("rested"), "{before:?}");
    configure(&server, &listing, &roles.replace("\"polite-nap\", ", ""), 2).await;
    assert_eq!(fetch(&id).await, fetch(&never).await);
    configure(&server, &listing, &roles, 3).await;
    assert_eq!(fetch(&id).await, before);
}
