//! Calls that become tasks in every language: three tools of the guest `features` say so through its SDK, sleep without
//! knowing of tasks, and name the extensions that the client declared.
//!
//! What tasks are for any plugin is in `mcp::tasks`.

use std::time::{Duration, Instant};

use plugport_tests::answering_client::AnsweringClient;
use plugport_tests::http_client::{Client, LEGACY};
use plugport_tests::languages::{Lang, features};
use plugport_tests::server::Server;
use serde_json::json;

use super::sdk_features::{LIMITS, published};
use crate::mcp::tasks::TaskClient;

const STATUS: &str = "rendering 400 pages";

/// How long a call of `sleeper` may take before it becomes a task, and how long its guest sleeps.
const GRACE: Duration = Duration::from_millis(500);
const SLEEP: Duration = Duration::from_millis(1_500);

/// How much later the id may come: a few milliseconds, but more while other tests compile on all processors.
const TOLERANCE: Duration = Duration::from_millis(800);

/// Under one name the guest has to detach, since its grace is far longer than any of these calls; under the other it
/// has not.
const TASK_LIMITS: &str = "\
[plugins.features.limits]
task_after_ms = 30_000
[plugins.sleeper.limits]
task_after_ms = 500
";

#[tokio::test(flavor = "multi_thread")]
async fn slow_calls_are_tasks_in_rust() {
    drive(Lang::Rust).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_calls_are_tasks_in_typescript() {
    drive(Lang::TypeScript).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_calls_are_tasks_in_javascript() {
    drive(Lang::JavaScript).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_calls_are_tasks_in_python() {
    drive(Lang::Python).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_calls_are_tasks_in_go() {
    drive(Lang::Go).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_calls_are_tasks_in_c() {
    drive(Lang::C).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_calls_are_tasks_in_cpp() {
    drive(Lang::Cpp).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_calls_are_tasks_in_zig() {
    drive(Lang::Zig).await;
}

async fn drive(lang: Lang) {
    let built = tokio::task::spawn_blocking(move || features(lang)).await.unwrap();
    let Some(component) = built else { return };
    let component = std::fs::read(&component).unwrap();
    let config = format!("{LIMITS}{TASK_LIMITS}");
    let builder = Server::builder().file("features.wasm", &component).file("sleeper.wasm", &component);
    let server = builder.config(&config).start().await;
    published(&server, "features-detach").await;
    published(&server, "sleeper-sleep").await;
    knows_what_its_client_declares(lang, &server).await;
    is_a_task_when_it_detaches(lang, &server).await;
    goes_on_where_the_client_knows_no_tasks(lang, &server).await;
    is_a_task_after_the_grace_when_it_sleeps(lang, &server).await;
}

async fn knows_what_its_client_declares(lang: Lang, server: &Server) {
    let knows_tasks = TaskClient::new(Client::new(server.url()));
    let told = knows_tasks.call("features-extensions", json!({})).await;
    assert_eq!(told.tool_text(), "io.modelcontextprotocol/tasks", "{}", lang.name());
    let declared = json!({ "extensions": { "io.modelcontextprotocol/ui": {}, "com.example/x": {} } });
    let session = Client::new(server.url()).session_with(LEGACY, declared).await;
    let told = session.request("tools/call", json!({ "name": "features-extensions", "arguments": {} })).await;
    assert_eq!(told.tool_text(), "io.modelcontextprotocol/ui, com.example/x", "{}", lang.name());
    for other in AnsweringClient::both(server.url()).await {
        let told = other.call("features-extensions", json!({}), &[]).await;
        assert_eq!(told.text(), "", "{} in {}", lang.name(), other.revision());
    }
}

async fn is_a_task_when_it_detaches(lang: Lang, server: &Server) {
    let client = TaskClient::new(Client::new(server.url()));
    let created = client.call("features-detach", json!({ "status": STATUS })).await;
    let task = created.result();
    let told = (&task["resultType"], &task["statusMessage"]);
    assert_eq!(told, (&json!("task"), &json!(STATUS)), "{}: {task}", lang.name());
    let done = client.wait_for(task["taskId"].as_str().unwrap(), "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "true", "{}: {done}", lang.name());
}

async fn goes_on_where_the_client_knows_no_tasks(lang: Lang, server: &Server) {
    for other in AnsweringClient::both(server.url()).await {
        let waited = other.call("features-detach", json!({ "status": STATUS }), &[]).await;
        assert_eq!(waited.text(), "false", "{} in {}", lang.name(), other.revision());
    }
}

/// The same component that a client without tasks waits for.
async fn is_a_task_after_the_grace_when_it_sleeps(lang: Lang, server: &Server) {
    let client = TaskClient::new(Client::new(server.url()));
    let awake = client.call("sleeper-sleep", json!({ "ms": 0 })).await;
    assert_eq!(awake.tool_text(), "rested", "{}", lang.name());
    let begun = Instant::now();
    let id = client.start("sleeper-sleep", json!({ "ms": SLEEP.as_millis() })).await;
    let took = begun.elapsed();
    assert!(took >= GRACE && took < GRACE + TOLERANCE, "{took:?} in {}", lang.name());
    let done = client.wait_for(&id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "rested", "{}: {done}", lang.name());
    assert!(begun.elapsed() >= SLEEP, "{:?} in {}", begun.elapsed(), lang.name());
}
