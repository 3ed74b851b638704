//! HTTP requests of plugins: granted ones arrive, others are never sent, and no web server can harm this one.

use std::net::{IpAddr, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use plugport::config::HttpGrant;
use plugport_tests::bad_web_server::BadWebServer;
use plugport_tests::http_client::{Client, HttpResponse};
use plugport_tests::server::Server;
use serde_json::{Value, json};

use crate::grants::denied_without_grant::allowed_by;

/// A server with one guest that may reach `web`, beside a polite neighbour.
async fn serving(guest: &str, web: &BadWebServer, limits: &str) -> (Server, Client) {
    let config = format!("[plugins.{guest}]\nlimits = {{ {limits} }}\n{}", web.grant(guest));
    let server = Server::builder().guest("polite").guest(guest).config(&config).start().await;
    let client = Client::new(server.url());
    (server, client)
}

/// The guest and its neighbour still work, no connection is open, and the log has no panic.
async fn contained(server: &Server, client: &Client, guest: &str, web: &BadWebServer) {
    if guest.starts_with("hostile") {
        assert_eq!(client.call(&format!("{guest}-ok"), json!({})).await.tool_text(), "ok");
    }
    let echoed = client.call("polite-echo", json!({ "message": "still here" })).await;
    assert_eq!(echoed.tool_text(), "still here");
    web.wait_until_closed().await;
    let said = server.log();
    assert!(!said.contains("panicked at") && said.len() < 1 << 20, "{said}");
}

async fn fetch(client: &Client, url: &str) -> HttpResponse {
    client.call("http_client-fetch", json!({ "url": url })).await
}

fn lines(reply: &HttpResponse) -> Vec<String> {
    reply.tool_text().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_granted_request_arrives_as_it_was_made() {
    let web = BadWebServer::start().await;
    let (server, client) = serving("http_client", &web, "").await;
    let reply = fetch(&client, &web.url("/hello?x=1#top")).await;
    assert!(reply.tool_text().starts_with("200 "), "{reply:?}");
    let head = web.heads().concat().to_ascii_lowercase();
    assert!(head.starts_with("get /hello?x=1 http/1.1\r\n"), "{head}");
    assert!(
        head.contains(&format!("host: {}\r\n", web.authority())) && head.contains("accept: */*\r\n"),
        "{head}"
    );
    let arguments = json!({ "url": web.url("/"), "method": "POST", "body": "b".repeat(20_000) });
    let reply = client.call("http_client-fetch", arguments).await;
    assert!(reply.tool_text().contains("content-length: 20000"), "{reply:?}");
    contained(&server, &client, "http_client", &web).await;
}

#[tokio::test]
async fn without_a_grant_nothing_is_sent() {
    let (web, other) = (BadWebServer::start().await, BadWebServer::start().await);
    let config = format!(
        "[plugins.http_client.grants]\nhttp = [\"GET http://{}\", \"http://localhost.example:{}\"]\n",
        web.authority(),
        other.port(),
    );
    let none = Server::builder().guest("http_client").start().await;
    let reply = fetch(&Client::new(none.url()), &web.url("/")).await;
    assert!(reply.tool_error().contains("does not grant the request GET http://127.0.0.1"), "{reply:?}");
    let allow =
        format!("write under [plugins.http_client.grants]: http = [\"GET http://{}\"]", web.authority());
    none.wait_for_log(&allow).await;
    let of = |grant: &str, authority: &str| format!("http = [\"{grant}://{authority}\"]");
    assert_eq!(allowed_by(&none, "http_client", 1).await, [of("GET http", &web.authority())]);
    drop(none);

    let server = Server::builder().guest("http_client").config(&config).start().await;
    let client = Client::new(server.url());
    fetch(&client, &other.url("/")).await.tool_error();
    fetch(&client, &format!("http://localhost:{}/", web.port())).await.tool_error();
    server.wait_for_log(&format!("http = [\"GET http://127.0.0.1:{}\"]", web.port())).await;
    fetch(&client, &format!("https://{}/", web.authority())).await.tool_error();
    let posted = json!({ "url": web.url("/"), "method": "POST" });
    client.call("http_client-fetch", posted).await.tool_error();
    assert_eq!((web.accepted(), other.accepted()), (0, 0));
    let here = web.authority();
    let allow = [
        of("GET http", &other.authority()),
        of("GET http", &here),
        of("GET https", &here),
        of("POST http", &here),
    ];
    assert_eq!(allowed_by(&server, "http_client", 4).await, allow);
    assert!(fetch(&client, &web.url("/")).await.tool_text().starts_with("200 "));
}

/// A name that leads to this machine or its own network, and the address. Not `localhost`, which no grant can name.
fn name_of_this_machine() -> Option<(String, IpAddr)> {
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let lines = hosts.lines().map(|line| line.split('#').next().unwrap());
    let names = lines.flat_map(|line| line.split_whitespace().skip(1)).map(str::to_ascii_lowercase);
    names.filter(|name| HttpGrant::parse(&format!("http://{name}")).is_ok()).find_map(|name| {
        let addresses = (name.as_str(), 80).to_socket_addrs().ok()?.map(|address| address.ip());
        let inner = |address: &IpAddr| match address {
            IpAddr::V4(address) => address.is_loopback() || address.is_private(),
            IpAddr::V6(address) => address.is_loopback() || address.is_unique_local(),
        };
        let address = addresses.into_iter().find(inner)?;
        Some((name, address))
    })
}

#[tokio::test]
async fn a_name_that_resolves_to_this_machine_is_denied() {
    let Some((name, address)) = name_of_this_machine() else {
        // The unit tests of `capability::http::egress` show the same with a resolver of their own.
        eprintln!("skipped: /etc/hosts has no name but `localhost` that leads to this machine");
        return;
    };
    let web = BadWebServer::start().await;
    let config = format!("[plugins.http_client.grants]\nhttp = [\"http://{name}:{}\"]\n", web.port());
    let server = Server::builder().guest("http_client").config(&config).start().await;
    let reply = fetch(&Client::new(server.url()), &format!("http://{name}:{}/", web.port())).await;
    assert!(reply.tool_error().contains("address that is not public"), "{name} {address}: {reply:?}");
    assert_eq!(web.accepted(), 0);
    let allowed = allowed_by(&server, "http_client", 1).await;
    assert!(allowed.len() == 1 && allowed[0].contains(&address.to_string()), "{address}: {allowed:?}");
}

#[tokio::test]
async fn a_host_without_a_valid_certificate_gets_no_request() {
    let web = BadWebServer::start().await;
    let config = format!("[plugins.http_client.grants]\nhttp = [\"https://{}\"]\n", web.authority());
    let server = Server::builder().guest("http_client").config(&config).start().await;
    let reply = fetch(&Client::new(server.url()), &format!("https://{}/", web.authority())).await;
    assert!(reply.tool_error().contains("did not prove who it is, or does not speak TLS"), "{reply:?}");
    assert!(web.heads().iter().all(|head| !head.contains("HTTP/1.1")), "{:?}", web.heads());
}

#[tokio::test]
async fn the_plugin_fetch_reads_a_page_as_markdown() {
    let web = BadWebServer::start().await;
    let server = Server::builder().plugin("fetch").config(&web.grant("fetch")).start().await;
    server.wait_for_log(&format!("may send HTTP requests: http://{}", web.authority())).await;
    let client = Client::new(server.url());
    let read = async |url: String| client.call("fetch-fetch", json!({ "url": url })).await;
    let page = read(web.url("/redirect?/html")).await;
    assert_eq!(page.tool_text(), "# Title\n\nSome **bold** text and a [link](/next).");
    assert!(read(web.url("/gzip")).await.tool_error().contains("compressed (gzip)"));
    assert!(read(web.url("/loop")).await.tool_error().contains("redirects more than 3 times"));
    let denied = read("https://example.com/".to_owned()).await;
    let told = denied.tool_error();
    assert!(told.contains("https://example.com are not granted") && !told.contains("http ="), "{told}");
    server.wait_for_log("write under [plugins.fetch.grants]: http = [\"GET https://example.com\"]").await;
}

#[tokio::test]
async fn hostile_ssrf_literals() {
    let web = BadWebServer::start().await;
    let config = "[plugins.hostile_ssrf_literals]\nlimits = { wall_ms = 60_000 }\n\
                  [plugins.hostile_ssrf_literals.grants]\nhttp = [\"https://*.example.com\", \"http://allowed.test\"]\n";
    let server =
        Server::builder().guest("polite").guest("hostile_ssrf_literals").config(config).start().await;
    let client = Client::new(server.url());
    let own: u16 = server.url().split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
    for port in [web.port(), own] {
        let reply = client.call("hostile_ssrf_literals-probe", json!({ "port": port })).await;
        for line in lines(&reply) {
            let (_, outcome) = line.split_once(' ').unwrap();
            let expected =
                ["HttpRequestDenied", "HttpRequestUriInvalid", "authority refused", "HttpProtocolError"];
            assert!(expected.contains(&outcome), "{line}");
        }
    }
    assert_eq!(web.accepted(), 0);
    contained(&server, &client, "hostile_ssrf_literals", &web).await;
    let denied = server.log().matches("was denied").count();
    assert!((1..=32).contains(&denied), "{denied} lines of denials");
}

#[tokio::test]
async fn hostile_ssrf_redirect() {
    let (web, canary) = (BadWebServer::start().await, BadWebServer::start().await);
    let (server, client) = serving("hostile_ssrf_redirect", &web, "").await;
    for to in [
        canary.url("/"),
        format!("https://{}/", web.authority()),
        format!("http://localhost:{}/", web.port()),
        format!("http://2130706433:{}/", web.port()),
        format!("http://{}@{}/", web.authority(), canary.authority()),
        format!("http://{}%2f@{}/", web.authority(), canary.authority()),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "gopher://127.0.0.1/".to_owned(),
    ] {
        let url = web.url(&format!("/redirect?{to}"));
        let reply = client.call("hostile_ssrf_redirect-follow", json!({ "url": url })).await;
        let told = reply.tool_text();
        assert!(told.starts_with("1 hops") && !told.contains("status"), "{to}: {told}");
    }
    assert_eq!(canary.accepted(), 0);
    let before = web.accepted();
    let reply = client.call("hostile_ssrf_redirect-follow", json!({ "url": web.url("/loop") })).await;
    assert!(
        reply.tool_text().starts_with("16 hops") && reply.tool_text().contains("`http_requests`"),
        "{reply:?}"
    );
    assert_eq!(web.accepted() - before, 16);
    contained(&server, &client, "hostile_ssrf_redirect", &web).await;
}

#[tokio::test]
async fn hostile_absolute_form() {
    let (web, canary) = (BadWebServer::start().await, BadWebServer::start().await);
    let (server, client) = serving("hostile_absolute_form", &web, "http_requests = 100").await;
    let arguments = json!({ "authority": web.authority(), "other": canary.authority() });
    let reply = client.call("hostile_absolute_form-tricks", arguments).await;
    for line in lines(&reply) {
        let fails = !line.contains("status") && !line.contains("Ok(");
        let harmless =
            ["path \"//", "path \"\"", "path \"?query\""].iter().any(|begin| line.starts_with(begin));
        assert!(fails || harmless, "{line}");
    }
    assert_eq!(canary.accepted(), 0);
    for head in web.heads() {
        let head = head.to_ascii_lowercase();
        let first = head.lines().next().unwrap();
        assert!(first.starts_with("get /") && first.ends_with(" http/1.1"), "{head}");
        assert_eq!(head.matches("host:").count(), 1, "{head}");
        assert!(head.contains(&format!("\r\nhost: {}\r\n", web.authority())), "{head}");
        assert!(!head.contains("smuggled"), "{head}");
    }
    contained(&server, &client, "hostile_absolute_form", &web).await;
}

async fn pull(client: &Client, web: &BadWebServer, path: &str) -> String {
    let arguments = json!({ "authority": web.authority(), "path": path });
    client.call("hostile_http_bomb-pull", arguments).await.tool_text().to_owned()
}

#[tokio::test]
async fn hostile_http_bomb() {
    let web = BadWebServer::start().await;
    // Without optimisation, the 8 MiB of a response take more than a second.
    let (server, client) = serving("hostile_http_bomb", &web, "http_ms = 4000").await;
    let (files, memory) = (server.open_files(), server.rss());
    let endless = pull(&client, &web, "/endless").await;
    assert!(endless.ends_with("HttpResponseBodySize(Some(8388608))"), "{endless}");
    let begun = Instant::now();
    let drip = pull(&client, &web, "/drip").await;
    assert!(drip.starts_with("200 ") && drip.ends_with("HttpResponseTimeout"), "{drip}");
    assert_eq!(pull(&client, &web, "/silent").await, "HttpResponseTimeout");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(pull(&client, &web, "/headers").await, "HttpResponseHeaderSectionSize(None)");
    assert_eq!(pull(&client, &web, "/interim").await, "HttpResponseHeaderSectionSize(None)");
    assert_eq!(pull(&client, &web, "/gzip").await, "200 100000 end", "nothing is unpacked");
    assert!(pull(&client, &web, "/short").await.starts_with("200 "));
    assert_eq!(pull(&client, &web, "/upgrade").await, "HttpUpgradeFailed");
    assert_eq!(pull(&client, &web, "/garbage").await, "HttpProtocolError");
    for limit in ["limit `http_response_kib`", "limit `http_ms`", "header fields of more than 16 KiB"] {
        server.wait_for_log(limit).await;
    }
    let arguments = json!({ "authority": web.authority(), "path": "/silent" });
    let impatient = client.call("hostile_http_bomb-impatient", arguments).await;
    assert!(impatient.tool_text().contains("Timeout"), "{impatient:?}");
    contained(&server, &client, "hostile_http_bomb", &web).await;
    assert!(server.open_files() <= files + 3, "{files} files, then {}", server.open_files());
    assert!(server.rss() < memory + (32 << 20), "{memory} bytes, then {}", server.rss());
}

#[tokio::test]
async fn of_ten_thousand_requests_four_run_at_once() {
    let web = BadWebServer::start().await;
    let (server, client) = serving("hostile_http_bomb", &web, "http_ms = 1500, cpu_ms = 20_000").await;
    let arguments = |path: &str| json!({ "authority": web.authority(), "path": path, "count": 10_000 });
    let reply = client.call("hostile_http_bomb-parallel", arguments("/")).await;
    let told = reply.tool_text();
    assert!(told.contains("status 200 16") && told.contains("ConnectionLimitReached"), "{told}");
    assert_eq!(web.accepted(), 16);
    contained(&server, &client, "hostile_http_bomb", &web).await;
    let reply = client.call("hostile_http_bomb-parallel", arguments("/silent")).await;
    assert!(reply.tool_text().contains("HttpResponseTimeout 16"), "{reply:?}");
    contained(&server, &client, "hostile_http_bomb", &web).await;
}

#[tokio::test]
async fn an_unfinished_request_ends_with_its_call() {
    let web = BadWebServer::start().await;
    let (server, client) = serving("hostile_http_bomb", &web, "http_ms = 60_000").await;
    let arguments = json!({ "authority": web.authority(), "path": "/silent" });
    for _ in 0..3 {
        client.call("hostile_http_bomb-forget", arguments.clone()).await.tool_text();
        contained(&server, &client, "hostile_http_bomb", &web).await;
    }
    // The same when the call is cancelled.
    let config = format!("[plugins.http_client]\nlimits = {{ wall_ms = 300 }}\n{}", web.grant("http_client"));
    drop(server);
    let server = Server::builder().guest("polite").guest("http_client").config(&config).start().await;
    let client = Client::new(server.url());
    let reply = fetch(&client, &web.url("/silent")).await;
    assert!(
        reply.tool_error().contains("(limit `wall_ms`)"),
        "waiting for a host is the plugin's time: {reply:?}"
    );
    contained(&server, &client, "http_client", &web).await;
}

#[tokio::test]
async fn hostile_header_fields() {
    let web = BadWebServer::start().await;
    // 20,000 rejected fields take a server without optimisation most of a second.
    let (server, client) = serving("hostile_header_fields", &web, "cpu_ms = 5000").await;
    let memory = server.rss();
    let too_long = "HTTP header fields of more than 16 KiB";
    for (tool, expected) in [("append", too_long), ("list", too_long), ("many", "was stopped")] {
        let reply = client.call(&format!("hostile_header_fields-{tool}"), json!({})).await;
        assert!(reply.tool_error().contains(expected), "{tool}: {reply:?}");
    }
    let reply = client.call("hostile_header_fields-texts", json!({})).await;
    let kept_none = |reply: &Value| reply.to_string().contains("0 taken of 200");
    assert!(kept_none(reply.result()) || reply.tool_error().contains("was stopped"), "{reply:?}");
    assert!(server.rss() < memory + (96 << 20), "{memory} bytes, then {}", server.rss());
    let reply = client.call("hostile_header_fields-wrong", json!({})).await;
    assert_eq!(reply.tool_text(), "20000 refused");
    assert!(server.log().len() < 100_000, "{} bytes of log", server.log().len());
    contained(&server, &client, "hostile_header_fields", &web).await;
}

#[tokio::test]
async fn hostile_empty_writes() {
    let web = BadWebServer::start().await;
    let (server, client) = serving("hostile_empty_writes", &web, "http_ms = 2000, wall_ms = 6000").await;
    let memory = server.rss();
    for waits in [false, true] {
        let arguments = json!({ "authority": web.authority(), "waits": waits });
        let reply = client.call("hostile_empty_writes-nothing", arguments).await;
        let told = reply.result()["content"][0]["text"].as_str().unwrap();
        assert!(told.contains("was stopped: ") || told.contains("Timeout"), "{told}");
    }
    let arguments = json!({ "authority": web.authority(), "bytes": 3 << 20 });
    let reply = client.call("hostile_empty_writes-flood", arguments).await;
    assert_eq!(reply.tool_text(), "HttpRequestBodySize(Some(1048576))");
    assert!(server.rss() < memory + (32 << 20), "{memory} bytes, then {}", server.rss());
    contained(&server, &client, "hostile_empty_writes", &web).await;
}
