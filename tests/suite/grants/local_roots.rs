//! A guest reads the roots of its client: only those that the operator allowed, and only of clients on this machine.

use std::path::Path;
use std::time::Duration;

use plugport_tests::http_client::{Client, HttpResponse, Session};
use plugport_tests::server::Server;
use serde_json::{Value, json};
use tempfile::TempDir;

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A folder that the operator allows, with a project in it, and a secret beside it.
fn place() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("allowed/my project")).unwrap();
    std::fs::create_dir(dir.path().join("other")).unwrap();
    std::fs::write(dir.path().join("allowed/my project/file.txt"), "project").unwrap();
    std::fs::write(dir.path().join("allowed/beside.txt"), "beside").unwrap();
    std::fs::write(dir.path().join("other/canary.txt"), "canary").unwrap();
    std::os::unix::fs::symlink(dir.path().join("other"), dir.path().join("allowed/link")).unwrap();
    dir
}

async fn serve(dir: &Path, roots: &str) -> Server {
    let roots = roots.replace("ALLOWED", &format!("{:?}", dir.join("allowed")));
    let config = format!("[plugins.file_io.grants]\nroots = {roots}\n");
    Server::builder().guest("file_io").config(&config).start().await
}

const READ: &str = "{ read = [ALLOWED] }";

fn uri(path: &Path) -> String {
    format!("file://{}", path.display()).replace(' ', "%20")
}

fn roots(paths: &[&Path]) -> Value {
    let roots: Vec<Value> = paths.iter().map(|path| json!({ "uri": uri(path) })).collect();
    json!({ "roots": roots })
}

/// Reads a file in a session that gets a `roots/list` meanwhile.
async fn read_answering(session: &Session, path: &Path, roots: &Value) -> String {
    let params = json!({ "name": "file_io-read", "arguments": { "path": path } });
    let mut stream = session.stream(json!(1), "tools/call", params).await;
    let client_request = stream.message().await;
    assert_eq!(client_request["method"], "roots/list", "{client_request}");
    session.respond(&client_request, roots.clone()).await;
    let response = stream.message().await;
    response["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Reads a file in a session that gets no client request.
async fn read(session: &Session, path: &Path) -> String {
    let reading = session.call("file_io-read", json!({ "path": path }));
    let reply = tokio::time::timeout(Duration::from_secs(30), reading).await.unwrap();
    assert_eq!(reply.messages.len(), 1, "nothing was asked: {reply:?}");
    reply.tool_text().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_asked_once_for_roots_and_only_allowed_ones_can_be_read() {
    let dir = place();
    let root = dir.path().canonicalize().unwrap();
    let (project, other) = (root.join("allowed/my project"), root.join("other"));
    let server = serve(&root, READ).await;
    let client = Client::new(server.url());
    let session = client.session_with("2025-11-25", json!({ "roots": { "listChanged": true } })).await;
    let told = roots(&[&project, &other, &root.join("allowed/link"), Path::new("/etc"), Path::new("/")]);
    assert_eq!(read_answering(&session, &project.join("file.txt"), &told).await, "project");
    for path in [
        root.join("allowed/beside.txt"),
        other.join("canary.txt"),
        root.join("allowed/link/canary.txt"),
        project.join("../../other/canary.txt"),
        "/etc/passwd".into(),
    ] {
        let text = read(&session, &path).await;
        assert!(
            !["beside", "canary"].contains(&text.as_str()) && !text.contains("root:"),
            "{path:?}: {text}"
        );
    }
    server.wait_for_log("was denied reading the client's root").await;
    let arguments = json!({ "path": project.join("new.txt"), "text": "x" });
    session.call("file_io-write", arguments).await.tool_error();
    assert!(!project.join("new.txt").exists());

    session.notify("notifications/roots/list_changed", json!({})).await;
    assert_ne!(read_answering(&session, &project.join("file.txt"), &roots(&[])).await, "project");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stateless_client_is_asked_for_roots_before_the_guest_starts() {
    let dir = place();
    let project = dir.path().canonicalize().unwrap().join("allowed/my project");
    let server = serve(dir.path(), READ).await;
    let client = Client::new(server.url());
    let call = async |more: Value| -> HttpResponse {
        let arguments = json!({ "path": project.join("file.txt") });
        let mut params = json!({ "name": "file_io-read", "arguments": arguments });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.request_with_meta("tools/call", params, json!({ CAPABILITIES: { "roots": {} } })).await
    };
    let suspended = call(json!({})).await;
    let result = suspended.result();
    assert_eq!(result["resultType"], "input_required", "{suspended:?}");
    let requests = result["inputRequests"].as_object().unwrap();
    let (key, request) = requests.iter().next().unwrap();
    assert_eq!(request["method"], "roots/list");
    let responses = json!({ key: roots(&[&project]) });
    let more = json!({ "requestState": result["requestState"], "inputResponses": responses });
    assert_eq!(call(more).await.tool_text(), "project");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_grant_or_for_a_remote_client_no_roots_are_asked_for_or_opened() {
    let dir = place();
    let project = dir.path().canonicalize().unwrap().join("allowed/my project");
    let file = project.join("file.txt");
    let capabilities = json!({ "roots": {} });
    let server = serve(dir.path(), READ).await;
    // A client that has no roots, and one behind a proxy.
    let client = Client::new(server.url());
    assert_ne!(read(&client.session("2025-11-25").await, &file).await, "project");
    for header in ["x-forwarded-for", "forwarded"] {
        let params = json!({ "name": "file_io-read", "arguments": { "path": file },
            "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28", CAPABILITIES: capabilities } });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "file_io-read"),
            (header, "for=192.0.2.1"),
        ];
        client.post(&headers, body.to_string()).await.tool_error();
    }
    drop(server);
    // This grant allows `roots/list`, but not reading.
    for grant in ["true", "false"] {
        let server = serve(dir.path(), grant).await;
        let session = Client::new(server.url()).session_with("2025-11-25", capabilities.clone()).await;
        assert_ne!(read(&session, &file).await, "project", "{grant}");
    }
}
