//! Server memory for hostile clients: echoed text, unread responses, unfinished bodies, sessions and
//! connections. A neighbour at the same address is served all the while.

use std::time::Duration;

use plugport_tests::containment::Neighbour;
use plugport_tests::http_client::{Client, LEGACY};
use plugport_tests::raw_post::{call_body, call_headers, post_head, status_line};
use plugport_tests::raw_server::RawServer;
use plugport_tests::server::{Server, folder, whole_machine};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

const MIB: u64 = 1 << 20;

/// A small budget, so that a test need not send much.
const CONFIG: &str = "[server]\nclient_buffers_mib = 32\n";

/// The maximum growth besides the budget: pages of the allocator, and the memory of one request while it is read.
const BESIDE: u64 = 96 * MIB;

/// The maximum wait of a neighbour: an unoptimised server takes long to read megabytes of JSON.
const SERVED: Duration = Duration::from_secs(2);

/// A connection that reads as little as possible.
async fn connect(server: &Server) -> TcpStream {
    let url = server.url();
    let address = url.strip_prefix("http://").unwrap().split('/').next().unwrap().parse().unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    socket.connect(address).await.unwrap()
}

/// The head of a call of `polite-echo`.
fn echo_head(length: usize) -> String {
    post_head("localhost", &call_headers("polite-echo"), length)
}

/// A call whose result is its own text.
fn echo(text: &str) -> String {
    call_body(&json!(1), "polite-echo", &json!({ "message": text }), &json!({}))
}

/// Whether the server rejected the request for lack of memory. The request may still wait, or the connection be reset.
async fn is_rejected(stream: &mut TcpStream) -> bool {
    let mut line = [0; 12];
    let read = tokio::time::timeout(Duration::from_millis(100), stream.read_exact(&mut line)).await;
    matches!(read, Ok(Ok(_))) && line.ends_with(b"503")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_echoed_is_short() {
    let server = Server::builder().guest("polite").start().await;
    let client = Client::new(server.url());
    let long = "x".repeat(3 << 20);
    let before = server.rss();
    for _ in 0..20 {
        let meta = json!({ "progressToken": long });
        let reply = client.request_with_meta("tools/call", json!({ "name": "polite-echo" }), meta).await;
        assert_eq!((reply.status, reply.error_code()), (400, -32602), "{}", &reply.text[..200]);
        let body = json!({ "jsonrpc": "2.0", "id": long, "method": "ping" }).to_string();
        let reply = client.post(&[], body).await;
        assert_eq!((reply.status, reply.error_code()), (400, -32600));
        assert!(reply.text.contains("at most 256 bytes") && reply.response().get("id").is_none());
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": long }).to_string();
        assert!(client.post(&[], body).await.text.len() < 1_000);
    }
    let session = client.session(LEGACY).await;
    let reply = session.request("tools/call", json!({ "name": long, "arguments": {} })).await;
    assert!(reply.error_code() == -32602 && reply.text.len() < 1_000);
    assert!(server.rss() < before + BESIDE, "{} MiB more", (server.rss() - before) / MIB);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_announced_too_large_is_rejected_before_it_comes() {
    let server = Server::builder().guest("polite").start().await;
    let mut stream = connect(&server).await;
    stream.write_all(echo_head(5 << 20).as_bytes()).await.unwrap();
    let line = status_line(&mut stream).await;
    assert!(line.contains(" 413 "), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_answers_and_unfinished_bodies_are_bounded_and_a_neighbour_is_served() {
    let server = Server::builder().guest("polite").config(CONFIG).alone().start().await;
    Neighbour::new(server.url()).echo().await;
    let before = server.rss();
    let neighbour_loop = Neighbour::new(server.url()).start_loop();
    let call = echo(&"x".repeat(3 << 20));
    let mut held = Vec::new();
    for at in 0..48 {
        let mut stream = connect(&server).await;
        // Every other body lacks its end.
        let sent = if at % 2 == 0 { call.as_str() } else { &call[..call.len() - 1] };
        stream.write_all(echo_head(call.len()).as_bytes()).await.unwrap();
        let sending = stream.write_all(sent.as_bytes());
        let _ = tokio::time::timeout(Duration::from_millis(300), sending).await;
        held.push(stream);
    }
    let peak = server.rss();
    assert!(peak < before + 32 * MIB + BESIDE, "{} MiB more", (peak - before) / MIB);
    // They wait for memory for a few seconds.
    let (begun, mut rejected) = (std::time::Instant::now(), false);
    while !rejected {
        assert!(begun.elapsed() < Duration::from_secs(30), "there is no room for so many large bodies");
        for stream in held.iter_mut().skip(1).step_by(2) {
            rejected |= is_rejected(stream).await;
        }
    }
    let waits = neighbour_loop.end().await;
    assert!(waits.percentile(99) < SERVED, "{waits:?}");
    drop(held);
    let begun = std::time::Instant::now();
    while server.rss() > before + 48 * MIB {
        assert!(begun.elapsed() < Duration::from_secs(30), "{} MiB stay", (server.rss() - before) / MIB);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_opens_sessions_without_end_shuts_nobody_out() {
    let server = Server::builder().guest("polite").config("[server]\nmax_sessions = 50\n").start().await;
    let neighbour = Client::new(server.url()).session(LEGACY).await;
    assert_eq!(neighbour.request("ping", json!({})).await.status, 200);
    let params = json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string();
    for _ in 0..200 {
        assert_eq!(Client::new(server.url()).post(&[], body.clone()).await.status, 200);
    }
    assert_eq!(neighbour.request("ping", json!({})).await.status, 200, "it used its session");
    let new_client = Client::from(server.url(), [127, 0, 0, 2]).session(LEGACY).await;
    for _ in 0..100 {
        assert_eq!(Client::new(server.url()).post(&[], body.clone()).await.status, 200);
    }
    assert_eq!(new_client.request("ping", json!({})).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_takes_all_connections_loses_them_to_new_clients() {
    let server = Server::builder().guest("polite").config("[server]\nmax_connections = 8\n").start().await;
    let mut idle = Vec::new();
    for _ in 0..40 {
        idle.push(connect(&server).await);
    }
    let reply = Client::new(server.url()).call("polite-echo", json!({ "message": "here" })).await;
    assert_eq!(reply.tool_text(), "here", "{reply:?}");
    let mut first = idle.swap_remove(0);
    assert_eq!(first.read(&mut [0; 1]).await.unwrap_or_default(), 0, "it made way");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_memory_that_clients_can_take_is_logged_at_the_start() {
    let _machine = whole_machine().await;
    let config = "[server]\nclient_buffers_mib = 64\nguest_memory_mib = 1024\nmax_connections = 100\n";
    let plugins = folder(&[]);
    let server = RawServer::start(plugins.path(), config);
    server.wait_for_log("guests 1024, buffers 64, connections 38,").await;
}
