//! Guests that try to leave the directories they were granted: nothing outside is read, changed or made.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use plugport_tests::http::Client;
use plugport_tests::server::Server;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A granted directory `in`, and what lies beside it and is not granted.
struct Place {
    dir: TempDir,
    before: BTreeMap<PathBuf, String>,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["in/inner", "out/deep"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        for (file, text) in [("canary.txt", "canary"), ("out/canary.txt", "canary"), ("in/own.txt", "own")] {
            std::fs::write(dir.path().join(file), text).unwrap();
        }
        let mut place = Self { dir, before: BTreeMap::new() };
        place.before = place.outside();
        place
    }

    fn inside(&self) -> PathBuf {
        self.dir.path().join("in")
    }

    /// All that lies beside the granted directory, and what is in it.
    fn outside(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut pending = vec![self.dir.path().to_owned()];
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && path != self.inside() {
                    pending.push(path.clone());
                }
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                found.insert(path, text);
            }
        }
        found
    }

    /// Links that lead out, in a granted directory.
    fn links(&self) -> Vec<&'static str> {
        let out = self.dir.path().join("out");
        let inside = self.inside();
        for (target, name) in [
            (Path::new("../canary.txt"), "up"),
            (&out.join("canary.txt"), "absolute"),
            (Path::new("../out"), "folder"),
            (&out, "absolute_folder"),
            (Path::new("folder"), "twice"),
            (Path::new("loop"), "loop"),
            (Path::new("../nothing.txt"), "dangling"),
            (Path::new("/proc/self"), "proc"),
            (Path::new("../in/../out"), "around"),
        ] {
            symlink(target, inside.join(name)).unwrap();
        }
        vec!["up", "absolute", "folder", "absolute_folder", "twice", "loop", "dangling", "proc", "around"]
    }

    fn untouched(&self) {
        assert_eq!(self.outside(), self.before, "something outside the granted directory changed");
    }

    async fn serve(&self, guest: &str, write: bool) -> Server {
        let config = format!(
            "[plugins.{guest}.grants]\ndirs = [{{ host = {:?}, guest = \"/d\", write = {write} }}]\n",
            self.inside()
        );
        Server::builder().guest("polite").guest(guest).config(&config).start().await
    }
}

/// Runs the attack; the attempts that succeeded.
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
        let place = Place::new();
        let server = place.serve("hostile_path_dotdot", write).await;
        let canary = place.dir.path().join("canary.txt");
        let arguments = json!({ "directory": "/d", "outside": "canary.txt", "host": canary });
        let done = succeeded(&server, "hostile_path_dotdot", "escape", arguments).await;
        // A backslash is a letter like any other here.
        let escaped: Vec<_> = done.iter().filter(|line| !line.contains('\\')).collect();
        assert!(escaped.is_empty(), "{escaped:?}");
        assert!(write || done.is_empty(), "{done:?}");
        place.untouched();
    }
}

#[tokio::test]
async fn hostile_symlink_escape() {
    let guest = "hostile_symlink_escape";
    let place = Place::new();
    let links = place.links();
    let server = place.serve(guest, true).await;
    let targets = ["../canary.txt", "/etc/passwd", "..", "own.txt", "inner", "made", "../../../../proc/self"];
    let made = succeeded(&server, guest, "make", json!({ "directory": "/d", "targets": targets })).await;
    assert!(made.is_empty(), "links are never made: {made:?}");
    let followed = succeeded(&server, guest, "follow", json!({ "directory": "/d", "links": links })).await;
    assert!(followed.is_empty(), "{followed:?}");
    place.untouched();
    // Replacing a link is changing the directory, which is granted; what was behind the link stays.
    succeeded(&server, guest, "replace", json!({ "directory": "/d", "links": links })).await;
    place.untouched();
}

#[tokio::test]
async fn hostile_symlink_escape_without_permission() {
    let guest = "hostile_symlink_escape";
    let place = Place::new();
    let links = place.links();
    let server = place.serve(guest, false).await;
    let followed = succeeded(&server, guest, "follow", json!({ "directory": "/d", "links": links })).await;
    assert!(followed.is_empty(), "{followed:?}");
    place.untouched();
    let client = Client::new(server.url());
    let reply = client.call(&format!("{guest}-follow"), json!({ "directory": "/e", "links": links })).await;
    assert!(reply.tool_error().contains("/e is not granted"), "{reply:?}");
}

/// A1: a slash behind a link's name.
#[tokio::test]
async fn hostile_trailing_slash() {
    for write in [false, true] {
        let place = Place::new();
        let links = place.links();
        let server = place.serve("hostile_trailing_slash", write).await;
        let arguments = json!({ "directory": "/d", "links": links });
        let done = succeeded(&server, "hostile_trailing_slash", "open", arguments).await;
        assert!(done.is_empty(), "{done:?}");
        place.untouched();
    }
}

