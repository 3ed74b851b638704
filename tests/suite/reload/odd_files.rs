//! Files in the plugin folder that are no regular plugins neither keep the server from starting nor displace a good
//! plugin.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use plugport_tests::build::guest;
use plugport_tests::containment::{Neighbour, ProcessStats};
use plugport_tests::http_client::Client;
use plugport_tests::reload::{install_bytes, install_guest, wait_for_result};
use plugport_tests::server::{Builder, Server};
use serde_json::json;

/// The server, and the time of its start.
async fn started(builder: Builder) -> (Server, Duration) {
    let server = builder.start().await;
    let took = server.start();
    (server, took)
}

async fn assert_polite(server: &Server) {
    let reply = Client::new(server.url()).call("polite-echo", json!({ "message": "x" })).await;
    assert_eq!(reply.tool_text(), "x");
}

/// The lines of the log on one file.
fn lines<'a>(said: &'a str, file: &str) -> Vec<&'a str> {
    said.lines().filter(|line| line.contains(&format!("{file}:"))).collect()
}

#[tokio::test]
async fn files_that_are_not_regular_are_rejected_at_once() {
    let builder = Server::builder().guest("polite");
    let folder = builder.folder().to_owned();
    let fifo = Command::new("mkfifo").arg(folder.join("fifo.wasm")).status().unwrap();
    assert!(fifo.success());
    let socket = UnixListener::bind(folder.join("socket.wasm")).unwrap();
    std::fs::create_dir(folder.join("directory.wasm")).unwrap();
    symlink("loop_b.wasm", folder.join("loop_a.wasm")).unwrap();
    symlink("loop_a.wasm", folder.join("loop_b.wasm")).unwrap();
    symlink("/dev/zero", folder.join("zero.wasm")).unwrap();
    symlink("nowhere", folder.join("dangling.wasm")).unwrap();
    symlink("polite.wasm", folder.join("alias.wasm")).unwrap();
    let (server, took) = started(builder).await;
    assert!(took < Duration::from_secs(30), "{took:?}");
    let said = server.log();
    let link = "is a symbolic link; copy the file itself into the folder";
    for (file, why) in [
        ("fifo", "is not a regular file"),
        ("socket", "cannot be read"),
        ("directory", "is not a regular file"),
        ("loop_a", link),
        ("loop_b", link),
        ("zero", link),
        ("dangling", link),
        ("alias", link),
    ] {
        let found = lines(&said, &format!("{file}.wasm"));
        assert!(found.len() == 1 && found[0].contains(why), "{file}: {found:?}\n{said}");
    }
    assert!(ProcessStats::of(&server).peak < 512 << 20, "something was read that has no end");
    assert_polite(&server).await;
    drop(socket);
}

/// A hard link is a regular file. Writing through its other name causes no file event in the folder.
#[tokio::test(flavor = "multi_thread")]
async fn a_hard_link_is_served_and_followed() {
    let builder = Server::builder().guest("polite");
    let other = builder.folder().join("elsewhere");
    std::fs::create_dir(&other).unwrap();
    let other = other.join("original");
    std::fs::copy(guest("version_a"), &other).unwrap();
    std::fs::hard_link(&other, builder.folder().join("v.wasm")).unwrap();
    let server = builder.start().await;
    let client = Client::new(server.url());
    wait_for_result(&client, "v-version", Some("a")).await;
    std::fs::write(&other, std::fs::read(guest("version_b")).unwrap()).unwrap();
    wait_for_result(&client, "v-version", Some("b")).await;
    std::fs::remove_file(&other).unwrap();
    assert_eq!(client.call("v-version", json!({})).await.tool_text(), "b");
    assert!(!server.log().contains("rejected"), "{}", server.log());
}

