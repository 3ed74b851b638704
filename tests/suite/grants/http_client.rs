//! The interface `http-client`: several requests at once, bodies in pieces, denials with their line, and guests that
//! abuse it. What both interfaces for HTTP share is in `outgoing_http`, whose guest `http_client` uses this one too.

use std::time::{Duration, Instant};

use plugport_tests::bad_web_server::BadWebServer;
use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::json;

async fn serving(guest: &str, web: &BadWebServer, limits: &str) -> (Server, Client) {
    let config = format!("[plugins.{guest}]\nlimits = {{ {limits} }}\n{}", web.grant(guest));
    let server = Server::builder().guest(guest).config(&config).start().await;
    let client = Client::new(server.url());
    (server, client)
}

#[tokio::test]
async fn several_requests_are_under_way_at_once_and_the_others_wait_for_their_turn() {
    let web = BadWebServer::start().await;
    let (_server, client) = serving("http_client", &web, "http_ms = 1500, http_parallel = 3").await;
    let urls = [&["/silent"; 3][..], &["/"; 2]].concat();
    let urls: Vec<_> = urls.into_iter().map(|path| web.url(path)).collect();
    let begun = Instant::now();
    let reply = client.call("http_client-together", json!({ "urls": urls })).await;
    let lines: Vec<_> = reply.tool_text().lines().collect();
    let (silent, answered) = lines.split_at(3);
    // On a busy machine one of them may have its turn so late that its time is over by then.
    let late = ["`http_ms`", "`http_parallel`"]
        .map(|limit| format!("the request is beyond what this server allows (limit {limit})"));
    assert!(silent.iter().all(|line| late.iter().any(|late| line == late)), "{lines:?}");
    assert_eq!(answered, ["200", "200"]);
    // One after the other would take 4.5 s.
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let without_turn = silent.iter().filter(|line| line.contains("http_parallel")).count();
    assert_eq!(web.accepted(), 5 - without_turn);
    web.wait_until_closed().await;
}

#[tokio::test]
async fn bodies_are_written_and_read_in_pieces() {
    let web = BadWebServer::start().await;
    let (_server, client) = serving("http_client", &web, "").await;
    for (length, expected) in [(None, "transfer-encoding: chunked"), (Some(10), "content-length: 10")] {
        let arguments = json!({ "url": web.url("/"), "pieces": ["hello", "world"], "length": length });
        let reply = client.call("http_client-upload", arguments).await;
        assert_eq!(reply.tool_text(), "200 hello");
        let heads = web.heads();
        let head = heads.last().unwrap().to_ascii_lowercase();
        assert!(head.starts_with("post / http/1.1\r\n") && head.contains(expected), "{head}");
    }
    web.wait_until_closed().await;
}

#[tokio::test]
async fn a_denial_carries_the_line_that_would_allow_the_request() {
    let web = BadWebServer::start().await;
    let (server, client) = serving("http_client", &web, "").await;
    let line = r#"http = ["GET https://example.com:8443"]"#;
    let arguments = json!({ "url": "https://example.com:8443/x?secret" });
    let reply = client.call("http_client-missing_line", arguments).await;
    assert_eq!(reply.tool_text(), format!("GET https://example.com:8443 needs {line}"));
    server.wait_for_log(&format!("write under [plugins.http_client.grants]: {line}")).await;
}

#[tokio::test]
async fn hostile_http_client() {
    let web = BadWebServer::start().await;
    let (server, client) = serving("hostile_http_client", &web, "http_ms = 1500, cpu_ms = 20_000").await;
    let (files, memory) = (server.open_files(), server.rss());
    let call =
        async |tool: &str, arguments| client.call(&format!("hostile_http_client-{tool}"), arguments).await;
    // Four hold a connection each until the guest reads them, twelve wait in vain, and no more may begin.
    let reply = call("hoard", json!({ "url": web.url("/endless"), "count": 10_000 })).await;
    let told = reply.tool_text();
    assert!(told.starts_with("16 begun, 4 answered") && told.contains("http_parallel"), "{told}");
    assert!(told.contains("http_requests"), "{told}");
    web.wait_until_closed().await;
    let reply = call("crowd", json!({ "url": web.url("/silent"), "count": 100_000 })).await;
    assert!(reply.tool_error().contains("it holds more than 1024 handles"), "{reply:?}");
    let reply = call("flood", json!({ "url": web.url("/silent") })).await;
    assert!(reply.tool_text().contains("http_request_kib"), "{reply:?}");
    let reply = call("texts", json!({ "url": web.url("/") })).await;
    assert_eq!(reply.tool_text(), "invalid, invalid, http_header_kib");
    assert_eq!(call("ok", json!({})).await.tool_text(), "ok");
    web.wait_until_closed().await;
    assert!(server.open_files() <= files + 3, "{files} files, then {}", server.open_files());
    assert!(server.rss() < memory + (64 << 20), "{memory} bytes, then {}", server.rss());
    let log = server.log();
    assert!(!log.contains("panicked at") && log.len() < 1 << 20, "{log}");
}
