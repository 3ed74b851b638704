//! Clients that attack on raw sockets and in sessions, without a hostile guest: a neighbour is served all the while,
//! and the memory that the server holds for them is bounded and released.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use plugport_tests::containment::AttackedServer;
use plugport_tests::http_client::{Client, LEGACY};
use plugport_tests::raw_post::{call_body, call_headers, post_head, read_all, send, status_line};
use plugport_tests::server::Server;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const MIB: u64 = 1 << 20;

/// Nearly the largest body that is accepted.
const LARGE: usize = 3_900_000;

/// The maximum memory of an attack while it lasts: half of a small server.
const MAX_MEMORY: u64 = 384 * MIB;

/// So many large responses exceed that together.
const RESPONSES: usize = 120;

/// The length of an attack without an end of its own.
const AWHILE: Duration = Duration::from_secs(4);

async fn attacked(name: &'static str) -> AttackedServer {
    AttackedServer::begin(name, Server::builder()).await
}

/// A call on a socket of its own, whose response is not read yet.
async fn ask(authority: &str, tool: &str, body: &str) -> TcpStream {
    send(authority, &post_head(authority, &call_headers(tool), body.len()), body.as_bytes()).await
}

/// Eight calls that report progress for a while, each with such an id and token; the client does not read.
async fn echoes(name: &'static str, id: Value, more: Value) {
    let attacked = attacked(name).await;
    let body = call_body(&id, "polite-narrate", &json!({ "steps": 3_000 }), &more);
    let mut sockets = Vec::new();
    for _ in 0..8 {
        sockets.push(ask(&attacked.authority(), "polite-narrate", &body).await);
    }
    tokio::time::sleep(AWHILE).await;
    drop(sockets);
    attacked.end(192 * MIB).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_progress_token_of_megabytes_costs_no_more_than_its_request() {
    let log = "io.modelcontextprotocol/logLevel";
    echoes("token", json!(1), json!({ "progressToken": "t".repeat(LARGE), log: "debug" })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_of_megabytes_costs_no_more_than_its_request() {
    echoes("id", json!("i".repeat(LARGE)), json!({ "progressToken": "t" })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_responses_are_bounded() {
    let attacked = attacked("unread").await;
    let body = call_body(&json!(1), "polite-echo", &json!({ "message": "m".repeat(LARGE) }), &json!({}));
    let mut sockets = Vec::new();
    for _ in 0..RESPONSES {
        sockets.push(ask(&attacked.authority(), "polite-echo", &body).await);
    }
    tokio::time::sleep(AWHILE).await;
    drop(sockets);
    attacked.end(MAX_MEMORY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_in_abandoned_sessions_are_bounded() {
    let attacked = attacked("left").await;
    let client = Client::new(attacked.server().url());
    let params = json!({ "name": "polite-echo", "arguments": { "message": "m".repeat(LARGE) } });
    for _ in 0..10 {
        let session = client.session(LEGACY).await;
        let headers = [("mcp-session-id", session.id.as_str()), ("mcp-protocol-version", LEGACY)];
        for id in 0..RESPONSES / 10 {
            let body =
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string();
            let authority = attacked.authority();
            drop(send(&authority, &post_head(&authority, &headers, body.len()), body.as_bytes()).await);
        }
    }
    tokio::time::sleep(AWHILE).await;
    // Events for a client that may reconnect are stored for a minute.
    attacked.end_after(Duration::from_secs(60), MAX_MEMORY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_client_gets_a_session_after_ten_thousand_that_nobody_uses() {
    let attacked = attacked("sessions").await;
    let params = json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string();
    let mut clients = JoinSet::new();
    for _ in 0..4 {
        let (client, body) = (Client::new(attacked.server().url()), body.clone());
        clients.spawn(async move {
            for _ in 0..2_600 {
                client.post(&[], body.clone()).await;
            }
        });
    }
    clients.join_all().await;
    let new_client = Client::from(attacked.server().url(), [127, 0, 0, 3]);
    assert_eq!(new_client.post(&[], body.clone()).await.status, 200, "a new client from elsewhere");
    let session = new_client.session(LEGACY).await;
    assert_eq!(session.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
    attacked.end(192 * MIB).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_never_end_are_bounded() {
    let attacked = attacked("unfinished").await;
    let authority = attacked.authority();
    let head = post_head(&authority, &call_headers("polite-echo"), LARGE + 1);
    let body = vec![b' '; LARGE];
    let mut sockets = Vec::new();
    let begun = Instant::now();
    while sockets.len() < 300 && begun.elapsed() < Duration::from_secs(20) {
        let sent = tokio::time::timeout(Duration::from_millis(500), send(&authority, &head, &body)).await;
        // A server that reads no further blocks its client's writes.
        sockets.extend(sent.ok());
    }
    tokio::time::sleep(AWHILE).await;
    drop(sockets);
    attacked.end(MAX_MEMORY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_make_room_for_others() {
    let builder = Server::builder().config("[server]\nmax_connections = 200\n");
    let attacked = AttackedServer::begin("silent", builder).await;
    let authority = attacked.authority();
    let mut sockets = Vec::new();
    for number in 0..260 {
        // Half of them begin a request, and continue it very slowly.
        let begin = if number % 2 == 0 { "" } else { "POST /mcp HTTP/1.1\r\n" };
        sockets.push(send(&authority, begin, b"").await);
    }
    let new_client = Client::from(attacked.server().url(), [127, 0, 0, 3]);
    let waiting = new_client.call("polite-echo", json!({ "message": "x" }));
    let mut waiting = std::pin::pin!(waiting);
    let begun = Instant::now();
    let reply = loop {
        tokio::select! {
            reply = &mut waiting => break reply,
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
        for socket in sockets.iter_mut().skip(1).step_by(2) {
            let _ = socket.write_all(b"x: x\r\n").await;
        }
    };
    assert_eq!(reply.tool_text(), "x");
    assert!(begun.elapsed() < Duration::from_secs(15), "a new client waited {:?}", begun.elapsed());
    drop(sockets);
    attacked.end(128 * MIB).await;
}

/// How one post ended.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Posted {
    /// As expected.
    Expected,
    /// The request or its response would have exceeded the shared memory, and the client got an error.
    NoRoom,
    /// Another response, with its beginning.
    Other(String),
}

impl Posted {
    fn of(response: &str, says: &str) -> Self {
        let (line, rest) = response.split_once("\r\n").unwrap_or_default();
        match line {
            "HTTP/1.1 200 OK" | "HTTP/1.1 400 Bad Request" if rest.contains(says) => Self::Expected,
            "HTTP/1.1 200 OK" if rest.contains("no room for") => Self::NoRoom,
            // The server may reset the connection of a request that it rejects while the client still sends.
            "HTTP/1.1 503 Service Unavailable" | "" => Self::NoRoom,
            _ => Self::Other(response.chars().take(400).collect()),
        }
    }
}

/// Eight clients post these bodies for a while, each one body. Asserts that requests with each body got the expected
/// response, and that each other request was rejected for lack of memory.
async fn posted(name: &'static str, bodies: &[(String, &'static str)]) {
    let attacked = attacked(name).await;
    let begun = Instant::now();
    let mut clients = JoinSet::new();
    for (body, says) in bodies.iter().cycle().take(8).cloned() {
        let authority = attacked.authority();
        clients.spawn(async move {
            let [version, method, tool] = call_headers("polite-echo");
            let headers = [version, method, tool, ("connection", "close")];
            let head = post_head(&authority, &headers, body.len());
            let mut ends = Vec::new();
            while begun.elapsed() < AWHILE {
                let mut socket = send(&authority, &head, body.as_bytes()).await;
                ends.push(Posted::of(&read_all(&mut socket).await, says));
            }
            (says, ends)
        });
    }
    let mut ends = BTreeMap::<_, BTreeMap<Posted, usize>>::new();
    for (says, ended) in clients.join_all().await {
        let counted = ends.entry(says).or_default();
        ended.into_iter().for_each(|end| *counted.entry(end).or_default() += 1);
    }
    println!("{name}: {ends:?}");
    for counted in ends.values() {
        assert!(counted.contains_key(&Posted::Expected), "nobody was answered: {ends:?}");
        assert!(!counted.keys().any(|end| matches!(end, Posted::Other(_))), "{ends:?}");
    }
    attacked.end(MAX_MEMORY).await;
}

/// A call of `polite-echo` with these arguments, which are JSON.
fn echo(arguments: &str) -> String {
    call_body(&json!(1), "polite-echo", &json!("ARGUMENTS"), &json!({})).replace("\"ARGUMENTS\"", arguments)
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_of_megabytes_from_eight_clients_slow_nobody() {
    let large = json!({ "message": "m".repeat(LARGE) }).to_string();
    posted("large", &[(echo(&large), "mmmmmmmm")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_and_wide_json_slows_nobody() {
    let with = |more: String| echo(&format!(r#"{{"message":"x","more":{more}}}"#));
    let wide = |count: usize| with(format!("[{}0]", "[0],".repeat(count)));
    let deep = with("[".repeat(200_000) + &"]".repeat(200_000));
    let bodies =
        [(wide(400_000), "has more than 250000 values"), (wide(100_000), "do not fit"), (deep, "\"error\"")];
    posted("wide", &bodies).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_as_many_choices_as_there_may_be_slows_nobody() {
    let config = "[plugins.hostile_host_functions]\ngrants = { elicitation = true }\n";
    let attacked =
        AttackedServer::begin("form", Server::builder().guest("hostile_host_functions").config(config)).await;
    let capabilities = json!({ "elicitation": { "form": {} } });
    let session = Client::new(attacked.server().url()).session_with(LEGACY, capabilities).await;
    let arguments = json!({ "function": "elicitation-many", "bytes": 9_000, "times": 1 });
    let params = json!({ "name": "hostile_host_functions-repeat", "arguments": arguments });
    let mut stream = session.stream(json!(1), "tools/call", params).await;
    let client_request = stream.message().await;
    assert_eq!(client_request["method"], "elicitation/create", "{client_request}");
    let chosen: Vec<String> = (0..900).map(|number| format!("c{number}")).collect();
    let begun = Instant::now();
    session.respond(&client_request, json!({ "action": "accept", "content": { "a": chosen } })).await;
    let last = stream.message().await;
    assert!(last["result"].is_object(), "{last}");
    assert!(begun.elapsed() < Duration::from_secs(2), "the answer took {:?}", begun.elapsed());
    attacked.end(192 * MIB).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_large_client_metadata_again_and_again_is_charged() {
    let config = "[plugins.hostile_host_functions]\nlimits = { cpu_ms = 200 }\n";
    let attacked =
        AttackedServer::begin("meta", Server::builder().guest("hostile_host_functions").config(config)).await;
    let client = Client::new(attacked.server().url());
    let pieces: Vec<Value> = (0..300_000).map(|number| json!({ "a": number })).collect();
    let arguments = json!({ "function": "meta", "bytes": 1, "times": 3_000 });
    let params = json!({ "name": "hostile_host_functions-repeat", "arguments": arguments });
    let begun = Instant::now();
    let reply = client.request_with_meta("tools/call", params, json!({ "example.com/large": pieces })).await;
    // Rejected for its size, ended at a limit, or finished: each is right if it is quick.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    drop(reply);
    attacked.end(MAX_MEMORY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_site_opens_no_stream() {
    let server = Server::builder().guest("polite").start().await;
    let authority = server.url().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    for (path, site) in [("/sse", "cross-site"), ("/mcp", "cross-site"), ("/sse", "same-site")] {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {authority}\r\naccept: text/event-stream\r\nsec-fetch-site: {site}\r\n\
             sec-fetch-mode: cors\r\n\r\n"
        );
        let mut socket = send(&authority, &request, b"").await;
        let line = status_line(&mut socket).await;
        assert!(line.contains(" 403 "), "{path} from {site}: {line}");
    }
    let simple = post_head(&authority, &[("sec-fetch-site", "cross-site")], 2);
    let mut socket = send(&authority, &simple, b"{}").await;
    assert!(status_line(&mut socket).await.contains(" 403 "), "a form of another site");
}
