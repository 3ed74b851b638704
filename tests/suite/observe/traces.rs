//! Traces: the spans that a collector gets, over every transport, and what a bad collector does to calls.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use opentelemetry_proto::tonic::trace::v1::Span;
use plugport_tests::bad_web_server::BadWebServer;
use plugport_tests::external_clients::ExternalClient;
use plugport_tests::guests::{LONG_START, folder};
use plugport_tests::http_client::Client;
use plugport_tests::otlp_receiver::{Manner, OtlpReceiver, attributes, hex};
use plugport_tests::server::Server;
use plugport_tests::stdio_client::StdioClient;
use serde_json::{Value, json};

use crate::access::section;
use crate::mcp::session_client_requests::{GRANTED, capabilities, form};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// The context that a client sends, of a span that it records.
pub(super) fn context() -> Value {
    json!({ "traceparent": format!("00-{TRACE}-{PARENT}-01"), "tracestate": "rojo=1",
            "baggage": "user=canary-baggage" })
}

/// The grant of a host that may learn the trace.
fn traced(web: &BadWebServer) -> String {
    format!(
        "[plugins.http_client.grants]\nhttp = [{{ pattern = \"http://{}\", trace = true }}]\n",
        web.authority()
    )
}

fn has(span: &Span, name: &str, parent: &str) {
    assert_eq!((hex(&span.trace_id).as_str(), hex(&span.parent_span_id).as_str()), (TRACE, parent), "{name}");
    assert_eq!(span.trace_state, "rojo=1", "{name}");
}

/// One trace from the client's span to the request that the host of the guest got.
async fn is_one_trace(collector: &OtlpReceiver, web: &BadWebServer) {
    let served = collector.wait_for_name("tools/call http_client-fetch").await;
    let sandbox = collector.wait_for_name("sandbox http_client").await;
    let sent = collector.wait_for_name("GET").await;
    has(&served, "server span", PARENT);
    has(&sandbox, "sandbox span", &hex(&served.span_id));
    has(&sent, "span of the guest's request", &hex(&sandbox.span_id));
    assert_eq!((served.kind, sandbox.kind, sent.kind), (2, 1, 3));
    let head = web.heads().pop().unwrap().to_ascii_lowercase();
    assert!(head.contains(&format!("\r\ntraceparent: 00-{TRACE}-{}-01\r\n", hex(&sent.span_id))), "{head}");
    assert!(head.contains("\r\ntracestate: rojo=1\r\n"), "{head}");
    assert!(!head.contains("baggage"), "{head}");
    let sent = attributes(&sent);
    let port = web.port().to_string();
    let expected = [
        ("http.request.method", "GET"),
        ("http.response.status_code", "200"),
        ("server.address", "127.0.0.1"),
        ("server.port", &port),
    ];
    assert_eq!(sent, named(&expected), "no path and no query");
}

