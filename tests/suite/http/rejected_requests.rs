//! HTTP requests that are rejected before they are read: each response says why, and the connection stays usable or
//! says that it closes.

use std::time::{Duration, Instant};

use plugport_tests::http_client::{Client, STATELESS, stateless_meta};
use plugport_tests::raw_http::RawConnection;
use plugport_tests::server::Server;
use serde_json::{Value, json};

/// A request with these header lines besides `Host`, and a body with its `Content-Length`.
fn request(line: &str, header: &str, body: &str) -> String {
    let length = body.len();
    format!("{line} HTTP/1.1\r\nHost: localhost\r\n{header}Content-Length: {length}\r\n\r\n{body}")
}

const JSON: &str = "Content-Type: application/json\r\n";

/// The header of a message of the stateless revision.
fn discovering() -> String {
    format!("{JSON}Accept: */*\r\nMCP-Protocol-Version: {STATELESS}\r\nMcp-Method: server/discover\r\n")
}

fn discover(id: &str) -> String {
    let params = json!({ "_meta": stateless_meta() });
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"server/discover","params":{params}}}"#)
}

fn good() -> String {
    request("POST /mcp", &discovering(), &discover("1"))
}

#[tokio::test]
async fn a_connection_can_be_used_after_every_rejection() {
    let server = Server::builder().guest("polite").start().await;
    let mut socket = RawConnection::to(&server.url()).await;
    let body = "x".repeat(20_000);
    let chunked = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n\
                   5\r\nhello\r\n0\r\n\r\n";
    let session = "Mcp-Session-Id: 0123456789abcdef0123456789abcdef\r\n";
    for (status, rejected) in [
        (403, request("POST /mcp", &format!("{JSON}Origin: http://evil.example\r\n"), &body)),
        (403, request("GET /mcp", "Origin: null\r\n", &body)),
        (404, request("GET /nowhere", "", &body)),
        (404, request("DELETE /mcp", session, &body)),
        (405, request("PUT /mcp", JSON, &body)),
        (405, request("GET /mcp", "", &body)),
        (405, request("POST /sse", JSON, &body)),
        (405, request("GET /messages", "", "")),
        (406, request("POST /mcp", &format!("{JSON}Accept: text/html\r\n"), &body)),
        (415, request("POST /mcp", "Content-Type: text/plain\r\n", &body)),
        (415, request("POST /messages", "Content-Type: text/plain\r\n", &body)),
        (415, request("POST /mcp", &format!("{JSON}Content-Encoding: gzip\r\n"), &body)),
        (415, chunked.to_owned()),
        (400, request("POST /mcp", JSON, &body)),
        (400, request("POST /messages", JSON, &body)),
    ] {
        // Header and body at once, like a client that does not wait for 100.
        socket.send(rejected.clone() + &good()).await;
        let response = socket.response().await;
        assert_eq!(response.status, status, "{rejected:.60}: {response:?}");
        assert!(!response.closes_connection() && response.body.len() > 10, "{rejected:.60}: {response:?}");
        assert_eq!(response.head.contains("\r\nallow: "), status == 405, "{response:?}");
        let response = socket.response().await;
        assert_eq!(response.status, 200, "after {rejected:.60}: {response:?}");
    }
}

#[tokio::test]
async fn a_method_that_no_path_has_is_told_which_there_are() {
    let server = Server::builder().guest("polite").start().await;
    for method in ["HEAD", "OPTIONS", "PATCH", "TRACE"] {
        for (path, allowed) in [("/mcp", "post, get, delete"), ("/sse", "get"), ("/messages", "post")] {
            let mut socket = RawConnection::to(&server.url()).await;
            socket.send(request(&format!("{method} {path}"), "Connection: close\r\n", "")).await;
            let response = String::from_utf8(socket.rest().await).unwrap().to_ascii_lowercase();
            let (head, body) = response.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("http/1.1 405 "), "{method} {path}: {response}");
            assert!(format!("{head}\r\n").contains(&format!("\r\nallow: {allowed}\r\n")), "{response}");
            assert_eq!(body.is_empty(), method == "HEAD", "{method} {path}: {response}");
        }
    }
}

/// RFC 9110, 8.6.
#[tokio::test]
async fn a_response_without_content_has_no_length() {
    let server = Server::builder().guest("polite").start().await;
    let session = Client::new(server.url()).session("2025-11-25").await;
    let mut socket = RawConnection::to(&server.url()).await;
    let header = format!("Mcp-Session-Id: {}\r\n", session.id);
    socket.send(request("DELETE /mcp", &header, "")).await;
    let response = socket.response().await;
    assert!(response.status == 204 && !response.head.contains("content-length"), "{response:?}");
    socket.send(good()).await;
    assert_eq!(socket.response().await.status, 200);
}

