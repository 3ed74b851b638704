//! When `plugport dev` is killed, its server ends too, although `dev` can no longer stop it.

use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use plugport_tests::server::program;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

const TIMEOUT: Duration = Duration::from_secs(120);

/// The maximum time until the server has ended.
const END: Duration = Duration::from_secs(10);

/// A build that writes its process id and does not end.
const BUILD: &str = "echo $$ > .new; mv .new .pid; exec sleep 600";

/// The process of `dev`, and its server's address.
async fn start(project: &Path) -> (Child, String) {
    let mut command = Command::from(program());
    command.args(["dev", "--listen", "127.0.0.1:0", "--build", BUILD]).current_dir(project);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    while let Some(line) = said.next_line().await.unwrap() {
        if let Some(address) = line.strip_prefix("serving MCP at http://") {
            return (child, address.trim_end_matches("/mcp").to_owned());
        }
    }
    panic!("it serves nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_ends_with_its_loop_and_a_build_does_not_keep_it() {
    let project = tempfile::tempdir().unwrap();
    let (mut child, address) = timeout(TIMEOUT, start(project.path())).await.expect("it serves");
    let building = project.path().join(".pid");
    let built = async {
        while !building.exists() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TIMEOUT, built).await.expect("it builds");
    let listens = || TcpStream::connect(&address).is_ok();
    assert!(listens(), "{address}");
    child.kill().await.unwrap();
    let killed = Instant::now();
    while listens() && killed.elapsed() < END {
        sleep(Duration::from_millis(10)).await;
    }
    let still_listens = listens();
    let pid = std::fs::read_to_string(building).unwrap();
    assert!(Command::new("kill").args(["-KILL", pid.trim()]).status().await.unwrap().success(), "{pid}");
    assert!(!still_listens, "the server still listens at {address}");
}
