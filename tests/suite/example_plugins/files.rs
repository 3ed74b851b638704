//! The plugin `files` finds text in its granted directories, and reaches nothing outside of them.

use plugport_tests::build::root;
use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::json;

#[tokio::test]
async fn it_searches_real_source_and_stays_inside() {
    // Without optimization, reading a repository takes longer than a call may by default.
    let limits = "[plugins.files]\nlimits = { cpu_ms = 20_000 }\n";
    let config =
        format!("{limits}[plugins.files.grants]\ndirs = [{{ host = {:?}, guest = \"/repo\" }}]\n", root());
    let server = Server::builder().plugin("files").config(&config).start().await;
    let client = Client::new(server.url());
    let reply = client.call("files-search", json!({ "pattern": r"fn\s+call_tool", "glob": "**/*.rs" })).await;
    assert!(reply.result().get("isError").is_none(), "{reply:?}");
    let found = reply.result()["structuredContent"].to_string();
    assert!(found.contains("runtime/src/plugin/tools.rs"), "{found}");
    for path in ["/etc/passwd", "../../etc/passwd", "/repo/../etc/passwd", "/repo/../../proc/self/environ"] {
        let reply = client.call("files-read", json!({ "path": path })).await;
        let told = reply.tool_error();
        assert!(told.contains("/repo") && told.contains("outside"), "{path}: {told}");
    }
}

#[tokio::test]
async fn links_that_lead_out_are_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("canary.txt"), "canary").unwrap();
    std::fs::write(inside.join("found.txt"), "a canary of its own").unwrap();
    std::os::unix::fs::symlink(outside.join("canary.txt"), inside.join("link.txt")).unwrap();
    std::os::unix::fs::symlink(&outside, inside.join("linked")).unwrap();
    let config = format!("[plugins.files.grants]\ndirs = [{{ host = {inside:?}, guest = \"/data\" }}]\n");
    let server = Server::builder().plugin("files").config(&config).start().await;
    let client = Client::new(server.url());
    for path in ["/data/link.txt", "/data/linked/canary.txt"] {
        let reply = client.call("files-read", json!({ "path": path })).await;
        assert!(reply.tool_error().contains("/data"), "{reply:?}");
    }
    let reply = client.call("files-search", json!({ "pattern": "canary" })).await;
    let matches = reply.result()["structuredContent"]["matches"].as_array().unwrap();
    assert!(matches.len() == 1 && matches[0]["path"] == "/data/found.txt", "{reply:?}");
}

#[tokio::test]
async fn without_a_grant_the_operator_hears_what_to_write() {
    let server = Server::builder().plugin("files").start().await;
    let reply = Client::new(server.url()).call("files-list", json!({})).await;
    let told = reply.tool_error();
    assert!(told.contains("only the operator of the server") && !told.contains("plugins.files"), "{told}");
    server.wait_for_log("write under [plugins.files.grants]: dirs = [").await;
}
