//! The plugin folder changes while the server serves: new files are published, replaced files are reloaded, deleted
//! files are removed, and no call fails because of this.

use std::time::Duration;

use plugport_tests::containment::{MAX_NEIGHBOUR_WAIT, Neighbour};
use plugport_tests::guests::guest;
use plugport_tests::http_client::Client;
use plugport_tests::reload::{install_guest, wait_for_result};
use plugport_tests::server::Server;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_appears_changes_and_vanishes() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let session = client.session("2025-11-25").await;
    let mut stream = session.listen(None).await;
    install_guest("version_a", server.folder(), "v.wasm");
    wait_for_result(&client, "v-version", Some("a")).await;
    assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
    install_guest("version_b", server.folder(), "v.wasm");
    wait_for_result(&client, "v-version", Some("b")).await;
    std::fs::remove_file(server.folder().join("v.wasm")).unwrap();
    wait_for_result(&client, "v-version", None).await;
    assert_eq!(stream.message().await["method"], "notifications/tools/list_changed");
    server.wait_for_log("removed v: its file is gone").await;
    assert_eq!(client.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_cannot_be_served_leaves_the_old_one() {
    let server = Server::builder()
        .guest("polite")
        .file("v.wasm", &std::fs::read(guest("version_a")).unwrap())
        .start()
        .await;
    let client = Client::new(server.url());
    std::fs::write(server.folder().join("v.wasm"), b"\0asm\x0d\0\x01\0\xff").unwrap();
    server.wait_for_log("is damaged or truncated").await;
    wait_for_result(&client, "v-version", Some("a")).await;
    install_guest("version_b", server.folder(), "v.wasm");
    wait_for_result(&client, "v-version", Some("b")).await;
    // The same bytes again are no change.
    let loads = server.wait_for_audit("load", 4).await.len();
    install_guest("version_b", server.folder(), "v.wasm");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(server.wait_for_audit("load", 4).await.len(), loads);
    assert_eq!(server.log().matches("is damaged or truncated").count(), 1, "{}", server.log());
}

/// H36: a file that is still being written is no plugin yet, and is not reported as a bad one.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_written_slowly_is_loaded_when_it_is_whole() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let bytes = std::fs::read(guest("version_a")).unwrap();
    let mut file = std::fs::File::create(server.folder().join("v.wasm")).unwrap();
    for piece in bytes.chunks(bytes.len() / 40 + 1) {
        std::io::Write::write_all(&mut file, piece).unwrap();
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    drop(file);
    wait_for_result(&client, "v-version", Some("a")).await;
    // Truncated and written again, with an impossible modification time.
    std::fs::write(server.folder().join("v.wasm"), std::fs::read(guest("version_b")).unwrap()).unwrap();
    let file = std::fs::File::open(server.folder().join("v.wasm")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    wait_for_result(&client, "v-version", Some("b")).await;
    assert!(!server.log().contains("rejected"), "{}", server.log());
    assert_eq!(server.wait_for_audit("load", 3).await.len(), 3);
}

/// H37: the folder goes away, comes back, and is another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_goes_and_comes_back_is_followed() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("plugins");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(guest("version_a"), folder.join("v.wasm")).unwrap();
    let server = Server::builder().plugins(&folder).start().await;
    let client = Client::new(server.url());
    std::fs::rename(&folder, outside.path().join("old")).unwrap();
    server.wait_for_log("cannot read the plugin folder").await;
    assert_eq!(client.call("v-version", json!({})).await.tool_text(), "a", "what was served stays");
    std::fs::create_dir(outside.path().join("new")).unwrap();
    std::fs::copy(guest("version_b"), outside.path().join("new/v.wasm")).unwrap();
    std::os::unix::fs::symlink("new", &folder).unwrap();
    wait_for_result(&client, "v-version", Some("b")).await;
    std::fs::remove_file(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    wait_for_result(&client, "v-version", None).await;
}

/// H37: a call that runs when its file is deleted gets its result.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_ends_with_the_version_it_began_with() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let during = client.clone();
    let nap = tokio::spawn(async move { during.call("polite-nap", json!({ "ms": 1_500 })).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    std::fs::remove_file(server.folder().join("polite.wasm")).unwrap();
    server.wait_for_log("removed polite: its file is gone").await;
    assert_eq!(nap.await.unwrap().tool_text(), "rested");
    wait_for_result(&client, "polite-echo", None).await;
}

/// Files that come together are published together, and clients get one `list_changed`.
#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_files_is_announced_once() {
    let server = Server::builder().guest("version_a").start().await;
    let client = Client::new(server.url());
    let session = client.session("2025-11-25").await;
    let mut stream = session.listen(None).await;
    for n in 0..10 {
        install_guest("version_a", server.folder(), &format!("v{n}.wasm"));
    }
    for n in 0..10 {
        wait_for_result(&client, &format!("v{n}-version"), Some("a")).await;
    }
    std::fs::remove_file(server.folder().join("version_a.wasm")).unwrap();
    wait_for_result(&client, "version_a-version", None).await;
    // The burst was announced once, or twice if copying took longer than loading the first files.
    let mut told = 0;
    while let Ok(message) = tokio::time::timeout(Duration::from_millis(500), stream.message()).await {
        assert_eq!(message["method"], "notifications/tools/list_changed");
        told += 1;
    }
    assert!((2..=3).contains(&told), "told {told} times of a burst and of a file that is gone");
}

/// H40: endless changes of the folder delay no call.
#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_changes_delays_no_call() {
    let server = Server::builder().guest("polite").alone().start().await;
    let neighbour = Neighbour::new(server.url());
    let neighbour_loop = neighbour.start_loop();
    for round in 0..300 {
        let file = server.folder().join(format!("storm{}.wasm", round % 7));
        std::fs::write(&file, b"\0asm\x0d\0\x01\0\xff").unwrap();
        if round % 3 == 0 {
            std::fs::remove_file(&file).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let waits = neighbour_loop.end().await;
    assert!(waits.percentile(99) < MAX_NEIGHBOUR_WAIT, "{waits:?}");
    install_guest("version_a", server.folder(), "v.wasm");
    wait_for_result(&Client::new(server.url()), "v-version", Some("a")).await;
    assert!(server.log().len() < 64 << 10, "{} bytes of log", server.log().len());
}
