//! The paths whose costs are counted, on three servers: one for everybody, one with a token and roles, one on stdio.
//!
//! Each request is the same bytes every time, on one connection, apart from ids that must not repeat.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Costs;
use super::callgrind::Callgrind;
use super::counter::Counter;
use super::precompile::precompile;
use crate::guests::{folder, guest};
use crate::http_client::{Client, LEGACY, STATELESS, stateless_meta};
use crate::raw_http::RawConnection;
use crate::raw_post::{call_body, call_headers, post_head};
use crate::server::{Builder, Server};
use crate::stdio_client::StdioClient;

const GUEST: &str = "polite";
const TOOL: &str = "polite-echo";

/// The same guest, with `instances = "reuse"`.
const REUSED: &str = "reused";

/// Further plugins, so that a page of `tools/list` is full: each has seven tools.
const MORE_PLUGINS: usize = 13;

/// Tools on a page.
const PAGE: usize = 100;

/// What the tool gives back.
const MESSAGE: &str = "0123456789abcdef";

const TOKEN: &str = "plugport_0123456789abcdefghijklmnopqrstuvwxyz012345";

/// The program under valgrind has at most 64 GiB of addresses, and each memory of its pooling allocator takes 4.
/// Everything takes some fifty times longer there.
const CONFIG: &str = "\
[server]
concurrent_calls = 2
suspended_calls = 1
tasks = 1
idle_instances = 1
guest_memory_mib = 1024
initial_load_wait_ms = 300_000

[limits]
startup_ms = 60_000
cpu_ms = 60_000
wall_ms = 60_000
";

/// Counts every path.
pub async fn measure() -> Costs {
    precompile(&guest(GUEST)).await;
    let mut costs = Costs::new();
    count_http(&mut costs).await;
    count_with_token(&mut costs).await;
    count_stdio(&mut costs).await;
    costs
}

/// Calls of a fresh instance, of one that is reused, and in a session; and a page of `tools/list`.
async fn count_http(costs: &mut Costs) {
    let component = std::fs::read(guest(GUEST)).unwrap();
    let mut builder = Server::builder().guest(GUEST).file(&format!("{REUSED}.wasm"), &component);
    for number in 0..MORE_PLUGINS {
        builder = builder.file(&format!("more{number}.wasm"), &component);
    }
    let config = format!("{CONFIG}\n[plugins.{REUSED}]\ninstances = \"reuse\"\n");
    let (server, callgrind) = start(builder.config(&config)).await;
    let mut counter = Counter::new(callgrind, server.pid(), costs);
    let mut connection = Connection::to(&server).await;
    let call = connection.call(TOOL, &[]);
    let fresh = async |_: u32| drop(connection.send(&call, MESSAGE).await);
    counter.count("call", fresh).await;
    let call = connection.call(&format!("{REUSED}-echo"), &[]);
    let reused = async |_: u32| drop(connection.send(&call, MESSAGE).await);
    counter.count("call_reused_instance", reused).await;
    let list = connection.list();
    let full_page = async |_: u32| {
        let listed = connection.send(&list, "inputSchema").await;
        assert_eq!(listed.matches("inputSchema").count(), PAGE);
    };
    counter.count("list_100_tools", full_page).await;
    let session = Client::new(server.url()).session(LEGACY).await.id;
    let in_session = async |id: u32| {
        let call = connection.call_in_session(&session, id);
        connection.send(&call, MESSAGE).await;
    };
    counter.count("call_in_session", in_session).await;
}

/// A call with a token of the configuration, by a caller with five roles.
async fn count_with_token(costs: &mut Costs) {
    let digest: String = Sha256::digest(TOKEN).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut config =
        format!("{CONFIG}\n[[auth.tokens]]\nname = \"ci\"\nsha256 = \"{digest}\"\ngroups = [\"g0\"]\n");
    let others: Vec<String> = (0..19).map(|number| format!("\"other{number}-*\"")).collect();
    for role in 0..5 {
        let _ = write!(
            config,
            "\n[roles.r{role}]\nwho = [\"group:g0\", \"token:ci\"]\nallow = [{}, \"*\"]\n",
            others.join(", ")
        );
    }
    let (server, callgrind) = start(Server::builder().guest(GUEST).config(&config)).await;
    let mut connection = Connection::to(&server).await;
    let authorization = format!("Bearer {TOKEN}");
    let call = connection.call(TOOL, &[("authorization", authorization.as_str())]);
    let mut counter = Counter::new(callgrind, server.pid(), costs);
    let with_token = async |_: u32| drop(connection.send(&call, MESSAGE).await);
    counter.count("call_with_token", with_token).await;
}

/// A call over stdio.
async fn count_stdio(costs: &mut Costs) {
    let plugins = folder(&[GUEST]);
    std::fs::write(plugins.path().join("plugport.toml"), CONFIG).unwrap();
    let callgrind = Callgrind::new();
    let mut client = StdioClient::start_by_shell(plugins.path(), &callgrind.shell());
    // Waits until the guest is loaded.
    client.request(json!("list"), "tools/list", json!({ "_meta": stateless_meta() })).await;
    client.next().await;
    let mut counter = Counter::new(callgrind, client.pid(), costs);
    let call = async |id: u32| {
        let params = json!({ "name": TOOL, "arguments": arguments(), "_meta": stateless_meta() });
        client.request(json!(id), "tools/call", params).await;
        let response = client.next().await;
        assert_eq!(response["result"]["content"][0]["text"], MESSAGE, "{response}");
    };
    counter.count("call_over_stdio", call).await;
}

async fn start(builder: Builder) -> (Server, Callgrind) {
    let callgrind = Callgrind::new();
    (builder.shell_first(&callgrind.shell()).start().await, callgrind)
}

fn arguments() -> Value {
    json!({ "message": MESSAGE })
}

/// One connection to a server.
struct Connection {
    raw: RawConnection,
    authority: String,
}

impl Connection {
    async fn to(server: &Server) -> Self {
        let authority = server.url().replace("http://", "").replace("/mcp", "");
        Self { raw: RawConnection::to(&server.url()).await, authority }
    }

    /// A stateless call, with further headers.
    fn call(&self, tool: &str, more: &[(&str, &str)]) -> String {
        let headers = [&call_headers(tool)[..], more].concat();
        self.post(&headers, &call_body(&json!(1), tool, &arguments(), &json!({})))
    }

    fn call_in_session(&self, session: &str, id: u32) -> String {
        let headers = [("mcp-protocol-version", LEGACY), ("mcp-session-id", session)];
        let params = json!({ "name": TOOL, "arguments": arguments() });
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        self.post(&headers, &body.to_string())
    }

    fn list(&self) -> String {
        let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/list")];
        let params = json!({ "_meta": stateless_meta() });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params });
        self.post(&headers, &body.to_string())
    }

    fn post(&self, headers: &[(&str, &str)], body: &str) -> String {
        post_head(&self.authority, headers, body.len()) + body
    }

    /// Sends a request; the response must have `expected` in it.
    async fn send(&mut self, request: &str, expected: &str) -> String {
        self.raw.send(request).await;
        let response = self.raw.response().await;
        assert!(response.status == 200 && response.body.contains(expected), "{response:?}");
        response.body
    }
}
