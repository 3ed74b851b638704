//! Guests that try to leave their granted directories read, change and create nothing outside of them.

use std::os::unix::fs::symlink;

use plugport_tests::granted_dir::{GrantedDir, LINKS};
use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::{Value, json};

/// A server with this guest, which is granted the directory as `/d`.
async fn serve(granted: &GrantedDir, guest: &str, write: bool) -> Server {
    let config = format!(
        "[plugins.{guest}.grants]\ndirs = [{{ host = {:?}, guest = \"/d\", write = {write} }}]\n",
        granted.inside()
    );
    Server::builder().guest("polite").guest(guest).config(&config).start().await
}

/// Runs the attack and returns the attempts that succeeded.
async fn succeeded(server: &Server, guest: &str, tool: &str, arguments: Value) -> Vec<String> {
    let client = Client::new(server.url());
    let reply = client.call(&format!("{guest}-{tool}"), arguments).await;
    let told = reply.tool_text();
    assert!(!told.is_empty(), "nothing was tried: {reply:?}");
    assert_eq!(client.call(&format!("{guest}-ok"), json!({})).await.tool_text(), "ok");
    let echo = client.call("polite-echo", json!({ "message": "still here" })).await;
    assert_eq!(echo.tool_text(), "still here");
    told.lines().filter(|line| line.ends_with(": done")).map(str::to_owned).collect()
}

#[tokio::test]
async fn hostile_path_dotdot() {
    for write in [false, true] {
        let granted = GrantedDir::new();
        let server = serve(&granted, "hostile_path_dotdot", write).await;
        let canary = granted.outside().join("canary.txt");
        let arguments = json!({ "directory": "/d", "outside": "canary.txt", "host": canary });
        let done = succeeded(&server, "hostile_path_dotdot", "escape", arguments).await;
        // A backslash is a letter like any other here.
        let escaped: Vec<_> = done.iter().filter(|line| !line.contains('\\')).collect();
        assert!(escaped.is_empty(), "{escaped:?}");
        assert!(write || done.is_empty(), "{done:?}");
        granted.assert_untouched();
    }
}

#[tokio::test]
async fn hostile_symlink_escape() {
    let guest = "hostile_symlink_escape";
    let granted = GrantedDir::with_links();
    let server = serve(&granted, guest, true).await;
    let targets = ["../canary.txt", "/etc/passwd", "..", "own.txt", "inner", "made", "../../../../proc/self"];
    let made = succeeded(&server, guest, "make", json!({ "directory": "/d", "targets": targets })).await;
    assert!(made.is_empty(), "links are never made: {made:?}");
    let followed = succeeded(&server, guest, "follow", json!({ "directory": "/d", "links": LINKS })).await;
    assert!(followed.is_empty(), "{followed:?}");
    granted.assert_untouched();
    // Replacing a link changes only the granted directory; the link's target stays.
    succeeded(&server, guest, "replace", json!({ "directory": "/d", "links": LINKS })).await;
    granted.assert_untouched();
}

#[tokio::test]
async fn hostile_symlink_escape_without_permission() {
    let guest = "hostile_symlink_escape";
    let granted = GrantedDir::with_links();
    let server = serve(&granted, guest, false).await;
    let followed = succeeded(&server, guest, "follow", json!({ "directory": "/d", "links": LINKS })).await;
    assert!(followed.is_empty(), "{followed:?}");
    granted.assert_untouched();
    let client = Client::new(server.url());
    let reply = client.call(&format!("{guest}-follow"), json!({ "directory": "/e", "links": LINKS })).await;
    assert!(reply.tool_error().contains("/e is not granted"), "{reply:?}");
}

/// A1: a slash behind a link's name.
#[tokio::test]
async fn hostile_trailing_slash() {
    for write in [false, true] {
        let granted = GrantedDir::with_links();
        let server = serve(&granted, "hostile_trailing_slash", write).await;
        let arguments = json!({ "directory": "/d", "links": LINKS });
        let done = succeeded(&server, "hostile_trailing_slash", "open", arguments).await;
        assert!(done.is_empty(), "{done:?}");
        granted.assert_untouched();
    }
}

/// A2: renaming the target of a link.
#[tokio::test]
async fn hostile_symlink_rename() {
    for write in [false, true] {
        let granted = GrantedDir::with_links();
        let server = serve(&granted, "hostile_symlink_rename", write).await;
        let arguments = json!({ "directory": "/d", "links": LINKS });
        let done = succeeded(&server, "hostile_symlink_rename", "rename", arguments).await;
        assert!(done.is_empty(), "{done:?}");
        granted.assert_untouched();
    }
}

