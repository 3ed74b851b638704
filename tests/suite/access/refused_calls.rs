//! What the audit has of calls that roles, scopes and conditions forbid, and of the roles that allow a call. A call
//! that waits for its client is decided again when the client responds.

use std::time::{Duration, Instant};

use plugport_tests::http_client::{STATELESS, stateless_meta};
use plugport_tests::server::Server;
use serde_json::{Value, json};

use super::{ADA, BOB, as_caller, both};
use crate::mcp::session_client_requests::{GRANTED, capabilities, form};

const CONFIG: &str = "\
[plugins.polite.tools.add]
scopes = [\"tools:write\"]
[roles.everything]
who = [\"token:ada\"]
allow = [\"*\"]
[roles.also]
who = [\"authenticated\"]
allow = [\"polite-whoami\"]
[roles.little]
who = [\"token:bob\"]
allow = [\"polite-echo\", \"polite-add\"]
when = { \"polite-echo\" = { \"/message\" = [\"/data/**\"] } }
";

fn is_forbidden(line: &Value) -> bool {
    line["outcome"] == "forbidden"
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_forbidden_has_a_line_with_the_reason() {
    let config = format!("{CONFIG}{}", both());
    let server = Server::builder().guest("polite").config(&config).start().await;
    let bob = as_caller(&server, BOB);
    assert_eq!(bob.call("polite-nothing", json!({})).await.error_code(), -32602);
    assert_eq!(bob.call("polite-fail", json!({ "reason": "no" })).await.error_code(), -32602);
    let hidden = server.wait_for_audit_lines(is_forbidden, 1).await;
    assert_eq!(bob.call("polite-add", json!({ "a": 1, "b": 2 })).await.status, 403);
    bob.call("polite-echo", json!({ "message": "/etc/passwd" })).await.tool_error();
    let lines = server.wait_for_audit_lines(is_forbidden, 3).await;
    let of = |field: &str| lines.iter().map(|line| line[field].clone()).collect::<Vec<_>>();
    assert_eq!(hidden[..], lines[..1]);
    assert_eq!(of("name"), ["fail", "add", "echo"], "{lines:?}");
    assert_eq!(of("reason"), ["hidden", "scopes", "argument"]);
    for line in &lines {
        assert_eq!((&line["event"], &line["plugin"]), (&json!("call"), &json!("polite")), "{line}");
        assert_eq!((&line["caller"], &line["function"]), (&json!("token:bob"), &json!("tools/call")));
        assert!(line["digest"].as_str().unwrap().starts_with("sha256:") && line["roles"].is_null(), "{line}");
    }
    assert_eq!(lines[1]["scopes"], "tools:write");
    let at = config.lines().position(|line| line.starts_with("when")).unwrap() + 1;
    let denied = &lines[2];
    assert_eq!(
        (&denied["argument"], &denied["role"], &denied["line"]),
        (&json!("/message"), &json!("little"), &json!(at))
    );
    assert!(!denied.to_string().contains("passwd"), "arguments are not written down: {denied}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_allowed_has_the_roles_that_allow_it() {
    let server = Server::builder().guest("polite").config(&format!("{CONFIG}{}", both())).start().await;
    as_caller(&server, ADA).call("polite-whoami", json!({})).await;
    as_caller(&server, BOB).call("polite-echo", json!({ "message": "/data/a" })).await;
    let is_clients = |line: &Value| line["event"] == "call" && line["caller"] != "server";
    let lines = server.wait_for_audit_lines(is_clients, 2).await;
    assert_eq!((&lines[0]["roles"], &lines[1]["roles"]), (&json!("also, everything"), &json!("little")));
    let listing = |line: &Value| line["function"] == "listing";
    assert!(server.wait_for_audit_lines(listing, 1).await[0].get("roles").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn invented_uris_of_a_hidden_template_have_one_name_and_two_lines() {
    let roles = "[roles.some]\nwho = [\"token:bob\"]\nallow = [\"resource:lib:page/static\"]\n";
    let config = format!("{roles}{}", both());
    let server = Server::builder().guest("library").config(&config).start().await;
    let bob = as_caller(&server, BOB);
    let session = bob.session("2025-06-18").await;
    // Few enough for the ten seconds in which they share one line.
    for number in 0..20 {
        let uri = json!({ "uri": format!("lib:item/{number}/data") });
        assert_eq!(session.request("resources/read", uri).await.error_code(), -32002);
        let invented = json!({ "uri": format!("lib:invented/{number}") });
        assert_eq!(session.request("resources/read", invented).await.error_code(), -32002);
    }
    session.request("resources/subscribe", json!({ "uri": "lib:binary" })).await.error_code();
    let lines = server.wait_for_audit_lines(is_forbidden, 2).await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(
        (&lines[0]["function"], &lines[0]["name"]),
        (&json!("resources/read"), &json!("lib:item/{id}/data"))
    );
    assert_eq!(
        (&lines[1]["function"], &lines[1]["name"]),
        (&json!("resources/subscribe"), &json!("lib:binary"))
    );
    server.signal("-TERM").await;
    let counted = server.wait_for_audit_lines(|line| line["count"].is_number(), 1).await;
    assert_eq!((&counted[0]["count"], &counted[0]["reason"]), (&json!(19), &json!("hidden")));
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_resources_of_a_subscription_have_lines() {
    let roles = "[roles.some]\nwho = [\"token:bob\"]\nallow = [\"resource:lib:page/static\"]\n";
    let config = format!("{roles}{}", both());
    let server = Server::builder().guest("library").config(&config).start().await;
    let uris = ["lib:page/static", "lib:binary", "lib:item/7/data", "lib:invented"];
    let params = json!({ "notifications": { "resourceSubscriptions": uris }, "_meta": stateless_meta() });
    let body = json!({ "jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params });
    let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "subscriptions/listen")];
    let mut stream = as_caller(&server, BOB).stream(&headers, &body).await;
    let acknowledged = stream.message().await;
    let accepted = acknowledged["params"]["notifications"]["resourceSubscriptions"].as_array().unwrap();
    assert_eq!(accepted.len(), uris.len(), "a hidden URI is accepted as an unknown one is: {acknowledged}");
    let lines = server.wait_for_audit_lines(is_forbidden, 2).await;
    let named: Vec<_> =
        lines.iter().map(|line| (&line["function"], &line["name"], &line["reason"])).collect();
    let (function, reason) = (&json!("subscriptions/listen"), &json!("hidden"));
    let expected =
        [(function, &json!("lib:binary"), reason), (function, &json!("lib:item/{id}/data"), reason)];
    assert_eq!(named, expected);
}

/// Waits until Bob's list of tools is empty.
async fn wait_until_hidden(server: &Server) {
    let (bob, deadline) = (as_caller(server, BOB), Instant::now() + Duration::from_secs(10));
    loop {
        let listed = bob.request("tools/list", json!({})).await;
        if listed.result()["tools"] == json!([]) {
            return;
        }
        assert!(Instant::now() < deadline, "the roles never changed:\n{}", server.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_its_client_is_decided_again_when_the_client_responds() {
    let with = |allow: &str| {
        format!("[roles.some]\nwho = [\"token:bob\"]\nallow = [\"{allow}\"]\n{GRANTED}{}", both())
    };
    let server = Server::builder().guest("client_requests").config(&with("tool:ask")).start().await;
    let session = as_caller(&server, BOB).session_with("2025-11-25", capabilities()).await;
    let arguments = json!({ "method": "elicitation/create", "params": form() });
    let call = json!({ "name": "ask", "arguments": arguments });
    let mut goes_on = session.stream(json!(1), "tools/call", call.clone()).await;
    let client_request = goes_on.message().await;
    let accepted = json!({ "action": "accept", "content": { "name": "Ada" } });
    session.respond(&client_request, accepted.clone()).await;
    assert!(goes_on.message().await["result"].to_string().contains("Ada"));

    let mut ends = session.stream(json!(2), "tools/call", call).await;
    let client_request = ends.message().await;
    std::fs::write(server.folder().join("plugport.toml"), with("tool:other")).unwrap();
    wait_until_hidden(&server).await;
    session.respond(&client_request, accepted).await;
    let response = ends.message().await;
    assert_eq!((&response["id"], &response["error"]["code"]), (&json!(2), &json!(-32602)), "{response}");
    let lines = server.wait_for_audit_lines(is_forbidden, 1).await;
    assert_eq!((&lines[0]["name"], &lines[0]["reason"]), (&json!("ask"), &json!("hidden")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_scopes_loads_nothing_again() {
    let with = |scopes: &str| format!("[plugins.polite]\nscopes = [{scopes}]\n{}", both());
    let server = Server::builder().guest("polite").config(&with("\"a\"")).start().await;
    let ada = as_caller(&server, ADA);
    let needed = async || {
        let denied = ada.call("polite-echo", json!({ "message": "x" })).await;
        denied.response()["error"]["data"]["scopes"].clone()
    };
    assert_eq!(needed().await, json!(["a"]));
    std::fs::write(server.folder().join("plugport.toml"), with("\"a\", \"b\"")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while needed().await != json!(["a", "b"]) {
        assert!(Instant::now() < deadline, "the scopes never changed:\n{}", server.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // A reload would begin within the two seconds in which the folder is polled.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(server.wait_for_audit("load", 1).await.len(), 1, "{}", server.log());
}
