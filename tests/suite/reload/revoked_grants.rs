//! Revoked grants, approvals and signatures take effect at once, also for a version that stays because its successor is
//! rejected, and for loads that began before.

use std::time::{Duration, Instant};

use plugport_tests::build::xdg_homes;
use plugport_tests::guests::guest;
use plugport_tests::hostile_files::burdened;
use plugport_tests::http_client::Client;
use plugport_tests::reload::{install_bytes, install_guest, tool_names, wait_for_result};
use plugport_tests::server::Server;
use serde_json::json;

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(guest(name)).unwrap()
}

/// The guest `listing_side_effect` cannot list without its directory. It must lose the grant although it cannot be
/// loaded without it.
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_cannot_keep_a_grant_by_failing_without_it() {
    let outside = tempfile::tempdir().unwrap();
    let grant = format!(
        "dirs = [{{ host = {:?}, guest = \"/marks\", write = true }}]",
        outside.path().display().to_string()
    );
    let config = format!("[plugins.listing_side_effect.grants]\n{grant}\n");
    let server = Server::builder().guest("polite").guest("listing_side_effect").config(&config).start().await;
    server.wait_for_log("published listing_side_effect: ").await;
    install_bytes(b"", server.folder(), "plugport.toml");
    server.wait_for_log("failed to list its items").await;
    server.wait_for_log("removed listing_side_effect: ").await;
    assert_eq!(
        Client::new(server.url()).call("polite-echo", json!({ "message": "x" })).await.tool_text(),
        "x"
    );
}

/// Revoking does not wait for a file that is still being compiled.
#[tokio::test(flavor = "multi_thread")]
async fn a_grant_is_gone_while_another_version_is_compiled() {
    let outside = tempfile::tempdir().unwrap();
    let config = format!(
        "[plugins.listing_side_effect.grants]\ndirs = [{{ host = {:?}, guest = \"/marks\", write = true }}]\n",
        outside.path()
    );
    let server = Server::builder().guest("listing_side_effect").config(&config).without_cache().start().await;
    let slow = burdened(&bytes("listing_side_effect"), 30_000);
    std::fs::write(server.folder().join("listing_side_effect.wasm"), slow).unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    install_bytes(b"", server.folder(), "plugport.toml");
    let begun = Instant::now();
    server.wait_for_log("removed listing_side_effect: ").await;
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert!(
        !server.log().contains("failed to list its items"),
        "it was compiled too soon to try anything: {}",
        server.log()
    );
    // With its grant it is published again.
    install_bytes(config.as_bytes(), server.folder(), "plugport.toml");
    let deadline = Instant::now() + Duration::from_secs(60);
    while server.log().matches("published listing_side_effect: ").count() < 2 {
        assert!(Instant::now() < deadline, "{}", server.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_has_to_be_signed_from_now_on_is_taken_away() {
    let server = Server::builder().file("v.wasm", &bytes("version_a")).config("").start().await;
    let client = Client::new(server.url());
    assert_eq!(client.call("v-version", json!({})).await.tool_text(), "a");
    let key = minisign::KeyPair::generate_unencrypted_keypair().unwrap().pk.to_base64();
    let config = format!("[server]\ntrusted_keys = [{key:?}]\nrequire_signature = true\n");
    install_bytes(config.as_bytes(), server.folder(), "plugport.toml");
    wait_for_result(&client, "v-version", None).await;
    server.wait_for_log("v.wasm.minisig").await;
}

/// The approval mode at the end of compiling counts for a file that is compiled while the mode becomes strict.
#[tokio::test(flavor = "multi_thread")]
async fn loads_that_began_before_follow_the_current_rules() {
    let server = Server::builder()
        .guest("polite")
        .config("[server]\napproval = \"off\"\n")
        .without_cache()
        .start()
        .await;
    let client = Client::new(server.url());
    std::fs::write(server.folder().join("slow.wasm"), burdened(&bytes("version_a"), 20_000)).unwrap();
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(
        !tool_names(&client).await.contains(&"slow-version".to_owned()),
        "it was compiled too soon to try anything"
    );
    install_bytes(b"[server]\napproval = \"strict\"\n", server.folder(), "plugport.toml");
    wait_for_result(&client, "polite-echo", None).await;
    server.wait_for_log("slow.wasm: has not been approved").await;
    // Enough time for it to be published.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(tool_names(&client).await, [""; 0]);
}

/// A damaged lockfile and a valid configuration at the same time: each is handled separately.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_lockfile_loses_no_edit_of_the_configuration() {
    let server = Server::builder()
        .file("v.wasm", &bytes("version_a"))
        .config("[server]\napproval = \"warn\"\n")
        .start()
        .await;
    let client = Client::new(server.url());
    std::fs::write(server.folder().join("plugport.lock"), "torn").unwrap();
    install_bytes(
        b"[server]\napproval = \"warn\"\n[plugins.v]\nprefix = \"w\"\n",
        server.folder(),
        "plugport.toml",
    );
    wait_for_result(&client, "w-version", Some("a")).await;
    server.wait_for_log("the approvals that were read before stay in force").await;
    std::fs::remove_file(server.folder().join("plugport.lock")).unwrap();
    install_bytes(b"[server]\napproval = \"strict\"\n", server.folder(), "plugport.toml");
    wait_for_result(&client, "w-version", None).await;
    assert_eq!(tool_names(&client).await, [""; 0]);
}

/// Each bad file is logged, however many there are, and stays in the status when something else changes.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_file_after_many_others_is_logged_and_not_forgotten() {
    let mut builder = Server::builder().config("");
    for n in 0..60 {
        builder = builder.file(&format!("bad{n:02}.wasm"), b"nothing");
    }
    let server = builder.start().await;
    install_guest("version_a", server.folder(), "v.wasm");
    server.wait_for_log("published v: ").await;
    std::fs::write(server.folder().join("v.wasm"), b"\0asm\x0d\0\x01\0\xff").unwrap();
    server.wait_for_log("/v.wasm: is damaged").await;
    install_bytes(b"[limits]\nwall_ms = 20_000\n", server.folder(), "plugport.toml");
    server.wait_for_log("the configuration has changed").await;
    let deadline = Instant::now() + Duration::from_secs(3);
    while Instant::now() < deadline {
        let status = plugport_tests::server::program()
            .args(["status", "--json"])
            .current_dir(server.folder())
            .envs(xdg_homes(server.folder()))
            .output()
            .unwrap();
        let told = String::from_utf8(status.stdout).unwrap();
        assert!(told.contains("is damaged"), "{told}");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}