/// A3: a name in a writable directory for a file of a read-only one.
#[tokio::test]
async fn hostile_hard_link() {
    let guest = "hostile_hard_link";
    let granted = GrantedDir::new();
    let config = format!(
        "[plugins.{guest}.grants]\ndirs = [{{ host = {:?}, guest = \"/read\" }}, {{ host = {:?}, guest = \"/write\", write = true }}]\n",
        granted.outside().join("out"),
        granted.inside(),
    );
    let server = Server::builder().guest("polite").guest(guest).config(&config).start().await;
    let arguments = json!({ "from": "/read", "to": "/write", "name": "canary.txt" });
    let done = succeeded(&server, guest, "cross", arguments).await;
    assert!(done.is_empty(), "{done:?}");
    granted.assert_untouched();
    assert_eq!(std::fs::read_to_string(granted.inside().join("own.txt")).unwrap(), "own");
}

/// Two directories that may both be written are two disks: a quota is not moved from one to the other.
#[tokio::test]
async fn nothing_is_linked_or_moved_from_one_grant_to_another() {
    let guest = "hostile_hard_link";
    let granted = GrantedDir::new();
    let config = format!(
        "[plugins.{guest}.grants]\ndirs = [{{ host = {:?}, guest = \"/a\", write = true }}, {{ host = {:?}, guest = \"/b\", write = true }}]\n",
        granted.outside().join("out"),
        granted.inside(),
    );
    let server = Server::builder().guest("polite").guest(guest).config(&config).start().await;
    let client = Client::new(server.url());
    let arguments = json!({ "from": "/a", "to": "/b", "name": "canary.txt" });
    let reply = client.call(&format!("{guest}-cross"), arguments).await;
    let told = reply.tool_text();
    for line in told.lines().filter(|line| line.starts_with("\"link\"") || line.starts_with("\"rename\"")) {
        assert!(!line.ends_with(": done"), "{told}");
    }
    assert!(!granted.inside().join("linked").exists() && !granted.inside().join("renamed").exists());
}

#[tokio::test]
async fn hostile_proc_probe() {
    let granted = GrantedDir::new();
    // An operator's tree may contain such links: they exist, and cannot be followed.
    symlink("/proc", granted.inside().join("proc")).unwrap();
    symlink("/etc", granted.inside().join("etc")).unwrap();
    for write in [false, true] {
        let server = serve(&granted, "hostile_proc_probe", write).await;
        let done = succeeded(&server, "hostile_proc_probe", "probe", json!({})).await;
        assert!(done.is_empty(), "{done:?}");
    }
    let server = Server::builder().guest("polite").guest("hostile_proc_probe").start().await;
    let done = succeeded(&server, "hostile_proc_probe", "probe", json!({})).await;
    assert!(done.is_empty(), "{done:?}");
}

/// Opening a pipe would block a thread of the server until another process opens the pipe.
#[tokio::test]
async fn pipes_and_sockets_are_not_opened() {
    let granted = GrantedDir::new();
    let inside = granted.inside();
    assert!(std::process::Command::new("mkfifo").arg(inside.join("pipe")).status().unwrap().success());
    symlink("pipe", inside.join("alias")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(inside.join("socket")).unwrap();
    for write in [false, true] {
        let server = serve(&granted, "file_io", write).await;
        let client = Client::new(server.url());
        for path in ["/d/pipe", "/d/alias", "/d/socket"] {
            for _ in 0..20 {
                client.call("file_io-read", json!({ "path": path })).await.tool_error();
            }
            client.call("file_io-write", json!({ "path": path, "text": "x" })).await.tool_error();
        }
        assert_eq!(client.call("file_io-read", json!({ "path": "/d/own.txt" })).await.tool_text(), "own");
    }
}

/// A grant of a directory around the state folder does not let a plugin read stored values or the server's keys.
#[tokio::test]
async fn the_state_folder_is_hidden_in_a_directory_that_holds_it() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    std::fs::create_dir(&state).unwrap();
    std::fs::write(state.join("secret.txt"), "secret").unwrap();
    std::fs::write(dir.path().join("open.txt"), "open").unwrap();
    symlink("state/secret.txt", dir.path().join("alias")).unwrap();
    symlink("state", dir.path().join("folder")).unwrap();
    let config = format!(
        "[server]\nstate_dir = {state:?}\n[plugins.file_io.grants]\ndirs = [{{ host = {:?}, guest = \"/d\" }}]\n",
        dir.path()
    );
    let server = Server::builder().guest("file_io").config(&config).start().await;
    let client = Client::new(server.url());
    assert_eq!(client.call("file_io-read", json!({ "path": "/d/open.txt" })).await.tool_text(), "open");
    for path in ["/d/state/secret.txt", "/d/alias", "/d/folder/secret.txt", "/d/state/../state/secret.txt"] {
        let reply = client.call("file_io-read", json!({ "path": path })).await;
        assert!(!reply.tool_error().contains("secret\""), "{path}: {reply:?}");
    }
}