fn named(attributes: &[(&str, &str)]) -> BTreeMap<String, String> {
    attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_one_trace_from_its_client_to_the_hosts_of_its_guest() {
    for revision in ["2025-06-18", "2026-07-28"] {
        let (collector, web) = (OtlpReceiver::start(Manner::Accept).await, BadWebServer::start().await);
        let config = collector.config(100) + &traced(&web);
        let server = Server::builder().guest("http_client").config(&config).start().await;
        let client = Client::new(server.url());
        let params =
            json!({ "name": "http_client-fetch", "arguments": { "url": web.url("/a?key=canary-query") } });
        let reply = if revision == "2026-07-28" {
            client.request_with_meta("tools/call", params, context()).await
        } else {
            let session = client.session(revision).await;
            let mut params = params;
            params["_meta"] = context();
            session.request("tools/call", params).await
        };
        assert!(reply.tool_text().starts_with("200 "), "{reply:?}");
        is_one_trace(&collector, &web).await;
        assert!(collector.heads()[0].starts_with("POST /v1/traces HTTP/1.1\r\n"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_on_stdio_is_one_trace_and_is_sent_before_the_end() {
    let (collector, web) = (OtlpReceiver::start(Manner::Accept).await, BadWebServer::start().await);
    let folder = folder(&["http_client"]);
    let config = format!("{LONG_START}{}{}", collector.config(100), traced(&web));
    std::fs::write(folder.path().join("plugport.toml"), config).unwrap();
    let mut pipe = StdioClient::start(folder.path());
    pipe.initialize("2025-11-25").await;
    let params =
        json!({ "name": "http_client-fetch", "arguments": { "url": web.url("/") }, "_meta": context() });
    pipe.request(json!("a"), "tools/call", params).await;
    let reply = pipe.next().await;
    assert!(reply["result"]["content"][0]["text"].as_str().unwrap().starts_with("200 "), "{reply}");
    assert_eq!(pipe.end().await.2, Some(0));
    let names: Vec<String> = collector.spans().into_iter().map(|span| span.name).collect();
    assert!(names.contains(&"tools/call http_client-fetch".to_owned()), "sent by the end: {names:?}");
    is_one_trace(&collector, &web).await;
    let served = collector.wait_for_name("tools/call http_client-fetch").await;
    assert_eq!(attributes(&served)["network.transport"], "pipe");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_may_not_learn_the_trace_gets_what_the_guest_wrote() {
    let (collector, web) = (OtlpReceiver::start(Manner::Accept).await, BadWebServer::start().await);
    let config = collector.config(100) + &web.grant("http_client");
    let server = Server::builder().guest("http_client").config(&config).start().await;
    let params = json!({ "name": "http_client-fetch", "arguments": { "url": web.url("/") } });
    Client::new(server.url()).request_with_meta("tools/call", params, context()).await;
    collector.wait_for_name("GET").await;
    let head = web.heads().concat().to_ascii_lowercase();
    assert!(!head.contains("traceparent") && !head.contains("tracestate"), "{head}");
}

/// The name of a span, a method with its parameters, and the attributes beside those that every request has.
type Case<'c> = (&'c str, &'c str, Value, &'c [(&'c str, &'c str)]);

#[tokio::test(flavor = "multi_thread")]
async fn each_method_has_exactly_the_attributes_that_the_docs_list() {
    let collector = OtlpReceiver::start(Manner::Accept).await;
    let server =
        Server::builder().guest("polite").guest("library").config(&collector.config(1_000)).start().await;
    let client = Client::new(server.url());
    let common = |method: &str| {
        named(&[
            ("mcp.method.name", method),
            ("mcp.protocol.version", "2026-07-28"),
            ("jsonrpc.request.id", "1"),
            ("network.transport", "tcp"),
        ])
    };
    let arguments = json!({ "topic": "canary-topic" });
    let cases: [Case<'_>; 7] = [
        ("tools/list", "tools/list", json!({}), &[]),
        ("resources/list", "resources/list", json!({}), &[]),
        (
            "tools/call polite-echo",
            "tools/call",
            json!({ "name": "polite-echo", "arguments": { "message": "canary-message" } }),
            &[("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.name", "polite-echo")],
        ),
        (
            "tools/call polite-fail",
            "tools/call",
            json!({ "name": "polite-fail", "arguments": { "reason": "canary-reason" } }),
            &[
                ("gen_ai.operation.name", "execute_tool"),
                ("gen_ai.tool.name", "polite-fail"),
                ("error.type", "tool_error"),
            ],
        ),
        (
            "tools/call",
            "tools/call",
            json!({ "name": "canary-tool", "arguments": {} }),
            &[
                ("gen_ai.operation.name", "execute_tool"),
                ("gen_ai.tool.name", "_OTHER"),
                ("error.type", "-32602"),
                ("rpc.response.status_code", "-32602"),
            ],
        ),
        (
            "prompts/get library-review",
            "prompts/get",
            json!({ "name": "library-review", "arguments": arguments }),
            &[("gen_ai.prompt.name", "library-review")],
        ),
        (
            "resources/read",
            "resources/read",
            json!({ "uri": "lib:page/static" }),
            &[("mcp.resource.uri", "lib:page/static")],
        ),
    ];
    for (name, method, params, more) in cases {
        client.request(method, params).await;
        let mut expected = common(method);
        expected.extend(named(more));
        let is_meant = |span: &Span| span.name == name && span.kind == 2;
        let spans = collector.wait_for(name, is_meant).await;
        let span = spans.into_iter().find(is_meant).unwrap();
        assert_eq!(attributes(&span), expected, "{name}");
        assert_eq!(span.status.is_some_and(|status| status.code == 2), expected.contains_key("error.type"));
    }
    // A URI that a template stands for is made of arguments.
    client.request("resources/read", json!({ "uri": "lib:item/canary-item/data" })).await;
    client.request("canary/method", json!({})).await;
    let unknown = collector.wait_for_name("_OTHER").await;
    assert_eq!(attributes(&unknown)["mcp.method.name"], "_OTHER");
    let sandbox = collector.wait_for_name("sandbox polite").await;
    let expected = [
        "plugport.cpu_ms",
        "plugport.fuel",
        "plugport.instance.reused",
        "plugport.memory.peak_bytes",
        "plugport.outcome",
        "plugport.plugin",
        "plugport.queue.wait_ms",
    ];
    assert_eq!(attributes(&sandbox).keys().collect::<Vec<_>>(), expected);
    assert!(attributes(&sandbox)["plugport.fuel"].parse::<u64>().unwrap() > 1_000);
    for body in collector.bodies() {
        assert!(!String::from_utf8_lossy(&body).contains("canary"), "something of a client was exported");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn initialize_is_a_span_with_the_revision_that_it_negotiates() {
    let collector = OtlpReceiver::start(Manner::Accept).await;
    let server = Server::builder().guest("polite").config(&collector.config(100)).start().await;
    let client = Client::new(server.url());
    let initialize = async |params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        client.post(&[], body.to_string()).await
    };
    let mut params = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
                             "clientInfo": { "name": "canary", "version": "1" }, "_meta": context() });
    assert_eq!(initialize(params.clone()).await.status, 200);
    params["capabilities"] = json!("canary");
    initialize(params).await.error_code();
    let spans = collector.wait_for("of the failed one", |span| span.status.is_some()).await;
    let (begun, failed): (Vec<_>, Vec<_>) = spans.iter().partition(|span| span.status.is_none());
    has(begun[0], "initialize", PARENT);
    let mut expected = named(&[
        ("mcp.method.name", "initialize"),
        ("mcp.protocol.version", "2025-06-18"),
        ("jsonrpc.request.id", "0"),
        ("network.transport", "tcp"),
    ]);
    assert_eq!(attributes(begun[0]), expected);
    expected.remove("mcp.protocol.version");
    expected.extend(named(&[("error.type", "-32602"), ("rpc.response.status_code", "-32602")]));
    assert_eq!(attributes(failed[0]), expected);
    assert!(collector.bodies().iter().all(|body| !String::from_utf8_lossy(body).contains("canary")));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_collector_tells_two_servers_apart() {
    let collector = OtlpReceiver::start(Manner::Accept).await;
    let mut ids = Vec::new();
    for method in ["tools/list", "prompts/list"] {
        let server = Server::builder().guest("polite").config(&collector.config(100)).start().await;
        Client::new(server.url()).request(method, json!({})).await;
        collector.wait_for_name(method).await;
        let resource = collector.resources().pop().unwrap();
        assert_eq!(resource["service.name"], "plugport");
        let id = resource["service.instance.id"].clone();
        let parts: Vec<usize> = id.split('-').map(str::len).collect();
        assert!(parts == [8, 4, 4, 4, 12] && id.as_bytes()[14] == b'4', "a UUID of version 4: {id}");
        ids.push(id);
    }
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_decoder_reads_the_same_spans() {
    let collector = OtlpReceiver::start(Manner::Accept).await;
    let server = Server::builder().guest("polite").config(&collector.config(100)).start().await;
    let params = json!({ "name": "polite-fail", "arguments": { "reason": "r" } });
    Client::new(server.url()).request_with_meta("tools/call", params, context()).await;
    collector.wait_for_name("sandbox polite").await;
    let file = tempfile::tempdir().unwrap();
    let mut decoded = Vec::new();
    for (at, body) in collector.bodies().into_iter().enumerate() {
        let path = file.path().join(at.to_string());
        std::fs::write(&path, body).unwrap();
        let spans = decode(&path).await;
        decoded.extend(spans.as_array().unwrap().clone());
    }
    let named = |name: &str| decoded.iter().find(|span| span["name"] == name).unwrap();
    let (served, sandbox) = (named("tools/call polite-fail"), named("sandbox polite"));
    assert_eq!((&served["trace"], &served["parent"]), (&json!(TRACE), &json!(PARENT)));
    assert_eq!((&served["kind"], &served["status"]), (&json!("SPAN_KIND_SERVER"), &json!(2)));
    assert_eq!((&sandbox["kind"], &sandbox["parent"]), (&json!("SPAN_KIND_INTERNAL"), &served["span"]));
    assert_eq!((&served["service"], &served["scope"]), (&json!("plugport"), &json!("plugport")));
    assert_eq!(sandbox["attributes"]["plugport.instance.reused"], false);
    assert!(sandbox["attributes"]["plugport.cpu_ms"].is_f64(), "{sandbox}");
    assert!(sandbox["attributes"]["plugport.fuel"].is_u64(), "{sandbox}");
}

async fn decode(path: &Path) -> Value {
    ExternalClient::OtlpDecoder.read("decode", path).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_header_is_a_link_beside_a_context_in_the_message_and_the_parent_without_one() {
    let collector = OtlpReceiver::start(Manner::Accept).await;
    let server = Server::builder().guest("polite").config(&collector.config(100)).start().await;
    let client = Client::new(server.url());
    let session = client.session("2025-11-25").await;
    let proxy = format!("00-{}-00000000000000aa-01", "a".repeat(32));
    let headers = [
        ("mcp-session-id", session.id.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
        ("traceparent", proxy.as_str()),
    ];
    let body = |id: &str, meta: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "ping", "params": { "_meta": meta } }).to_string()
    };
    client.post(&headers, body("both", context())).await;
    client.post(&headers, body("header", json!({}))).await;
    client.post(&headers, body("bad", json!({ "traceparent": "00-x" }))).await;
    let with_id = async |id: &str| {
        let is_meant =
            |span: &Span| attributes(span).get("jsonrpc.request.id").is_some_and(|found| found == id);
        collector.wait_for(id, is_meant).await.into_iter().find(is_meant).unwrap()
    };
    let both = with_id("both").await;
    assert_eq!((hex(&both.trace_id), hex(&both.parent_span_id)), (TRACE.to_owned(), PARENT.to_owned()));
    assert_eq!(both.links.iter().map(|link| hex(&link.trace_id)).collect::<Vec<_>>(), ["a".repeat(32)]);
    for id in ["header", "bad"] {
        let span = with_id(id).await;
        assert_eq!((hex(&span.trace_id), span.links.len()), ("a".repeat(32), 0), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_not_authenticated_chooses_no_trace() {
    let collector = OtlpReceiver::start(Manner::Accept).await;
    let config = format!("[auth]\nanonymous = \"allow\"\n{}", collector.config(100));
    let server = Server::builder().guest("polite").config(&config).start().await;
    let params = json!({ "name": "polite-echo", "arguments": { "message": "m" } });
    Client::new(server.url()).request_with_meta("tools/call", params, context()).await;
    let span = collector.wait_for_name("tools/call polite-echo").await;
    assert_ne!(hex(&span.trace_id), TRACE);
    assert!(span.parent_span_id.is_empty());
    assert_eq!(span.links.iter().map(|link| hex(&link.span_id)).collect::<Vec<_>>(), [PARENT]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_call_goes_on_in_its_trace_and_its_request_is_a_span() {
    let collector = OtlpReceiver::start(Manner::Accept).await;
    let config = format!("{GRANTED}{}", collector.config(100));
    let server = Server::builder().guest("client_requests").config(&config).start().await;
    let client = Client::new(server.url());
    let call = async |more: Value, span: &str| {
        let arguments = json!({ "key": "who", "method": "elicitation/create", "params": form() });
        let mut params = json!({ "name": "ask", "arguments": arguments });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let parent = format!("00-{TRACE}-{span}-01");
        let meta =
            json!({ "io.modelcontextprotocol/clientCapabilities": capabilities(), "traceparent": parent });
        client.request_with_meta("tools/call", params, meta).await
    };
    let suspended = call(json!({}), PARENT).await;
    let state = suspended.result()["requestState"].clone();
    assert!(state.is_string(), "{suspended:?}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    let answer = json!({ "who": { "action": "accept", "content": { "name": "canary-name" } } });
    let done = call(json!({ "requestState": state, "inputResponses": answer }), "00000000000000bb").await;
    assert_eq!(done.result()["resultType"], "complete");
    let served = collector.wait_for_name("tools/call ask").await;
    assert_eq!((hex(&served.trace_id).as_str(), hex(&served.parent_span_id).as_str()), (TRACE, PARENT));
    assert_eq!(served.links.iter().map(|link| hex(&link.span_id)).collect::<Vec<_>>(), ["00000000000000bb"]);
    let asked = collector.wait_for_name("elicitation/create").await;
    assert_eq!((hex(&asked.trace_id).as_str(), asked.kind), (TRACE, 3));
    assert_eq!(attributes(&asked), named(&[("mcp.method.name", "elicitation/create")]));
    let suspended_for = Duration::from_nanos(asked.end_time_unix_nano - asked.start_time_unix_nano);
    assert!(suspended_for >= Duration::from_millis(300), "{suspended_for:?}");
    assert!(collector.bodies().iter().all(|body| !String::from_utf8_lossy(body).contains("canary")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_is_an_event_without_what_the_guest_asked_for() {
    let collector = OtlpReceiver::start(Manner::Accept).await;
    let server = Server::builder().guest("http_client").config(&collector.config(100)).start().await;
    let arguments = json!({ "url": "https://canary.example.com/" });
    Client::new(server.url()).call("http_client-fetch", arguments).await;
    let sandbox = collector.wait_for_name("sandbox http_client").await;
    let names: Vec<&str> = sandbox.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["denied"]);
    assert_eq!(sandbox.events[0].attributes[0].key, "plugport.grant");
    assert!(collector.bodies().iter().all(|body| !String::from_utf8_lossy(body).contains("canary")));
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_of_the_operator_are_in_no_export_and_in_no_log() {
    let collector = OtlpReceiver::start(Manner::Accept).await;
    let config = collector.config(100) + "headers = { x-key = { env = \"COLLECTOR_KEY\" } }\n";
    let server = Server::builder().guest("polite").config(&config).env("COLLECTOR_KEY", "canary-header");
    let server = server.start().await;
    Client::new(server.url()).call("polite-echo", json!({ "message": "m" })).await;
    collector.wait_for_name("tools/call polite-echo").await;
    assert!(collector.heads()[0].to_ascii_lowercase().contains("\r\nx-key: canary-header\r\n"));
    assert!(collector.bodies().iter().all(|body| !String::from_utf8_lossy(body).contains("canary")));
    assert!(!server.log().contains("canary"), "{}", server.log());
}

/// Tokens in every place where a client may put them: those that are accepted, and those that are refused.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_callers_are_in_no_export_and_in_no_log() {
    const TOKEN: &str = "plugport_canary-0123456789abcdefghijklmnopqrstuvwxyz";
    let collector = OtlpReceiver::start(Manner::Accept).await;
    let config = collector.config(100) + &section("ada", TOKEN, "");
    let server = Server::builder().guest("polite").config(&config).start().await;
    let call = json!({ "name": "polite-echo", "arguments": { "message": "m" } });
    let with = |token: &str| Client::with_token(server.url(), token);
    assert_eq!(with(TOKEN).request_with_meta("tools/call", call.clone(), context()).await.status, 200);
    let session = with(TOKEN).session("2025-11-25").await;
    assert_eq!(session.request("tools/call", call.clone()).await.status, 200);
    for refused in ["plugport_canary-refused", "canary-opaque"] {
        assert_eq!(with(refused).request("tools/call", call.clone()).await.status, 401, "{refused}");
    }
    let is_of_session = |span: &Span| {
        span.name == "tools/call polite-echo" && attributes(span)["mcp.protocol.version"] == "2025-11-25"
    };
    collector.wait_for("the call of the session", is_of_session).await;
    for sent in collector.bodies().into_iter().chain(collector.heads().into_iter().map(String::into_bytes)) {
        assert!(!String::from_utf8_lossy(&sent).contains("canary"), "a token was exported");
    }
    assert!(!server.log().contains("canary"), "{}", server.log());
}
