//! A granted directory is read-only unless the grant says otherwise, and nothing beside it can be reached.

use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::json;

#[tokio::test]
async fn a_directory_is_read_only_unless_writing_was_granted() {
    let dir = tempfile::tempdir().unwrap();
    let (read, write) = (dir.path().join("read"), dir.path().join("write"));
    for folder in [&read, &write] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("old.txt"), "old").unwrap();
    }
    std::fs::write(dir.path().join("canary.txt"), "canary").unwrap();
    let config = format!(
        "[plugins.file_io.grants]\ndirs = [{{ host = {read:?}, guest = \"/read\" }}, \
         {{ host = {write:?}, guest = \"/write\", write = true }}]\n"
    );
    let server = Server::builder().guest("file_io").config(&config).start().await;
    let client = Client::new(server.url());
    for path in
        ["/read/new.txt", "/read/old.txt", "/canary.txt", "/read/../canary.txt", "/write/../canary.txt"]
    {
        client.call("file_io-write", json!({ "path": path, "text": "x" })).await.tool_error();
    }
    assert_eq!(std::fs::read_to_string(read.join("old.txt")).unwrap(), "old");
    assert!(!read.join("new.txt").exists());
    assert_eq!(std::fs::read_to_string(dir.path().join("canary.txt")).unwrap(), "canary");
    assert_eq!(client.call("file_io-read", json!({ "path": "/read/old.txt" })).await.tool_text(), "old");
    client.call("file_io-read", json!({ "path": "/read/../canary.txt" })).await.tool_error();

    let reply = client.call("file_io-write", json!({ "path": "/write/new.txt", "text": "x" })).await;
    assert_eq!(reply.tool_text(), "written");
    assert_eq!(std::fs::read_to_string(write.join("new.txt")).unwrap(), "x");
}

#[tokio::test]
async fn a_missing_granted_directory_is_reported_to_the_operator() {
    let dir = tempfile::tempdir().unwrap();
    let gone = dir.path().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let config = format!("[plugins.file_io.grants]\ndirs = [{{ host = {gone:?}, guest = \"/gone\" }}]\n");
    let server = Server::builder().guest("file_io").config(&config).start().await;
    std::fs::remove_dir(&gone).unwrap();
    let reply = Client::new(server.url()).call("file_io-read", json!({ "path": "/gone/x" })).await;
    assert!(!reply.tool_error().contains("gone"), "a path of the host was told: {reply:?}");
    server.wait_for_log("No such file or directory").await;
}
