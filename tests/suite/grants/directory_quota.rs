//! Guests that fill the disk or hold files open get a typed error at their quota, and can use freed space again.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;

/// The bytes as `du` counts them, and the number of files.
fn used(folder: &Path) -> (u64, u64) {
    let (mut bytes, mut files) = (0, 0);
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries {
            let entry = entry.unwrap();
            // The file may be deleted meanwhile.
            let Ok(about) = entry.metadata() else { continue };
            bytes += about.blocks() * 512;
            files += 1;
            if about.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    (bytes, files)
}

async fn filler(folder: &Path, quota: &str) -> Server {
    let config = format!(
        "[plugins.hostile_disk_filler]\nlimits = {{ wall_ms = 60_000, cpu_ms = 20_000 }}\n\
         [plugins.hostile_disk_filler.grants]\n\
         dirs = [{{ host = {folder:?}, guest = \"/d\", write = true, {quota} }}]\n"
    );
    Server::builder().guest("polite").guest("hostile_disk_filler").config(&config).start().await
}

async fn call(server: &Server, tool: &str, arguments: Value) -> String {
    let client = Client::new(server.url());
    let reply = client.call(&format!("hostile_disk_filler-{tool}"), arguments).await;
    assert!(reply.result().get("isError").is_none(), "{tool}: {reply:?}");
    let told = reply.tool_text().to_owned();
    assert_eq!(client.call("hostile_disk_filler-ok", json!({})).await.tool_text(), "ok");
    let echo = client.call("polite-echo", json!({ "message": "still here" })).await;
    assert_eq!(echo.tool_text(), "still here");
    told
}

#[tokio::test]
async fn hostile_disk_filler_with_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let server = filler(dir.path(), "quota_mib = 3").await;
    for tool in ["fill", "append_all", "fill"] {
        let told = call(&server, tool, json!({ "directory": "/d" })).await;
        // The standard library of a guest reports an I/O error when a stream failed.
        assert!(told.to_lowercase().contains("quota") || told.contains("os error 29"), "{tool}: {told}");
        assert!(used(dir.path()).0 <= 3 * MIB, "{tool}: {:?}", used(dir.path()));
    }
    assert!(used(dir.path()).0 > 2 * MIB, "the quota is there to be used: {:?}", used(dir.path()));
    server.wait_for_log("was denied more than 3 MiB below /d; to allow it").await;
    server.wait_for_log("quota_mib = 6, files = 1000").await;
    // Deleting gives quota back.
    assert_eq!(call(&server, "tidy", json!({ "directory": "/d" })).await, "tidy");
    let told = call(&server, "pour", json!({ "directory": "/d" })).await;
    assert!(told.starts_with(&(3 * MIB).to_string()) && told.to_lowercase().contains("quota"), "{told}");
}

#[tokio::test]
async fn hostile_disk_filler_with_files() {
    let dir = tempfile::tempdir().unwrap();
    let server = filler(dir.path(), "files = 200").await;
    let told = call(&server, "crowd", json!({ "directory": "/d" })).await;
    assert!(told.starts_with("200: ") && told.to_lowercase().contains("quota"), "{told}");
    assert_eq!(used(dir.path()).1, 200);
    server.wait_for_log("was denied more than 200 files below /d").await;
    call(&server, "tidy", json!({ "directory": "/d" })).await;
    let told = call(&server, "nest", json!({ "directory": "/d" })).await;
    let count: u64 = told.split(':').next().unwrap().parse().unwrap();
    assert!(count <= 200, "{told}");
    assert!(used(dir.path()).1 <= 200);
}

#[tokio::test]
async fn hostile_disk_filler_with_holes() {
    let dir = tempfile::tempdir().unwrap();
    let server = filler(dir.path(), "quota_mib = 3").await;
    let told = call(&server, "sparse", json!({ "directory": "/d" })).await;
    assert!(!told.contains("done") && told.to_lowercase().contains("quota"), "{told}");
    let len = std::fs::metadata(dir.path().join("sparse")).unwrap().len();
    assert_eq!(len, 0, "a file of a tebibyte is not made, however little it takes");
}

#[tokio::test]
async fn hostile_disk_filler_with_deleted_files() {
    let dir = tempfile::tempdir().unwrap();
    let server = filler(dir.path(), "quota_mib = 3").await;
    let reply = Client::new(server.url())
        .call("hostile_disk_filler-hoard", json!({ "directory": "/d", "times": 4 }))
        .await;
    let told = reply.result()["structuredContent"].to_string();
    let written: u64 = told.split('"').filter_map(|part| part.split(':').next()?.parse::<u64>().ok()).sum();
    assert!((2 * MIB..=3 * MIB).contains(&written), "{told}");
}

#[tokio::test]
async fn calls_side_by_side_share_a_quota() {
    let dir = tempfile::tempdir().unwrap();
    let server = filler(dir.path(), "quota_mib = 4, files = 40").await;
    let client = Client::new(server.url());
    let arguments = json!({ "directory": "/d" });
    let attack = |tool: &'static str| client.call(tool, arguments.clone());
    let (append, crowd) = ("hostile_disk_filler-append_all", "hostile_disk_filler-crowd");
    tokio::join!(attack(append), attack(crowd), attack(append), attack(crowd), attack(append), attack(crowd));
    let (bytes, files) = used(dir.path());
    assert!(bytes <= 4 * MIB && files <= 40, "{bytes} bytes in {files} files");
}

