//! Roles: who sees and calls what. A hidden item is answered as one that does not exist, byte for byte, and a change of
//! roles is heard by those whose view it changed.

use std::time::Duration;

use plugport_tests::http_client::{Client, HttpResponse, LEGACY, Session, Stream};
use plugport_tests::server::Server;
use serde_json::{Value, json};

use super::{ADA, BOB, as_caller, both, listen, section};

/// Ada may use everything but one tool, Bob one tool of one plugin and one resource of the other.
const ROLES: &str = "\
[roles.everything]\nwho = [\"token:ada\"]\nallow = [\"*\"]\ndeny = [\"polite-fail\"]\n\
[roles.little]\nwho = [\"token:bob\"]\nallow = [\"polite-echo\", \"resource:lib:page/static\"]\n";

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

async fn server(more: &str) -> Server {
    let config = format!("{more}{}", both());
    Server::builder().guest("polite").guest("library").config(&config).start().await
}

fn names(listed: &Value, field: &str, key: &str) -> Vec<String> {
    let items = listed[field].as_array().unwrap_or_else(|| panic!("{listed}"));
    items.iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

async fn tools(client: &Client) -> Vec<String> {
    names(client.request("tools/list", json!({})).await.result(), "tools", "name")
}

/// Everything that a client sees, with one name for the two items.
fn seen(response: &HttpResponse, name: &str) -> (u16, String) {
    (response.status, response.text.replace(name, "NAME"))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_principal_sees_its_own_lists_in_every_revision() {
    let server = server(ROLES).await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    assert_eq!(tools(&bob).await, ["polite-echo"]);
    let of_ada = tools(&ada).await;
    assert!(of_ada.len() > 4 && !of_ada.contains(&"polite-fail".to_owned()), "{of_ada:?}");
    for revision in REVISIONS {
        let session = bob.session(revision).await;
        let listed = session.request("tools/list", json!({})).await;
        assert_eq!(names(listed.result(), "tools", "name"), ["polite-echo"], "{revision}");
        let listed = session.request("resources/list", json!({})).await;
        assert_eq!(names(listed.result(), "resources", "uri"), ["lib:page/static"], "{revision}");
        let listed = session.request("prompts/list", json!({})).await;
        assert_eq!(names(listed.result(), "prompts", "name"), [""; 0], "{revision}");
        let listed = session.request("resources/templates/list", json!({})).await;
        assert_eq!(names(listed.result(), "resourceTemplates", "uriTemplate"), [""; 0], "{revision}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_item_is_answered_as_one_that_does_not_exist() {
    let server = server(ROLES).await;
    let bob = as_caller(&server, BOB);
    for (method, hidden, never, params) in [
        ("tools/call", "polite-narrate", "polite-nothing", json!({ "name": "NAME", "arguments": {} })),
        ("tools/call", "polite-fail", "polite-nope", json!({ "name": "NAME", "arguments": { "reason": 5 } })),
        ("resources/read", "lib:binary", "lib:nothing", json!({ "uri": "NAME" })),
        ("resources/subscribe", "lib:binary", "lib:nothing", json!({ "uri": "NAME" })),
        ("prompts/get", "library-review", "library-nothing", json!({ "name": "NAME", "arguments": {} })),
        (
            "completion/complete",
            "library-review",
            "library-nothing",
            json!({ "ref": { "type": "ref/prompt", "name": "NAME" }, "argument": { "name": "a", "value": "" } }),
        ),
    ] {
        let with = |name: &str| -> Value {
            serde_json::from_str(&params.to_string().replace("NAME", name)).unwrap()
        };
        // With one id, and so in a session each, since the responses are compared byte for byte.
        let (session, other) = (bob.session(LEGACY).await, bob.session(LEGACY).await);
        let legacy = async |session: &Session, name: &str| {
            seen(&session.request_as(json!(1), method, with(name)).await, name)
        };
        assert_eq!(legacy(&session, hidden).await, legacy(&other, never).await, "{method}");
        if method != "resources/subscribe" {
            let stateless = async |name: &str| seen(&bob.request(method, with(name)).await, name);
            assert_eq!(stateless(hidden).await, stateless(never).await, "{method}");
        }
    }
    assert_eq!(bob.call("polite-echo", json!({ "message": "hello" })).await.tool_text(), "hello");
    let read = bob.request("resources/read", json!({ "uri": "lib:page/static" })).await;
    assert!(read.result()["contents"].is_array(), "{read:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_of_one_principal_is_not_anothers() {
    let config = format!(
        "[server]\npage_size = 2\n{ROLES}[roles.more]\nwho = [\"token:bob\"]\nallow = [\"polite-*\"]\n"
    );
    let server = server(&config).await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let first = ada.request("tools/list", json!({})).await;
    let cursor = first.result()["nextCursor"].as_str().unwrap();
    assert_eq!(bob.request("tools/list", json!({ "cursor": cursor })).await.error_code(), -32602);
    assert_eq!(ada.request("tools/list", json!({ "cursor": cursor })).await.status, 200);
}

const UPDATED: &str = "notifications/resources/updated";

/// Whether a `list_changed` comes.
async fn hears(stream: &mut Stream) -> bool {
    let heard = async { stream.message().await["method"] == "notifications/tools/list_changed" };
    tokio::time::timeout(Duration::from_secs(4), heard).await.unwrap_or(false)
}

/// A subscription to changes of the list of tools, without a session.
async fn subscribe(client: &Client) -> Stream {
    listen(client, json!({ "toolsListChanged": true })).await
}

/// The URIs of the updates that come, until none has come for a while.
async fn updates(stream: &mut Stream) -> Vec<String> {
    let mut messages = vec![stream.message().await];
    while let Ok(message) = tokio::time::timeout(Duration::from_secs(2), stream.message()).await {
        messages.push(message);
    }
    assert!(messages.iter().all(|message| message["method"] == UPDATED), "{messages:?}");
    let mut uris: Vec<String> =
        messages.iter().map(|message| message["params"]["uri"].as_str().unwrap().to_owned()).collect();
    uris.sort();
    uris
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_of_a_hidden_resource_is_not_heard() {
    let server = server(ROLES).await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let both = json!({ "resourceSubscriptions": ["lib:binary", "lib:page/static"] });
    let (mut ada_hears, mut bob_hears) = (listen(&ada, both.clone()).await, listen(&bob, both).await);
    ada.call("library-touch", json!({})).await.result();
    let heard = tokio::join!(updates(&mut ada_hears), updates(&mut bob_hears));
    assert_eq!(heard.0, ["lib:binary", "lib:page/static"]);
    assert_eq!(heard.1, ["lib:page/static"]);
}

/// Both tokens are of one name, so they have the same session.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_a_session_follows_the_token_that_opened_it_last() {
    let roles = "[roles.reader]\nwho = [\"group:readers\"]\n\
                 allow = [\"library-*\", \"resource:lib:page/static\"]\n\
                 [roles.writer]\nwho = [\"group:writers\"]\nallow = [\"library-*\", \"polite-*\"]\n";
    let reader = section("ada", ADA, "groups = [\"readers\"]");
    let config = format!("{roles}{reader}{}", section("ada", BOB, "groups = [\"writers\"]"));
    let server = Server::builder().guest("polite").guest("library").config(&config).start().await;
    let (as_reader, as_writer) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let session = as_reader.session(LEGACY).await;
    session.request("resources/subscribe", json!({ "uri": "lib:page/static" })).await.result();
    let mut stream = session.listen(None).await;
    as_reader.call("library-touch", json!({})).await.result();
    assert_eq!(updates(&mut stream).await, ["lib:page/static"]);

    let headers = [("mcp-session-id", session.id.as_str()), ("mcp-protocol-version", LEGACY)];
    let mut stream = as_writer.listen(&headers).await;
    assert!(hears(&mut stream).await, "a writer has other tools: {}", server.log());
    assert_eq!(stream.message().await["method"], "notifications/resources/list_changed");
    as_writer.call("library-touch", json!({})).await.result();
    let hidden = tokio::time::timeout(Duration::from_secs(3), stream.message()).await;
    assert!(hidden.is_err(), "a writer does not see the resource: {hidden:?}");
}

/// The URIs of the updates among the messages that come: of as many as are expected, and of those soon after.
async fn updates_among_others(stream: &mut Stream, expected: usize) -> Vec<String> {
    let mut uris = Vec::new();
    loop {
        let wait = Duration::from_secs(if uris.len() < expected { 20 } else { 2 });
        let Ok(message) = tokio::time::timeout(wait, stream.message()).await else { break };
        if message["method"] == UPDATED {
            uris.push(message["params"]["uri"].as_str().unwrap().to_owned());
        }
    }
    uris.sort();
    uris
}

/// Both tokens are of one name, so they have the same session.
#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_stream_has_nothing_that_its_token_may_not_see() {
    let roles = "[roles.reader]\nwho = [\"group:readers\"]\n\
                 allow = [\"library-*\", \"polite-*\", \"resource:lib:page/static\"]\n\
                 [roles.writer]\nwho = [\"group:writers\"]\nallow = [\"*\"]\n";
    let reader = section("ada", ADA, "groups = [\"readers\"]");
    let config = format!("{roles}{reader}{}", section("ada", BOB, "groups = [\"readers\", \"writers\"]"));
    let server = Server::builder().guest("polite").guest("library").config(&config).start().await;
    let (as_reader, as_writer) = (as_caller(&server, ADA), as_caller(&server, BOB));
    // A reader begins the session, so it matters who sends a request, and not whose session it is.
    let session = as_reader.session(LEGACY).await.sent_by(&as_writer);
    for uri in ["lib:binary", "lib:page/static"] {
        session.request("resources/subscribe", json!({ "uri": uri })).await.result();
    }
    let mut stream = session.listen(None).await;
    let first = stream.event().await.unwrap().id.unwrap();
    as_writer.call("library-touch", json!({})).await.result();
    assert_eq!(updates_among_others(&mut stream, 2).await, ["lib:binary", "lib:page/static"]);

    let narrate =
        json!({ "name": "polite-narrate", "arguments": { "steps": 2 }, "_meta": { "progressToken": "p" } });
    let mut call = session.stream(json!("call"), "tools/call", narrate).await;
    let begun = call.event().await.unwrap().id.unwrap();
    while call.event().await.is_some() {}

    let resume = async |client: &Client, event: &str| {
        let headers = [
            ("mcp-session-id", session.id.as_str()),
            ("mcp-protocol-version", LEGACY),
            ("last-event-id", event),
        ];
        client.listen(&headers).await
    };
    let mut resumed = resume(&as_reader, &first).await;
    assert_eq!(updates_among_others(&mut resumed, 1).await, ["lib:page/static"], "{}", server.log());
    assert_eq!(resume(&as_reader, &begun).await.status, 400, "the response is for the roles of a writer");
    let mut resumed = resume(&as_writer, &first).await;
    assert_eq!(updates_among_others(&mut resumed, 2).await, ["lib:binary", "lib:page/static"]);
    assert_eq!(resume(&as_writer, &begun).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_roles_is_heard_by_those_whose_view_it_changes() {
    let server = server(ROLES).await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let (of_ada, of_bob) = (ada.session(LEGACY).await, bob.session(LEGACY).await);
    let (mut ada_hears, mut bob_hears) = (of_ada.listen(None).await, of_bob.listen(None).await);
    let (mut ada_subscribed, mut bob_subscribed) = (subscribe(&ada).await, subscribe(&bob).await);
    let changed = ROLES.replace("\"polite-echo\", ", "\"polite-echo\", \"polite-add\", ");
    std::fs::write(server.folder().join("plugport.toml"), format!("{changed}{}", both())).unwrap();
    let with_sessions = async { tokio::join!(hears(&mut ada_hears), hears(&mut bob_hears)) };
    let without = async { tokio::join!(hears(&mut ada_subscribed), hears(&mut bob_subscribed)) };
    let heard = tokio::join!(with_sessions, without);
    assert_eq!(heard, ((false, true), (false, true)), "{}", server.log());
    assert_eq!(tools(&bob).await, ["polite-add", "polite-echo"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_are_bounded_by_conditions() {
    let config = "[roles.some]\nwho = [\"token:bob\"]\nallow = [\"polite-echo\"]\n\
                  when = { \"polite-echo\" = { \"/message\" = [\"/data/**\"] } }\n\
                  [roles.all]\nwho = [\"token:ada\"]\nallow = [\"*\"]\n";
    let server = server(config).await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let echo = async |client: &Client, message: &str| {
        client.call("polite-echo", json!({ "message": message })).await
    };
    assert_eq!(echo(&bob, "/data/a").await.tool_text(), "/data/a");
    for message in ["/etc/passwd", "/data/../etc/passwd", "", "/data"] {
        let denied = echo(&bob, message).await;
        assert!(denied.tool_error().contains("/message"), "{message}: {denied:?}");
        assert_eq!(echo(&ada, message).await.tool_text(), message);
    }
    let is_bobs = |line: &Value| {
        line["event"] == "call" && line["caller"] == "token:bob" && line["outcome"] != "forbidden"
    };
    assert_eq!(server.wait_for_audit_lines(is_bobs, 1).await.len(), 1, "the guest ran once");
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_are_asked_for_before_the_call() {
    let config = format!(
        "[auth]\nanonymous = \"allow\"\n[plugins.polite]\nscopes = [\"tools\"]\n[plugins.polite.tools.add]\nscopes = [\"tools:write\"]\n{}{}",
        section("ada", ADA, "scopes = [\"tools\"]"),
        section("bob", BOB, "scopes = [\"tools\", \"tools:write\"]")
    );
    let server = Server::builder().guest("polite").config(&config).start().await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let add = json!({ "a": 1, "b": 2 });
    let denied = ada.call("polite-add", add.clone()).await;
    assert_eq!((denied.status, denied.error_code()), (403, -32010), "{denied:?}");
    assert_eq!(denied.response()["error"]["data"]["scopes"], json!(["tools", "tools:write"]));
    let challenge = denied.headers["www-authenticate"].to_str().unwrap();
    assert!(
        challenge.contains("insufficient_scope") && challenge.contains("\"tools tools:write\""),
        "{challenge}"
    );
    assert_eq!(bob.call("polite-add", add.clone()).await.status, 200);
    assert!(tools(&ada).await.contains(&"polite-add".to_owned()), "a client has to see what it may ask for");
    let nobody = Client::new(server.url()).call("polite-echo", json!({ "message": "x" })).await;
    assert_eq!(nobody.status, 401, "{nobody:?}");
    let challenge = nobody.headers["www-authenticate"].to_str().unwrap();
    assert!(challenge.contains("scope=\"tools\"") && !challenge.contains("error"), "{challenge}");
    let session = ada.session("2025-03-26").await;
    let call = json!({ "name": "polite-add", "arguments": add });
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call },
        { "jsonrpc": "2.0", "id": 2, "method": "ping" }
    ]);
    let both = session.post(batch).await;
    assert_eq!(both.status, 200);
    assert!(both.text.contains("-32010"), "{both:?}");
}