/// A2: renaming what lies behind a link.
#[tokio::test]
async fn hostile_symlink_rename() {
    for write in [false, true] {
        let place = Place::new();
        let links = place.links();
        let server = place.serve("hostile_symlink_rename", write).await;
        let arguments = json!({ "directory": "/d", "links": links });
        let done = succeeded(&server, "hostile_symlink_rename", "rename", arguments).await;
        assert!(done.is_empty(), "{done:?}");
        place.untouched();
    }
}

/// A3: a name in a writable directory for a file of a read-only one.
#[tokio::test]
async fn hostile_hard_link() {
    let guest = "hostile_hard_link";
    let place = Place::new();
    let config = format!(
        "[plugins.{guest}.grants]\ndirs = [{{ host = {:?}, guest = \"/read\" }}, {{ host = {:?}, guest = \"/write\", write = true }}]\n",
        place.dir.path().join("out"),
        place.inside(),
    );
    let server = Server::builder().guest("polite").guest(guest).config(&config).start().await;
    let arguments = json!({ "from": "/read", "to": "/write", "name": "canary.txt" });
    let done = succeeded(&server, guest, "cross", arguments).await;
    assert!(done.is_empty(), "{done:?}");
    place.untouched();
    assert_eq!(std::fs::read_to_string(place.inside().join("own.txt")).unwrap(), "own");
}

/// Two directories that may both be written are two disks: a quota is not moved from one to the other.
#[tokio::test]
async fn nothing_is_linked_or_moved_from_one_grant_to_another() {
    let guest = "hostile_hard_link";
    let place = Place::new();
    let config = format!(
        "[plugins.{guest}.grants]\ndirs = [{{ host = {:?}, guest = \"/a\", write = true }}, {{ host = {:?}, guest = \"/b\", write = true }}]\n",
        place.dir.path().join("out"),
        place.inside(),
    );
    let server = Server::builder().guest("polite").guest(guest).config(&config).start().await;
    let client = Client::new(server.url());
    let arguments = json!({ "from": "/a", "to": "/b", "name": "canary.txt" });
    let reply = client.call(&format!("{guest}-cross"), arguments).await;
    let told = reply.tool_text();
    for line in told.lines().filter(|line| line.starts_with("\"link\"") || line.starts_with("\"rename\"")) {
        assert!(!line.ends_with(": done"), "{told}");
    }
    assert!(!place.inside().join("linked").exists() && !place.inside().join("renamed").exists());
}

#[tokio::test]
async fn hostile_proc_probe() {
    let place = Place::new();
    // Whatever an operator's tree may contain: the link is there, and leads nowhere.
    symlink("/proc", place.inside().join("proc")).unwrap();
    symlink("/etc", place.inside().join("etc")).unwrap();
    for write in [false, true] {
        let server = place.serve("hostile_proc_probe", write).await;
        let done = succeeded(&server, "hostile_proc_probe", "probe", json!({})).await;
        assert!(done.is_empty(), "{done:?}");
    }
    let server = Server::builder().guest("polite").guest("hostile_proc_probe").start().await;
    let done = succeeded(&server, "hostile_proc_probe", "probe", json!({})).await;
    assert!(done.is_empty(), "{done:?}");
}

/// Opening a pipe would keep a thread of the server waiting for its other end, for ever.
#[tokio::test]
async fn pipes_and_sockets_are_not_opened() {
    let place = Place::new();
    let inside = place.inside();
    assert!(std::process::Command::new("mkfifo").arg(inside.join("pipe")).status().unwrap().success());
    symlink("pipe", inside.join("alias")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(inside.join("socket")).unwrap();
    for write in [false, true] {
        let server = place.serve("scribe", write).await;
        let client = Client::new(server.url());
        for path in ["/d/pipe", "/d/alias", "/d/socket"] {
            for _ in 0..20 {
                client.call("scribe-read", json!({ "path": path })).await.tool_error();
            }
            client.call("scribe-write", json!({ "path": path, "text": "x" })).await.tool_error();
        }
        assert_eq!(client.call("scribe-read", json!({ "path": "/d/own.txt" })).await.tool_text(), "own");
    }
}

/// What plugins keep, and the server's keys, cannot be read from a directory around them.
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
        "[server]\nstate = {state:?}\n[plugins.scribe.grants]\ndirs = [{{ host = {:?}, guest = \"/d\" }}]\n",
        dir.path()
    );
    let server = Server::builder().guest("scribe").config(&config).start().await;
    let client = Client::new(server.url());
    assert_eq!(client.call("scribe-read", json!({ "path": "/d/open.txt" })).await.tool_text(), "open");
    for path in ["/d/state/secret.txt", "/d/alias", "/d/folder/secret.txt", "/d/state/../state/secret.txt"] {
        let reply = client.call("scribe-read", json!({ "path": path })).await;
        assert!(!reply.tool_error().contains("secret\""), "{path}: {reply:?}");
    }
}