#[tokio::test]
async fn files_that_are_rewritten_or_deleted_again_do_not_use_up_a_quota() {
    let dir = tempfile::tempdir().unwrap();
    let server = filler(dir.path(), "quota_mib = 1, files = 2").await;
    let arguments = json!({ "directory": "/d", "times": 40, "kib": 700 });
    assert_eq!(call(&server, "rewrite", arguments).await, "40 times");
    assert_eq!(call(&server, "churn", json!({ "directory": "/d", "times": 40 })).await, "40 times");
}

#[tokio::test]
async fn hostile_disk_filler_without_permission() {
    let dir = tempfile::tempdir().unwrap();
    let config = format!(
        "[plugins.hostile_disk_filler.grants]\ndirs = [{{ host = {:?}, guest = \"/d\" }}]\n",
        dir.path()
    );
    let server = Server::builder().guest("hostile_disk_filler").config(&config).start().await;
    let client = Client::new(server.url());
    for tool in ["fill", "append_all", "sparse"] {
        let reply = client.call(&format!("hostile_disk_filler-{tool}"), json!({ "directory": "/d" })).await;
        assert!(reply.tool_error().contains("permitted"), "{tool}: {reply:?}");
    }
    for tool in ["crowd", "nest"] {
        let reply = client.call(&format!("hostile_disk_filler-{tool}"), json!({ "directory": "/d" })).await;
        assert!(reply.tool_text().starts_with("0: "), "{tool}: {reply:?}");
    }
    assert_eq!(used(dir.path()), (0, 0));
}

#[tokio::test]
async fn hostile_fd_exhaustion() {
    let guest = "hostile_fd_exhaustion";
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "x").unwrap();
    let config =
        format!("[plugins.{guest}.grants]\ndirs = [{{ host = {:?}, guest = \"/d\" }}]\n", dir.path());
    let server = Server::builder().guest("polite").guest(guest).config(&config).start().await;
    let client = Client::new(server.url());
    assert_eq!(client.call(&format!("{guest}-ok"), json!({})).await.tool_text(), "ok");
    let before = server.open_files();
    for (tool, arguments, max) in [
        ("files", json!({ "path": "/d/file" }), 32),
        ("directories", json!({ "directory": "/d" }), 32),
        ("listings", json!({ "directory": "/d" }), 32),
        ("streams", json!({ "directory": "/d", "name": "file" }), 32),
        ("streams_of_one", json!({ "directory": "/d", "name": "file" }), 128),
    ] {
        for _ in 0..3 {
            let reply = client.call(&format!("{guest}-{tool}"), arguments.clone()).await;
            let told = reply.tool_text().to_lowercase();
            assert!(told.starts_with(&format!("{max}: ")), "{tool}: {told}");
        }
    }
    server.wait_for_log("it has 32 files open and wanted more (limit `open_files`)").await;
    let memory = server.rss();
    for _ in 0..100 {
        client
            .call(&format!("{guest}-streams"), json!({ "directory": "/d", "name": "file" }))
            .await
            .tool_text();
    }
    assert!(server.rss() < memory + 32 * MIB, "{memory} bytes, then {}", server.rss());
    assert!(server.open_files() <= before + 2, "{before} files open, then {}", server.open_files());
    let reply = client.call(&format!("{guest}-sockets"), json!({})).await;
    let told = reply.tool_text();
    assert!(told.lines().count() == 9 && !told.contains(": done"), "{told}");
    assert_eq!(client.call(&format!("{guest}-ok"), json!({})).await.tool_text(), "ok");
    assert_eq!(client.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
}

/// The names of a large directory are never in memory at once.
#[tokio::test]
async fn a_crowded_directory_is_listed_in_parts() {
    let guest = "hostile_fd_exhaustion";
    let dir = tempfile::tempdir().unwrap();
    for n in 0..5_000 {
        std::fs::write(dir.path().join(format!("{n:0>200}")), "").unwrap();
    }
    let config = format!(
        "[plugins.{guest}]\nlimits = {{ memory_mib = 16, cpu_ms = 10_000 }}\n\
         [plugins.{guest}.grants]\ndirs = [{{ host = {:?}, guest = \"/d\" }}]\n",
        dir.path()
    );
    let server = Server::builder().guest(guest).config(&config).start().await;
    let client = Client::new(server.url());
    let count = client.call(&format!("{guest}-count"), json!({ "directory": "/d" })).await;
    assert_eq!(count.tool_text(), "5000");
    let before = server.rss();
    // 32 open listings of a megabyte of names each.
    let reply = client.call(&format!("{guest}-listings"), json!({ "directory": "/d" })).await;
    assert!(reply.tool_text().starts_with("32: "), "{reply:?}");
    assert!(server.rss() < before + 16 * MIB, "{before}, then {}", server.rss());
}
