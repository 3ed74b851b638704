//! Results link to, embed, and copy only the resources that their caller sees. A URI that no plugin publishes is
//! nobody's to hide.

use plugport_tests::http_client::{Client, HttpResponse};
use plugport_tests::server::Server;
use serde_json::{Value, json};

use super::{ADA, BOB, as_caller, both};

/// Bob sees two of the four resources.
const ROLES: &str = "\
[roles.everything]\nwho = [\"token:ada\"]\nallow = [\"*\"]\n\
[roles.some]\nwho = [\"token:bob\"]\n\
allow = [\"tool:resource_links-*\", \"prompt:resource_links-*\", \"resource:links:public\", \"resource:links:all\"]\n";

const URIS: [&str; 5] =
    ["links:public", "links:secret", "links:note/1", "https://example.com/a", "other:unknown"];

/// Those of [`URIS`] that Bob gets.
const OF_BOB: [&str; 3] = ["links:public", "https://example.com/a", "other:unknown"];

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

async fn server(roles: &str) -> Server {
    Server::builder().guest("resource_links").config(&format!("{roles}{}", both())).start().await
}

/// The URIs of the blocks of a result. A revision without links has them in texts.
fn uris(response: &HttpResponse) -> Vec<String> {
    let uri = |block: &Value| {
        let found = [&block["uri"], &block["resource"]["uri"], &block["text"]];
        let found = found.into_iter().find_map(Value::as_str).unwrap_or_else(|| panic!("{block}"));
        found.trim_start_matches("linked: ").to_owned()
    };
    response.result()["content"].as_array().unwrap().iter().map(uri).collect()
}

async fn given(client: &Client, tool: &str) -> Vec<String> {
    uris(&client.call(&format!("resource_links-{tool}"), json!({ "uris": URIS })).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_has_no_links_to_resources_that_its_caller_does_not_see() {
    let server = server(ROLES).await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    for tool in ["link", "embed"] {
        assert_eq!(given(&ada, tool).await, URIS, "{tool}");
        assert_eq!(given(&bob, tool).await, OF_BOB, "{tool}");
        for revision in REVISIONS {
            let session = bob.session(revision).await;
            let reply = session.call(&format!("resource_links-{tool}"), json!({ "uris": URIS })).await;
            assert_eq!(uris(&reply), OF_BOB, "{tool} {revision}");
        }
    }
    let only_hidden = bob.call("resource_links-link", json!({ "uris": ["links:secret"] })).await;
    assert_eq!(only_hidden.result()["content"], json!([]), "{only_hidden:?}");
    let many = vec!["links:note/1"; 1_000];
    let reply = bob.call("resource_links-link", json!({ "uris": many })).await;
    assert_eq!(reply.result()["content"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_has_no_messages_with_resources_that_its_caller_does_not_see() {
    let server = server(ROLES).await;
    for (token, uri, messages) in [
        (ADA, "links:secret", 2),
        (BOB, "links:secret", 1),
        (BOB, "links:note/7", 1),
        (BOB, "links:public", 2),
        (BOB, "other:unknown", 2),
    ] {
        let params = json!({ "name": "resource_links-tell", "arguments": { "uri": uri } });
        let reply = as_caller(&server, token).request("prompts/get", params).await;
        assert_eq!(reply.result()["messages"].as_array().unwrap().len(), messages, "{uri}: {reply:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_has_no_copies_of_resources_that_its_caller_does_not_see() {
    let server = server(ROLES).await;
    let (ada, bob) = (as_caller(&server, ADA), as_caller(&server, BOB));
    let read = |reply: &HttpResponse| {
        let contents = reply.result()["contents"].as_array().unwrap();
        contents.iter().map(|one| one["uri"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = json!({ "uri": "links:all" });
    let of_ada = ["links:public", "links:secret", "links:note/1", "links:all", "other:unknown"];
    let of_bob = ["links:public", "links:all", "other:unknown"];
    assert_eq!(read(&ada.request("resources/read", all.clone()).await), of_ada);
    assert_eq!(read(&bob.request("resources/read", all.clone()).await), of_bob);
    for revision in REVISIONS {
        let session = bob.session(revision).await;
        assert_eq!(read(&session.request("resources/read", all.clone()).await), of_bob, "{revision}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_roles_every_link_stays() {
    let server = server("").await;
    assert_eq!(given(&as_caller(&server, BOB), "link").await, URIS);
}
