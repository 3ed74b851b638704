//! `/metrics`, `/health` and `/ready`: what they count, what they never show, and that no client holds them up.

use std::process::Stdio;
use std::time::{Duration, Instant};

use plugport_tests::build::root;
use plugport_tests::guests::guest;
use plugport_tests::http_client::{Client, LEGACY};
use plugport_tests::prometheus;
use plugport_tests::prometheus_text::Scrape;
use plugport_tests::raw_http::RawConnection;
use plugport_tests::raw_post::{call_body, call_headers, post_head};
use plugport_tests::reload::{install_bytes, wait_for_result};
use plugport_tests::server::{Server, program};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::process::Command;

pub(super) const TELEMETRY: &str = "[telemetry]\nlisten = \"127.0.0.1:0\"\n";

/// The address of the listener, as the server printed it.
fn address(server: &Server) -> String {
    let log = server.log();
    let line = log.lines().find_map(|line| line.strip_prefix("serving metrics at http://")).unwrap();
    line.strip_suffix("/metrics").unwrap().to_owned()
}

async fn get(server: &Server, path: &str) -> (u16, String) {
    let response = reqwest::get(format!("http://{}{path}", address(server))).await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn scrape(server: &Server) -> Scrape {
    let (status, text) = get(server, "/metrics").await;
    assert_eq!(status, 200, "{text}");
    Scrape::parse(text)
}

/// Scrapes until a condition holds, since a call is counted a moment after its response.
pub(super) async fn scrape_until(server: &Server, is_met: impl Fn(&Scrape) -> bool) -> Scrape {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let scraped = scrape(server).await;
        if is_met(&scraped) {
            return scraped;
        }
        assert!(Instant::now() < deadline, "it did not come:\n{}", scraped.text);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

const DURATION: &str = "mcp_server_operation_duration_seconds_count";

fn of_tool(name: &str) -> [(&str, &str); 2] {
    [("mcp_method_name", "tools/call"), ("gen_ai_tool_name", name)]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_counted_is_what_was_called() {
    let server = Server::builder().guest("polite").config(TELEMETRY).start().await;
    let client = Client::new(server.url());
    for _ in 0..7 {
        client.call("polite-echo", json!({ "message": "canary-argument" })).await;
    }
    for _ in 0..3 {
        client.call("polite-fail", json!({ "reason": "canary-reason" })).await;
    }
    client.call("polite-add", json!({ "a": "no number" })).await;
    client.call("canary-tool", json!({})).await;
    let session = client.session(LEGACY).await;
    session.request("tools/list", json!({})).await;
    let ended = |scraped: &Scrape| scraped.sum("plugport_calls_total") >= 10.0;
    let scraped = scrape_until(&server, ended).await;
    assert_eq!(scraped.get(DURATION, &of_tool("polite-echo")), Some(7.0));
    let [method, tool] = of_tool("polite-fail");
    assert_eq!(scraped.get(DURATION, &[method, tool, ("error_type", "tool_error")]), Some(3.0));
    let [method, tool] = of_tool("polite-add");
    assert_eq!(scraped.get(DURATION, &[method, tool, ("error_type", "tool_error")]), Some(1.0));
    assert_eq!(scraped.get(DURATION, &[method, ("error_type", "-32602")]), Some(1.0), "an unknown tool");
    assert_eq!(scraped.get(DURATION, &[("mcp_method_name", "initialize")]), Some(1.0));
    assert_eq!(scraped.get(DURATION, &[("mcp_method_name", "tools/list")]), Some(1.0));
    let calls = |outcome| scraped.get("plugport_calls_total", &[("plugin", "polite"), ("outcome", outcome)]);
    assert_eq!((calls("ok"), calls("failed")), (Some(7.0), Some(3.0)), "{}", scraped.text);
    assert!(scraped.get("plugport_call_fuel_total", &[("plugin", "polite")]) > Some(1_000.0));
    assert_eq!(scraped.get("plugport_calls_running", &[("plugin", "polite")]), Some(0.0));
    assert_eq!(scraped.get("plugport_sessions", &[]), Some(1.0));
    assert_eq!(scraped.get("plugport_plugins", &[("status", "serving")]), Some(1.0));
    assert_eq!(scraped.get("plugport_plugin_loads_total", &[("outcome", "loaded")]), Some(1.0));
    assert!(scraped.get("plugport_connections", &[]) > Some(0.0));
    assert!(!scraped.text.contains("canary"), "{}", scraped.text);
    assert_eq!(client.delete(&session.id).await, 204);
    let over = |scraped: &Scrape| scraped.get("mcp_server_session_duration_seconds_count", &[]) == Some(1.0);
    assert_eq!(scrape_until(&server, over).await.get("plugport_sessions", &[]), Some(0.0));
    promtool(&["check", "metrics"], Some(&scraped.text)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_clients_make_up_make_no_series() {
    make_up(10_000).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute"]
async fn soak_a_hundred_thousand_names_make_no_series() {
    make_up(100_000).await;
}

async fn make_up(names: usize) {
    let server = Server::builder().guest("polite").config(TELEMETRY).start().await;
    let before = Client::new(server.url()).call("no-tool", json!({})).await;
    assert_eq!(before.error_code(), -32602);
    let known = scrape(&server).await.series();
    let authority = server.url().replace("http://", "").replace("/mcp", "");
    let mut connection = RawConnection::to(&server.url()).await;
    for number in 0..names {
        let name = format!("made-up-{number}");
        let body = call_body(&json!(number), &name, &json!({}), &json!({}));
        connection.send(post_head(&authority, &call_headers(&name), body.len()) + &body).await;
        assert_eq!(connection.response().await.status, 200);
    }
    let unknown = |scraped: &Scrape| {
        scraped.get(DURATION, &[("mcp_method_name", "tools/call"), ("error_type", "-32602")])
            == Some((names + 1) as f64)
    };
    let scraped = scrape_until(&server, unknown).await;
    assert_eq!(scraped.series(), known);
    assert!(!scraped.text.contains("made-up"));
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_go_on_over_a_reload_and_end_with_the_plugin() {
    let version = |name: &str| std::fs::read(guest(name)).unwrap();
    let builder = Server::builder().file("v.wasm", &version("version_a")).config(TELEMETRY);
    let server = builder.start().await;
    let client = Client::new(server.url());
    let ok = |scraped: &Scrape| scraped.get("plugport_calls_total", &[("plugin", "v"), ("outcome", "ok")]);
    for _ in 0..5 {
        client.call("v-version", json!({})).await;
    }
    scrape_until(&server, |scraped| ok(scraped) == Some(5.0)).await;
    install_bytes(&version("version_b"), server.folder(), "v.wasm");
    wait_for_result(&client, "v-version", Some("b")).await;
    let same = |scraped: &Scrape| ok(scraped) == scraped.get(DURATION, &of_tool("v-version"));
    let after = scrape_until(&server, same).await;
    assert!(ok(&after) >= Some(6.0), "{}", after.text);
    std::fs::remove_file(server.folder().join("v.wasm")).unwrap();
    let gone = |scraped: &Scrape| !scraped.text.contains("\"v\"") && !scraped.text.contains("v-version");
    scrape_until(&server, gone).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_ready_until_it_stops_and_a_running_call_ends() {
    let config = format!("[server]\nshutdown_s = 15\n{TELEMETRY}");
    let server = Server::builder().guest("polite").config(&config).start().await;
    assert_eq!(get(&server, "/health").await, (200, "ok\n".to_owned()));
    assert_eq!(get(&server, "/ready").await, (200, "ready\n".to_owned()));
    let client = Client::new(server.url());
    let nap = tokio::spawn(async move { client.call("polite-nap", json!({ "ms": 7_000 })).await });
    let runs = |scraped: &Scrape| scraped.sum("plugport_calls_running") == 1.0;
    scrape_until(&server, runs).await;
    server.signal("-TERM").await;
    server.wait_for_log("1 call has 15 s to end").await;
    // The server stops a moment after it says so.
    let mcp = server.url().replace("http://", "").replace("/mcp", "");
    while TcpStream::connect(&mcp).await.is_ok() {
        assert!(!nap.is_finished(), "clients can still connect");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (status, why) = get(&server, "/ready").await;
    assert!(status == 503 && why.starts_with("stopping"), "{status} {why}");
    assert_eq!(get(&server, "/health").await.0, 200);
    // Longer than the time that there is by default.
    assert_eq!(nap.await.unwrap().tool_text(), "rested");
    assert_eq!(server.wait_for_exit().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_stall_hold_up_no_scrape_and_no_page_reads_it() {
    let server = Server::builder().guest("polite").config(TELEMETRY).start().await;
    let address = address(&server);
    let mut stalled = Vec::new();
    for number in 0..64 {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let piece: &[u8] =
            if number % 2 == 0 { b"GET /met" } else { b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" };
        // The oldest may have been closed already.
        let _ = stream.write_all(piece).await;
        stalled.push(stream);
    }
    let begun = Instant::now();
    scrape(&server).await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    let http = reqwest::Client::new();
    let url = format!("http://{address}/metrics");
    let page = http.get(&url).header("origin", "http://localhost:3000").send().await.unwrap();
    assert!(!page.headers().keys().any(|name| name.as_str().starts_with("access-control")));
    // The name of a page that was rebound to this address.
    let rebound = |url: &str| http.get(url).header("host", "evil.example:9464").send();
    let rebound_page = rebound(&url).await.unwrap();
    assert_eq!(rebound_page.status(), 403);
    assert!(rebound_page.text().await.unwrap().contains("`allowed_hosts`"));
    assert_eq!(rebound(&url.replace("/metrics", "/ready")).await.unwrap().status(), 200);
    assert_eq!(http.post(&url).send().await.unwrap().status(), 405);
    assert_eq!(http.get(format!("http://{address}/mcp")).send().await.unwrap().status(), 404);
    assert_eq!(Client::new(server.url()).at(server.url().replace("/mcp", "/metrics")).get().await, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn scrapers_need_no_token_and_learn_no_principal() {
    let token = "plugport_ada-0123456789abcdefghijklmnopqrstuvwxyz";
    let digest: String = Sha256::digest(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let config = format!("{TELEMETRY}[[auth.tokens]]\nname = \"canary\"\nsha256 = \"{digest}\"\n");
    let server = Server::builder().guest("polite").config(&config).start().await;
    let said = Client::with_token(server.url(), token).call("polite-whoami", json!({})).await;
    assert_eq!(said.result()["structuredContent"]["principal"], "token:canary");
    Client::with_token(server.url(), "plugport_wrong").call("polite-whoami", json!({})).await;
    Client::new(server.url()).call("polite-whoami", json!({})).await;
    let scraped = scrape(&server).await;
    for (outcome, count) in [("authenticated", 1.0), ("invalid", 1.0), ("missing", 1.0), ("expired", 0.0)] {
        let counted = scraped.get("plugport_authentications_total", &[("outcome", outcome)]);
        assert_eq!(counted, Some(count), "{outcome}");
    }
    assert!(!scraped.text.contains("canary") && !scraped.text.contains("plugport_ada"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_in_use_is_an_error_at_the_start() {
    let server = Server::builder().guest("polite").config(TELEMETRY).start().await;
    let config = format!("[telemetry]\nlisten = \"{}\"\n", address(&server));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plugport.toml");
    std::fs::write(&file, config).unwrap();
    let mut serving = Command::from(program());
    serving.args(["serve", "--listen", "127.0.0.1:0", "--plugins"]).arg(server.folder());
    let failed = serving.arg("--config").arg(&file).output().await.unwrap();
    let said = String::from_utf8(failed.stderr).unwrap();
    assert!(!failed.status.success() && said.contains("cannot serve metrics on 127.0.0.1:"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scrape_of_two_hundred_plugins_is_short() {
    let (polite, mut builder) = (std::fs::read(guest("polite")).unwrap(), Server::builder());
    for number in 0..200 {
        builder = builder.file(&format!("p{number:03}.wasm"), &polite);
    }
    let server = builder.config(TELEMETRY).start().await;
    let client = Client::new(server.url());
    for number in 0..200 {
        client.call(&format!("p{number:03}-echo"), json!({ "message": "x" })).await;
    }
    let all = |scraped: &Scrape| scraped.sum("plugport_calls_total") == 200.0;
    let scraped = scrape_until(&server, all).await;
    assert_eq!(scraped.label_values("gen_ai_tool_name").len(), 200);
    let mut times = Vec::new();
    for _ in 0..5 {
        let begun = Instant::now();
        get(&server, "/metrics").await;
        times.push(begun.elapsed());
    }
    let (series, bytes, fastest) = (scraped.series(), scraped.text.len(), times.iter().min().unwrap());
    println!("a scrape of 200 plugins, {series} series and {bytes} bytes: {fastest:?}");
    // An optimised build takes milliseconds; work that grows with the square of the series would take longer than this.
    assert!(*fastest < Duration::from_millis(500), "{fastest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_alerts_are_what_their_tests_say() {
    let folder = root().join("docs/telemetry");
    let file = |name: &str| folder.join(name).display().to_string();
    promtool(&["check", "rules", &file("alerts.yml")], None).await;
    promtool(&["test", "rules", &file("alerts_test.yml")], None).await;
}

/// Prometheus itself scrapes the server, and loads the alerts.
#[tokio::test(flavor = "multi_thread")]
async fn prometheus_scrapes_it() {
    let Some(program) = prometheus::program("prometheus") else { return };
    let server = Server::builder().guest("polite").config(TELEMETRY).start().await;
    for _ in 0..3 {
        Client::new(server.url()).call("polite-echo", json!({ "message": "x" })).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let rules = root().join("docs/telemetry/alerts.yml");
    let config = format!(
        "global: {{ scrape_interval: 1s }}\nrule_files: [{rules:?}]\nscrape_configs:\n  - job_name: plugport\n    \
         static_configs: [{{ targets: [{:?}] }}]\n",
        address(&server)
    );
    let file = folder.path().join("prometheus.yml");
    std::fs::write(&file, config).unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = Command::new(program);
    command.arg(format!("--config.file={}", file.display()));
    command.arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()));
    command.arg(format!("--web.listen-address={free}"));
    let _running = command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    let ask = async |path: &str| -> Value {
        let response = reqwest::get(format!("http://{free}/api/v1/{path}")).await;
        match response {
            Ok(response) => response.json().await.unwrap_or_default(),
            Err(_) => Value::Null,
        }
    };
    let query = "query?query=sum(plugport_calls_total{plugin=%22polite%22,outcome=%22ok%22})";
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut told = Value::Null;
    while told["data"]["result"][0]["value"][1] != "3" {
        assert!(Instant::now() < deadline, "it scraped something else: {told}");
        tokio::time::sleep(Duration::from_millis(200)).await;
        told = ask(query).await;
    }
    let rules = ask("rules").await;
    assert!(rules["data"]["groups"][0]["rules"].as_array().is_some_and(|rules| rules.len() > 3), "{rules}");
}

/// Rules and the dashboard name only metrics that there are.
#[tokio::test(flavor = "multi_thread")]
async fn the_dashboard_and_the_alerts_name_metrics_that_there_are() {
    let server = Server::builder().guest("polite").config(TELEMETRY).start().await;
    Client::new(server.url()).call("polite-echo", json!({ "message": "x" })).await;
    let text = scrape(&server).await.text;
    let docs = std::fs::read_to_string(root().join("docs/telemetry.md")).unwrap();
    for file in ["grafana.json", "alerts.yml"] {
        let used = std::fs::read_to_string(root().join("docs/telemetry").join(file)).unwrap();
        let words = used.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for word in words.filter(|word| word.starts_with("plugport_") || word.starts_with("mcp_server_")) {
            let name = ["_bucket", "_count", "_sum"].iter().find_map(|part| word.strip_suffix(part));
            let name = name.unwrap_or(word);
            assert!(text.contains(&format!("# TYPE {name} ")), "{file} has {word}, which is no metric");
        }
    }
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = line.split(' ').next().unwrap();
        assert!(
            name.starts_with("process_") || docs.contains(&format!("`{name}`")),
            "docs/telemetry.md: {name}"
        );
    }
}

/// Runs Prometheus' own tool where it is installed.
async fn promtool(arguments: &[&str], input: Option<&str>) {
    let Some(program) = prometheus::program("promtool") else { return };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    if let Some(input) = input {
        // If it ends early, its output says why.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(output.status.success(), "promtool {}: {}", arguments.join(" "), said.join("\n"));
}
