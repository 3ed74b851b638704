//! What stdin and stdout may be: pipes, sockets and files, also such that others share.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Seek as _, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use plugport_tests::build::{program, xdg_homes};
use plugport_tests::guests::{allow_long_start, folder};
use plugport_tests::stdio_client::StdioClient;
use serde_json::{Value, json};

/// A session, and a call in it.
fn requests() -> String {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
                         "clientInfo": { "name": "suite", "version": "1" } });
    let call = json!({ "name": "polite-echo", "arguments": { "message": "x" } });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call }),
    ];
    messages.iter().map(|message| format!("{message}\n")).collect()
}

fn serve(plugins: &Path, [stdin, stdout, stderr]: [Stdio; 3]) -> Child {
    allow_long_start(plugins);
    let mut command = program();
    command.args(["serve", "--stdio", "--plugins"]).arg(plugins).current_dir(plugins);
    command.envs(xdg_homes(plugins)).stdin(stdin).stdout(stdout).stderr(stderr).spawn().unwrap()
}

/// Reads messages until the response with this id. Other lines are of the log.
fn response(output: impl Read, id: &Value) -> Value {
    let messages =
        BufReader::new(output).lines().filter_map(|line| serde_json::from_str(&line.unwrap()).ok());
    let mut responses = messages.filter(|message: &Value| message["id"] == *id);
    responses.next().expect("a response before the end")
}

fn is_echo(response: &Value) -> bool {
    response["result"]["content"][0]["text"] == "x"
}

/// Whether the description of a process's descriptor has `O_NONBLOCK`.
#[cfg(target_os = "linux")]
fn is_nonblocking(process: &str, descriptor: i32) -> bool {
    let info = std::fs::read_to_string(format!("/proc/{process}/fdinfo/{descriptor}")).unwrap();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
    i32::from_str_radix(flags.trim(), 8).unwrap() & 0o4_000 != 0
}

#[cfg(target_os = "linux")]
fn serves_and_changes_no_flags(mut client: impl Write, stdin: OwnedFd, stdout: OwnedFd, output: impl Read) {
    let folder = folder(&["polite"]);
    // As with `2>&1`, and with a parent that keeps what it passes on.
    let copies = [&stdin, &stdout, &stdout].map(|shared| shared.try_clone().unwrap());
    let mut server = serve(folder.path(), copies.map(Stdio::from));
    client.write_all(requests().as_bytes()).unwrap();
    assert!(is_echo(&response(output, &json!(1))));
    for descriptor in 0..=2 {
        assert!(!is_nonblocking(&server.id().to_string(), descriptor), "{descriptor}");
    }
    drop(client);
    assert!(server.wait().unwrap().success());
    for shared in [&stdin, &stdout] {
        assert!(!is_nonblocking("self", std::os::fd::AsRawFd::as_raw_fd(shared)));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn pipes_that_others_share_stay_as_they_are() {
    let ((stdin, client), (output, stdout)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
    serves_and_changes_no_flags(client, stdin.into(), stdout.into(), output);
}

/// Node.js starts its children with sockets.
#[test]
#[cfg(target_os = "linux")]
fn sockets_that_others_share_stay_as_they_are() {
    let ((stdin, client), (output, stdout)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
    serves_and_changes_no_flags(client, stdin.into(), stdout.into(), output);
}

#[test]
fn one_socket_may_be_stdin_and_stdout() {
    let folder = folder(&["polite"]);
    let (both, mut client) = UnixStream::pair().unwrap();
    let copy = OwnedFd::from(both.try_clone().unwrap());
    let mut server = serve(folder.path(), [OwnedFd::from(both).into(), copy.into(), Stdio::null()]);
    client.write_all(requests().as_bytes()).unwrap();
    assert!(is_echo(&response(&client, &json!(1))));
    client.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(server.wait().unwrap().success());
}

#[test]
fn files_may_be_stdin_and_stdout() {
    let folder = folder(&["polite"]);
    let file = |name: &str| {
        let path = folder.path().join(name);
        File::options().create(true).truncate(true).read(true).write(true).open(path).unwrap()
    };
    let (mut stdin, mut stdout) = (file("stdin"), file("stdout"));
    // The input ends within a line.
    write!(stdin, "{}{{\"jsonrpc\":", requests()).unwrap();
    stdin.rewind().unwrap();
    let mut server = serve(folder.path(), [stdin.into(), stdout.try_clone().unwrap().into(), Stdio::null()]);
    assert!(server.wait().unwrap().success());
    let mut said = String::new();
    stdout.rewind().unwrap();
    stdout.read_to_string(&mut said).unwrap();
    assert!(is_echo(&response(said.as_bytes(), &json!(1))), "{said}");
    let broken = said.lines().filter(|line| line.contains("-32700")).count();
    assert!(said.lines().count() == 3 && broken == 1 && said.ends_with('\n'), "{said}");
}

#[test]
fn without_input_the_server_stops() {
    let folder = folder(&[]);
    let mut server = serve(folder.path(), [Stdio::null(), Stdio::null(), Stdio::null()]);
    assert!(server.wait().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_can_cancel() {
    const BYTES: usize = 12 << 10;
    let folder = folder(&["polite"]);
    let mut pipe = StdioClient::start(folder.path());
    pipe.initialize("2025-11-25").await;
    let nap = json!({ "name": "polite-nap", "arguments": { "ms": 2_500 } });
    pipe.request(json!("nap"), "tools/call", nap).await;
    // More than the pipe and all queues hold.
    for id in 1..=60 {
        let echo = json!({ "name": "polite-echo", "arguments": { "message": "x".repeat(BYTES) } });
        pipe.request(json!(id), "tools/call", echo).await;
    }
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "nap" } });
    pipe.send(&cancel.to_string()).await;
    // Until the nap would have ended.
    tokio::time::sleep(Duration::from_millis(4_000)).await;
    let mut ids = Vec::new();
    for _ in 1..=60 {
        ids.push(pipe.next().await["id"].as_u64().expect("a response to an echo"));
    }
    ids.sort_unstable();
    assert!(ids.into_iter().eq(1..=60));
    let (lines, _, code) = pipe.end().await;
    assert!(lines.is_empty() && code == Some(0), "{lines:?}");
}