/// The same component with padding of this size in a custom section.
fn padded(mut component: Vec<u8>, mib: usize) -> Vec<u8> {
    let content = (mib << 20) + 2;
    component.push(0);
    component.extend((0..5).map(|at| {
        let seven = u8::try_from((content >> (7 * at)) & 0x7f).unwrap();
        if at < 4 { seven | 0x80 } else { seven }
    }));
    // The section's name, which is a letter long.
    component.extend([1, b'x']);
    component.resize(component.len() + (mib << 20), 0);
    component
}

/// A file that changes while it is read.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_replaced_while_it_is_read_is_read_again() {
    let large = ["version_a", "version_b"].map(|name| padded(std::fs::read(guest(name)).unwrap(), 8));
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    for round in 0..40 {
        install_bytes(&large[round % 2], server.folder(), "v.wasm");
        // Longer than the debounce time, a bit more each time.
        tokio::time::sleep(Duration::from_millis(90 + 7 * (round as u64 % 11))).await;
    }
    wait_for_result(&client, "v-version", Some("b")).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(client.call("v-version", json!({})).await.tool_text(), "b", "the last one stays");
    assert!(!server.log().contains("rejected"), "{}", server.log());
    assert_polite(&server).await;
}

fn permit(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Whether this process can read files of any mode, as the superuser can.
fn may_read_everything() -> bool {
    tempfile::tempdir().unwrap().path().metadata().unwrap().uid() == 0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_whose_file_becomes_unreadable_stays_as_it_was() {
    if may_read_everything() {
        eprintln!("skipped: root may read whatever its mode is");
        return;
    }
    let builder = Server::builder().guest("polite");
    let outside = tempfile::tempdir().unwrap();
    let plugins = outside.path().join("plugins");
    std::fs::create_dir(&plugins).unwrap();
    std::fs::copy(builder.folder().join("polite.wasm"), plugins.join("polite.wasm")).unwrap();
    install_guest("version_a", &plugins, "v.wasm");
    let server = builder.plugins(&plugins).start().await;
    let client = Client::new(server.url());
    wait_for_result(&client, "v-version", Some("a")).await;
    permit(&plugins.join("v.wasm"), 0o000);
    server.wait_for_log("cannot be read").await;
    assert_eq!(client.call("v-version", json!({})).await.tool_text(), "a");
    install_guest("version_b", &plugins, "v.wasm");
    wait_for_result(&client, "v-version", Some("b")).await;
    permit(&plugins, 0o000);
    server.wait_for_log("cannot read the plugin folder").await;
    assert_eq!(client.call("v-version", json!({})).await.tool_text(), "b");
    assert_polite(&server).await;
    permit(&plugins, 0o700);
    install_guest("version_a", &plugins, "v.wasm");
    wait_for_result(&client, "v-version", Some("a")).await;
}

#[tokio::test]
async fn strange_names_are_skipped_or_shown_escaped() {
    // The operator says which of two plugins with names that look alike is meant.
    let builder = Server::builder().guest("polite").config("[plugins.polite]\nlimits = {}\n");
    let folder = builder.folder().to_owned();
    let good = std::fs::read(guest("version_a")).unwrap();
    let long = format!("{}.wasm", "n".repeat(250));
    let names: [&[u8]; 8] = [
        b"not\xff\xfeutf8.wasm",
        b"new\nline.wasm",
        b"\x1b[2Jscreen.wasm",
        "p\u{43e}lite.wasm".as_bytes(),
        "\u{202e}etilop.wasm".as_bytes(),
        long.as_bytes(),
        b"-rf.wasm",
        b"Polite.wasm",
    ];
    for name in names {
        std::fs::write(folder.join(OsStr::from_bytes(name)), &good).unwrap();
    }
    let server = builder.start().await;
    let said = server.log();
    let skipped = said.lines().filter(|line| line.starts_with("rejected ")).count();
    assert!((6..=8).contains(&skipped), "{skipped}\n{said}");
    assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'), "{said}");
    assert!(said.lines().all(|line| !line.starts_with("line.wasm")), "a name forged a line:\n{said}");
    assert_polite(&server).await;
}

/// Fewer than in the threat model, since each good file is compiled without optimisation.
#[tokio::test(flavor = "multi_thread")]
async fn very_many_files_cost_a_line_each_and_displace_no_good_one() {
    let good = std::fs::read(guest("version_a")).unwrap();
    let mut builder = Server::builder().config("[server]\nmax_plugins = 3000\n").alone();
    for at in 0..10 {
        builder = builder.file(&format!("good{at}.wasm"), &good);
    }
    for at in 0..2_000 {
        builder = builder.file(&format!("bad{at}.wasm"), b"\0asm\x0d\0\x01\0\xff");
    }
    let (server, took) = started(builder.guest("polite")).await;
    assert!(took < Duration::from_secs(100), "{took:?}");
    assert!(server.log().len() < 1 << 20, "{} bytes of log", server.log().len());
    let listed = Client::new(server.url()).request("tools/list", json!({})).await;
    let names = listed.result()["tools"].to_string();
    assert!((0..10).all(|at| names.contains(&format!("\"good{at}-version\""))), "{names}");
    let waits = Neighbour::new(server.url()).echo_times(100).await;
    assert!(waits.percentile(50) < Duration::from_millis(50), "{waits:?}");
    assert!(ProcessStats::of(&server).memory < 512 << 20);
}

#[tokio::test]
async fn temporary_files_of_editors_are_ignored() {
    let good = std::fs::read(guest("version_a")).unwrap();
    let mut builder = Server::builder().guest("polite");
    let left = [
        "a.wasm~",
        ".a.wasm.swp",
        "a.wasm.part",
        "#a.wasm#",
        ".#a.wasm",
        "a.wasm.tmp",
        "a.wasm.crdownload",
        "4913",
    ];
    for name in left {
        builder = builder.file(name, &good);
    }
    let server = builder.start().await;
    let said = server.log();
    assert!(!said.contains("rejected"), "{said}");
    let listed = Client::new(server.url()).request("tools/list", json!({})).await;
    assert!(!listed.text.contains("-version\""), "{listed:?}");
    assert_polite(&server).await;
}

#[tokio::test]
async fn copies_of_a_file_do_not_disturb_each_other() {
    let good = std::fs::read(guest("version_a")).unwrap();
    // The same bytes twice, and two names that look alike.
    let server = Server::builder()
        .guest("polite")
        .file("one.wasm", &good)
        .file("two.wasm", &good)
        .file("Version_a.wasm", &good)
        .file("version-a.wasm", &good)
        .start()
        .await;
    let client = Client::new(server.url());
    for plugin in ["one", "two"] {
        assert_eq!(client.call(&format!("{plugin}-version"), json!({})).await.tool_text(), "a");
    }
    let listed = client.request("tools/list", json!({})).await.result()["tools"].to_string();
    let alike =
        ["Version_a-version", "version-a-version"].iter().filter(|name| listed.contains(*name)).count();
    assert_eq!(alike, 0, "nothing says which of two that look alike is meant: {listed}");
    server.wait_for_log("nothing says which of them is meant").await;
    assert_polite(&server).await;
}

#[tokio::test]
async fn hostile_huge_file() {
    let builder = Server::builder().guest("polite");
    for (name, size) in [("large.wasm", 500_u64 << 20), ("vast.wasm", 100 << 30)] {
        // A sparse file: only reading would show that it is empty.
        std::fs::File::create(builder.folder().join(name)).unwrap().set_len(size).unwrap();
    }
    let (server, took) = started(builder).await;
    assert!(took < Duration::from_secs(30), "{took:?}");
    let said = server.log();
    for name in ["large.wasm", "vast.wasm"] {
        let found = lines(&said, name);
        assert!(found.len() == 1 && found[0].contains("wasm_mib"), "{found:?}\n{said}");
    }
    assert!(ProcessStats::of(&server).peak < 512 << 20, "a huge file was read");
    assert_polite(&server).await;
}
