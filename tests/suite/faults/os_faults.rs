//! Faults of the operating system: full disks, lost file system events, files with impossible times, and names that do
//! not resolve (C11).

use std::ffi::OsString;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant, SystemTime};

use plugport_tests::containment::{MAX_NEIGHBOUR_WAIT, Neighbour, Source};
use plugport_tests::guests::guest;
use plugport_tests::http_client::Client;
use plugport_tests::reload::{install_guest, wait_for_result};
use plugport_tests::server::{Server, shell_command};
use serde_json::json;
use tokio::process::Command;

/// The maximum time until a change is noticed without file events.
const CONVERGENCE: Duration = Duration::from_secs(5);

/// From here on no file of the server may be longer than so many KiB, as on a full disk.
pub(crate) fn full_beyond(kib: u32) -> String {
    // In the shell's blocks of 512 bytes. The limit can be lifted again, and reaching it is an error and not the end.
    format!("trap '' XFSZ; ulimit -S -f {}", kib * 2)
}

/// Calls continue while the audit's disk is full, the audit's lines stay whole, and it continues when there is space.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_stops_the_audit_and_no_call() {
    let server = Server::builder()
        .guest("polite")
        .config("[audit]\narguments = true\n")
        .shell_first(&full_beyond(1_024))
        .start()
        .await;
    let client = Client::new(server.url());
    let long = "x".repeat(1 << 10);
    let echo = async || {
        assert_eq!(client.call("polite-echo", json!({ "message": long })).await.tool_text(), long);
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut calls = 0;
    while !server.log().contains("the audit file cannot be written") {
        assert!(Instant::now() < deadline, "there always was room; the server said:\n{}", server.log());
        echo().await;
        calls += 1;
    }
    let begun = Instant::now();
    for _ in 0..50 {
        echo().await;
        calls += 1;
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "calls waited for the disk: {:?}", begun.elapsed());
    let pid = server.pid().to_string();
    let lifted = Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited:"]).status();
    assert!(lifted.await.unwrap().success());
    server.wait_for_log("the audit file is writable again").await;
    // The lines of that time have waited, and every line is whole.
    let echoes =
        server.wait_for_audit("call", calls + 1).await.iter().filter(|line| line["name"] == "echo").count();
    assert_eq!(echoes, calls);
    assert_eq!(server.terminate().await, Some(0));
}

/// Runs `plugport approve` in a folder, after a shell command.
async fn approve(dir: &Path, shell: &str) -> Output {
    let mut command = shell_command(shell);
    command.args(["approve", "--yes", "--plugins", "plugins"]).current_dir(dir).kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_secs(300), command.output()).await;
    output.expect("approving ends").unwrap()
}

fn listing(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

/// Without space for a new lockfile the old one stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_leaves_the_lockfile_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let plugins = dir.path().join("plugins");
    std::fs::create_dir(&plugins).unwrap();
    // Small, so that the engine's files for it fit where the lockfile does not.
    let small = Source::Wat("bad_result").bytes();
    std::fs::write(plugins.join("first.wasm"), &small).unwrap();
    let first = approve(dir.path(), ":").await;
    assert!(first.status.success(), "{first:?}");
    let lock = || std::fs::read_to_string(dir.path().join("plugport.lock")).unwrap();
    let (before, beside) = (lock(), listing(dir.path()));
    for number in 0..200 {
        std::fs::write(plugins.join(format!("p{number}.wasm")), &small).unwrap();
    }
    let full = approve(dir.path(), &full_beyond(16)).await;
    let told = String::from_utf8_lossy(&full.stderr).into_owned();
    assert!(!full.status.success() && told.contains("plugport.lock"), "{full:?}");
    assert_eq!((lock(), listing(dir.path())), (before, beside), "{told}");
    let done = approve(dir.path(), ":").await;
    assert!(done.status.success() && lock().contains("p199"), "{done:?}");
}

/// File events are for the folder to which a link led at the start. After the link changes, no event ever comes, and
/// the poller must find the changes.
#[tokio::test(flavor = "multi_thread")]
async fn changes_without_an_event_are_found_within_seconds() {
    let outside = tempfile::tempdir().unwrap();
    let (link, next) = (outside.path().join("plugins"), outside.path().join("next"));
    for folder in ["0", "1"] {
        std::fs::create_dir(outside.path().join(folder)).unwrap();
    }
    install_guest("version_a", &outside.path().join("0"), "v.wasm");
    install_guest("version_b", &outside.path().join("1"), "v.wasm");
    std::os::unix::fs::symlink("0", &link).unwrap();
    let server = Server::builder().plugins(&link).start().await;
    let client = Client::new(server.url());
    // Both versions are compiled once before the measurement.
    for (turn, folder) in [1, 0, 1, 0].into_iter().enumerate() {
        std::os::unix::fs::symlink(folder.to_string(), &next).unwrap();
        std::fs::rename(&next, &link).unwrap();
        let begun = Instant::now();
        wait_for_result(&client, "v-version", Some(["a", "b"][folder])).await;
        let took = begun.elapsed();
        assert!(turn == 0 || took < CONVERGENCE, "turn {turn} took {took:?}; {}", server.log());
    }
    std::fs::remove_file(outside.path().join("0/v.wasm")).unwrap();
    let begun = Instant::now();
    wait_for_result(&client, "v-version", None).await;
    assert!(begun.elapsed() < CONVERGENCE, "{:?}; {}", begun.elapsed(), server.log());
}

/// A file is found with any modification time. A test must not set the machine's clock; the server uses the monotonic
/// clock, and compares times of files only for equality.
#[tokio::test(flavor = "multi_thread")]
async fn files_with_times_of_other_centuries_are_found() {
    let server = Server::builder().file("v.wasm", &std::fs::read(guest("version_a")).unwrap()).start().await;
    let client = Client::new(server.url());
    let day = Duration::from_secs(24 * 3600);
    let now = SystemTime::now();
    // The last two are the same, as after `cp -p` of builds that are made reproducible.
    let times = [
        now + 40 * 365 * day,
        now - Duration::from_secs(3600),
        SystemTime::UNIX_EPOCH,
        SystemTime::UNIX_EPOCH,
    ];
    for (turn, time) in times.into_iter().enumerate() {
        let version = ["b", "a"][turn % 2];
        let (beside, file) = (server.folder().join(".v.part"), server.folder().join("v.wasm"));
        std::fs::copy(guest(&format!("version_{version}")), &beside).unwrap();
        std::fs::File::options().write(true).open(&beside).unwrap().set_modified(time).unwrap();
        std::fs::rename(&beside, &file).unwrap();
        wait_for_result(&client, "v-version", Some(version)).await;
    }
}

/// A name that does not resolve delays only the call that uses it.
#[tokio::test(flavor = "multi_thread")]
async fn names_that_do_not_resolve_fail_only_their_calls() {
    let config = "[plugins.http_client.grants]\nhttp = [\"http://no-such-host.invalid\"]\n";
    let server = Server::builder().guest("polite").guest("http_client").config(config).start().await;
    let client = Client::new(server.url());
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let client = client.clone();
            let url = json!({ "url": "http://no-such-host.invalid/" });
            tokio::spawn(async move { client.call("http_client-fetch", url).await })
        })
        .collect();
    let neighbour = Neighbour::new(server.url());
    let neighbour_loop = neighbour.start_loop();
    for call in calls {
        let reply = call.await.unwrap();
        assert_eq!(reply.tool_text(), "there is no host of this name");
    }
    let waits = neighbour_loop.end().await;
    assert!(waits.percentile(99) < MAX_NEIGHBOUR_WAIT, "{waits:?}");
}
