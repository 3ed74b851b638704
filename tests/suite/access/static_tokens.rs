//! Tokens of the configuration: who gets in, what the guest and the audit learn, and how a token is taken away.

use std::time::{Duration, Instant};

use plugport_tests::http_client::{Client, LEGACY};
use plugport_tests::raw_http::RawConnection;
use plugport_tests::server::{Server, program};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{ADA, BOB, as_caller, both, check_token, section};

/// How long a changed configuration may take until it holds.
const RELOAD: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn only_a_caller_with_a_token_gets_in() {
    let server = Server::builder().guest("polite").config(&both()).start().await;
    let stranger = Client::new(server.url()).request("tools/list", json!({})).await;
    assert_eq!(stranger.status, 401);
    let challenge = stranger.headers["www-authenticate"].to_str().unwrap();
    assert!(challenge.starts_with("Bearer") && !challenge.contains("error="), "{challenge}");
    let guess = as_caller(&server, "plugport_guess").request("tools/list", json!({})).await;
    assert_eq!(guess.status, 401);
    assert!(guess.headers["www-authenticate"].to_str().unwrap().contains("error=\"invalid_token\""));
    let listed = as_caller(&server, ADA).request("tools/list", json!({})).await;
    assert_eq!((listed.status, &listed.result()["cacheScope"]), (200, &json!("private")));
    let failures = server.wait_for_audit("unauthenticated", 1).await;
    assert_eq!(failures.len(), 1, "a guess has a line, and a client that has no token yet has none");
    assert!(!server.log().contains("plugport_guess") && !failures[0].to_string().contains("guess"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_method_of_http_needs_the_token() {
    let server = Server::builder().guest("polite").config(&both()).start().await;
    let session = as_caller(&server, ADA).session(LEGACY).await;
    let stranger = Client::new(server.url());
    let headers = [("mcp-session-id", session.id.as_str()), ("accept", "text/event-stream")];
    for method in [reqwest::Method::GET, reqwest::Method::DELETE, reqwest::Method::POST, reqwest::Method::PUT]
    {
        assert_eq!(stranger.status_of(method.clone(), &headers).await, 401, "{method}");
    }
    let base = server.url().trim_end_matches("/mcp").to_owned();
    for path in ["/sse", "/messages?sessionId=1", "/nothing", &format!("/mcp?access_token={ADA}")] {
        let at = stranger.at(format!("{base}{path}"));
        assert_eq!(at.status_of(reqwest::Method::GET, &headers).await, 401, "{path}");
        assert_eq!(at.post(&[], "{}").await.status, 401, "{path}");
    }
    assert!(session.request("tools/list", json!({})).await.status == 200, "the session goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_credentials_are_told_apart_from_wrong_ones() {
    let server = Server::builder().guest("polite").config(&both()).start().await;
    let client = Client::new(server.url());
    let status = async |values: &[&str]| {
        let headers: Vec<_> = values.iter().map(|value| ("authorization", *value)).collect();
        client.post(&headers, "{}").await.status
    };
    let ada = format!("Bearer {ADA}");
    assert_eq!(status(&[&ada, &ada]).await, 400, "twice");
    assert_eq!(status(&["Bearer a b"]).await, 400);
    assert_eq!(status(&["Bearer"]).await, 400);
    assert_eq!(status(&["Basic dXNlcjpwYXNz"]).await, 401);
    assert_eq!(status(&[&format!("Bearer {}", "a".repeat(20_000))]).await, 401);
    assert_eq!(
        status(&[&format!("bearer {ADA}")]).await,
        400,
        "the body is no message, and the token is right"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guest_and_the_audit_learn_who_called_and_never_the_token() {
    let server = Server::builder().guest("polite").config(&both()).start().await;
    for (name, token) in [("token:ada", ADA), ("token:bob", BOB)] {
        let said = as_caller(&server, token).call("polite-whoami", json!({})).await;
        assert_eq!(said.result()["structuredContent"]["principal"], name, "{said:?}");
        assert!(!said.text.contains(token));
    }
    let is_clients = |line: &Value| line["event"] == "call" && line["caller"] != "server";
    let calls = server.wait_for_audit_lines(is_clients, 2).await;
    let callers: Vec<_> = calls.iter().map(|line| line["caller"].as_str().unwrap()).collect();
    assert_eq!(callers, ["token:ada", "token:bob"]);
    let audit = std::fs::read_to_string(server.state().join("audit.jsonl")).unwrap();
    for token in [ADA, BOB] {
        assert!(!audit.contains(token) && !server.log().contains(token));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_connection_stays_usable_or_says_that_it_closes() {
    let server = Server::builder().guest("polite").config(&both()).start().await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    for size in [0, 1_000, 60_000, 300_000, 8 << 20] {
        let mut connection = RawConnection::to(&server.url()).await;
        let padding = " ".repeat(size);
        let length = body.len() + size;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\r\n"
        );
        for attempt in 0..3 {
            connection.send(format!("{head}{body}{padding}")).await;
            let response = connection.response().await;
            assert_eq!(response.status, 401, "{size} {attempt}: {response:?}");
            if response.closes_connection() {
                assert!(connection.is_closed().await, "{size}");
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_removed_ends_at_once_and_its_stream_with_it() {
    let server = Server::builder().guest("polite").config(&both()).start().await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let (of_ada, of_bob) = (ada.session(LEGACY).await, bob.session(LEGACY).await);
    let (mut stream, mut other) = (of_ada.listen(None).await, of_bob.listen(None).await);
    assert_eq!((stream.status, other.status), (200, 200));
    std::fs::write(server.folder().join("plugport.toml"), section("bob", BOB, "")).unwrap();
    let ended = tokio::time::timeout(RELOAD, async { while stream.event().await.is_some() {} }).await;
    assert!(ended.is_ok(), "the stream went on:\n{}", server.log());
    assert_eq!(ada.request("tools/list", json!({})).await.status, 401);
    assert_eq!(of_bob.request("tools/list", json!({})).await.status, 200);
    let still =
        tokio::time::timeout(Duration::from_millis(500), async { while other.event().await.is_some() {} });
    assert!(still.await.is_err(), "the other stream ended too");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_expires() {
    let past = section("ada", ADA, "until = 2020-01-01") + &section("bob", BOB, "until = 2100-01-01");
    let server = Server::builder().guest("polite").config(&past).start().await;
    let expired = as_caller(&server, ADA).request("tools/list", json!({})).await;
    assert_eq!(expired.status, 401);
    assert!(expired.headers["www-authenticate"].to_str().unwrap().contains("expired"), "{expired:?}");
    assert_eq!(as_caller(&server, BOB).request("tools/list", json!({})).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn anonymous_callers_can_be_let_in_beside_the_others() {
    for (anonymous, status) in [("deny", 401), ("loopback", 200), ("allow", 200)] {
        let config = format!("[auth]\nanonymous = \"{anonymous}\"\n{}", both());
        let server = Server::builder().guest("polite").config(&config).start().await;
        let nobody = Client::new(server.url()).call("polite-whoami", json!({})).await;
        assert_eq!(nobody.status, status, "{anonymous}");
        if status == 200 {
            assert_eq!(nobody.result()["structuredContent"]["principal"], json!(null));
        }
        let forwarded = Client::new(server.url()).post(&[("x-forwarded-for", "192.0.2.1")], "{}").await;
        assert_eq!(forwarded.status == 401, anonymous != "allow", "a proxy's client is not on this machine");
        assert_eq!(as_caller(&server, "wrong").request("tools/list", json!({})).await.status, 401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_made_used_and_checked_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["token", "new", "ci", "--group", "build", "--until", "2100-01-01"];
    let made = Command::from(program()).args(arguments).output().await.unwrap();
    let (token, section) = (String::from_utf8(made.stdout).unwrap(), String::from_utf8(made.stderr).unwrap());
    let token = token.trim();
    let section = section.as_str();
    assert!(token.starts_with("plugport_") && token.len() > 40 && !section.contains(token));
    let server = Server::builder().guest("polite").config(section).start().await;
    let said = as_caller(&server, token).call("polite-whoami", json!({})).await;
    assert_eq!(said.result()["structuredContent"]["principal"], "token:ci");
    let file = folder.path().join("plugport.toml");
    std::fs::write(&file, section).unwrap();
    for (token, code, text) in [(token, 0, "token:ci"), ("plugport_other", 1, "refused: ")] {
        let (exit, said) = check_token(&file, token).await;
        assert!(exit == Some(code) && said.contains(text), "{said}");
        assert!(!said.contains(token), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rates_count_principals_and_not_addresses() {
    let config = format!("[server]\ncaller_calls_per_second = 5\n{}", both());
    let server = Server::builder().guest("polite").config(&config).start().await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let begun = Instant::now();
    let mut rejected = 0;
    while begun.elapsed() < Duration::from_millis(500) {
        rejected += usize::from(
            ada.call("polite-echo", json!({ "message": "x" })).await.text.contains("caller_calls_per_second"),
        );
    }
    assert!(rejected > 0, "nobody was held back");
    let neighbour = bob.call("polite-echo", json!({ "message": "hello" })).await;
    assert_eq!(neighbour.tool_text(), "hello");
}
