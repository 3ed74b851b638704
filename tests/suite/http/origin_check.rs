//! The HTTP endpoint checks Host, Origin, methods, headers and sizes before it reads a message.

use plugport_tests::http_client::{Client, STATELESS, stateless_meta};
use plugport_tests::server::Server;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn discover() -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": stateless_meta() } })
        .to_string()
}

async fn status(client: &Client, extra: &[(&str, &str)]) -> u16 {
    let mut headers = vec![("mcp-protocol-version", STATELESS), ("mcp-method", "server/discover")];
    headers.extend_from_slice(extra);
    client.post(&headers, discover()).await.status
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_rejected() {
    let config =
        "[server]\nallowed_origins = [\"https://app.example\"]\nallowed_hosts = [\"tools.example\"]\n";
    let server = Server::builder().guest("polite").config(config).start().await;
    let client = Client::new(server.url());
    for (headers, expected) in [
        (&[][..], 200),
        (&[("host", "localhost:1")], 200),
        (&[("host", "tools.example")], 200),
        (&[("host", "evil.example")], 403),
        (&[("origin", "http://localhost:3000")], 200),
        (&[("origin", "https://app.example")], 200),
        (&[("origin", "http://evil.example")], 403),
        (&[("origin", "null")], 403),
    ] {
        assert_eq!(status(&client, headers).await, expected, "{headers:?}");
    }
}

#[tokio::test]
async fn unsupported_forms_of_requests_have_their_own_status() {
    let server = Server::builder().guest("polite").config("[server]\nmessage_kib = 64\n").start().await;
    let client = Client::new(server.url());
    assert_eq!(status(&client, &[("content-type", "text/plain")]).await, 415);
    assert_eq!(status(&client, &[("content-encoding", "gzip")]).await, 415);
    assert_eq!(status(&client, &[("accept", "text/html")]).await, 406);
    assert_eq!(status(&client, &[("accept", "*/*")]).await, 200);
    assert_eq!(client.get().await, 405);
    assert_eq!(client.post(&[], "x".repeat(70_000)).await.status, 413);
    let events = client
        .post(
            &[
                ("mcp-protocol-version", STATELESS),
                ("mcp-method", "server/discover"),
                ("accept", "text/event-stream"),
            ],
            discover(),
        )
        .await;
    assert_eq!(
        (events.status, &events.headers["content-type"]),
        (200, &"text/event-stream".parse().unwrap())
    );
    assert!(events.result()["supportedVersions"].is_array());
}

#[tokio::test]
async fn headers_given_twice_are_rejected() {
    let server = Server::builder().guest("polite").start().await;
    let address = server.url().replace("http://", "").replace("/mcp", "");
    let body = discover();
    for (extra, expected) in [
        ("", "HTTP/1.1 200"),
        ("Origin: http://localhost\r\nOrigin: http://evil.example\r\n", "HTTP/1.1 403"),
        ("Host: evil.example\r\n", "HTTP/1.1 4"),
        ("Mcp-Method: tools/list\r\n", "HTTP/1.1 400"),
    ] {
        let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\nConnection: close\r\n\
             MCP-Protocol-Version: {STATELESS}\r\nMcp-Method: server/discover\r\n{extra}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        assert!(response.starts_with(expected), "{extra:?}: {response}");
    }
}