#[tokio::test]
async fn a_connection_that_ends_with_a_rejection_says_so() {
    let server = Server::builder().guest("polite").config("[server]\nmessage_kib = 64\n").start().await;
    let large = "x".repeat(200_000);
    for (status, sent) in [
        (415, request("POST /mcp", "Content-Type: text/plain\r\n", &large)),
        (413, request("POST /mcp", JSON, &large)),
        (404, request("POST /nowhere", JSON, &large)),
        // The server responds before the body has come, also to a client that waits for 100.
        (413, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n".into()),
        (
            413,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n\
             Content-Length: 70000\r\n\r\n"
                .into(),
        ),
        (
            415,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nExpect: 100-continue\r\n\
             Content-Length: 10\r\n\r\n"
                .into(),
        ),
        // The rest of this body never comes.
        (415, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nx".into()),
    ] {
        let (mut socket, begun) = (RawConnection::to(&server.url()).await, Instant::now());
        socket.send(&sent).await;
        let response = socket.response().await;
        assert_eq!((response.status, response.closes_connection()), (status, true), "{sent:.60}: {response:?}");
        assert!(begun.elapsed() < Duration::from_secs(20), "it was waited for what never came: {sent:.60}");
        assert!(socket.is_closed().await, "{sent:.60}");
    }
}

#[tokio::test]
async fn expect_100_continue_is_answered() {
    let server = Server::builder().guest("polite").start().await;
    let mut socket = RawConnection::to(&server.url()).await;
    let body = discover("1");
    let length = body.len();
    let head = discovering();
    socket
        .send(format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{head}Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
        ))
        .await;
    assert_eq!(socket.response().await.status, 100);
    socket.send(body).await;
    let response = socket.response().await;
    assert_eq!((response.status, response.closes_connection()), (200, false), "{response:?}");
}

#[tokio::test]
async fn cross_site_requests_are_rejected() {
    let server = Server::builder().guest("polite").start().await;
    let mut socket = RawConnection::to(&server.url()).await;
    for line in ["GET /sse", "GET /mcp", "POST /mcp", "DELETE /mcp", "POST /messages?sessionId=x", "GET /"] {
        for site in ["cross-site", "same-site"] {
            let header =
                format!("{JSON}Accept: */*\r\nSec-Fetch-Site: {site}\r\nSec-Fetch-Mode: no-cors\r\n");
            socket.send(request(line, &header, "")).await;
            let response = socket.response().await;
            assert_eq!(response.status, 403, "{line} {site}: {response:?}");
        }
    }
    for header in ["Sec-Fetch-Site: same-origin\r\n", "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\n"]
    {
        socket.send(request("POST /mcp", &(discovering() + header), &discover("1"))).await;
        assert_eq!(socket.response().await.status, 200, "{header}");
    }
}

#[tokio::test]
async fn a_target_may_name_its_host_and_end_with_a_slash() {
    let server = Server::builder().guest("polite").start().await;
    let mut socket = RawConnection::to(&server.url()).await;
    for (target, host, status) in [
        ("/mcp/", "Host: localhost\r\n", 200),
        ("/mcp//", "Host: localhost\r\n", 404),
        ("http://localhost/mcp", "Host: localhost\r\n", 200),
        ("http://127.0.0.1:7584/mcp/", "", 200),
        // The target takes precedence over `Host` (RFC 9112, 3.2.2).
        ("http://localhost/mcp", "Host: evil.example\r\n", 200),
        ("http://evil.example/mcp", "Host: localhost\r\n", 403),
        ("http://evil.example/mcp", "", 403),
        ("http://me@localhost/mcp", "Host: localhost\r\n", 403),
        ("/mcp", "", 403),
    ] {
        let (header, body) = (discovering(), discover("1"));
        let length = body.len();
        socket
            .send(format!("POST {target} HTTP/1.1\r\n{host}{header}Content-Length: {length}\r\n\r\n{body}"))
            .await;
        let response = socket.response().await;
        assert_eq!(response.status, status, "{target} {host}: {response:?}");
    }
}

#[tokio::test]
async fn an_id_is_any_whole_number_of_json() {
    let server = Server::builder().guest("polite").start().await;
    let mut socket = RawConnection::to(&server.url()).await;
    for (sent, returned) in [
        ("1.0", "1"),
        ("-7", "-7"),
        ("9223372036854775808", "9223372036854775808"),
        ("18446744073709551616", "18446744073709551616"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ] {
        socket.send(request("POST /mcp", &discovering(), &discover(sent))).await;
        let response = socket.response().await;
        let begins = format!(r#"{{"jsonrpc":"2.0","id":{returned},"result":"#);
        assert!(response.status == 200 && response.body.starts_with(&begins), "{sent}: {response:?}");
    }
    socket.send(request("POST /mcp", &discovering(), r#"{"jsonrpc":"2.0","id":7,"method":5}"#)).await;
    let response = socket.response().await;
    let told: Value = serde_json::from_str(&response.body).unwrap();
    assert_eq!((response.status, &told["id"], &told["error"]["code"]), (400, &json!(7), &json!(-32600)));
}
