//! Tokens of this server that come back altered, for another request or too late: cursors of each list, and request
//! states. Each gets an error.

use plugport_tests::http_client::{Client, HttpResponse};
use plugport_tests::server::Server;
use serde_json::{Value, json};

use crate::mcp::conformance::granted;

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Every list.
const LISTS: [&str; 4] = ["tools/list", "resources/list", "prompts/list", "resources/templates/list"];

/// The methods whose result may be `input_required`, and the key of the guest's input request.
const SUSPENDING: [(&str, &str, &str); 2] = [
    ("tools/call", "test_input_required_result_elicitation", "user_name"),
    ("prompts/get", "test_input_required_result_prompt", "user_context"),
];

async fn request(client: &Client, method: &str, params: Value) -> HttpResponse {
    client.request_with_meta(method, params, json!({ CAPABILITIES: { "elicitation": {} } })).await
}

/// `text` with each of its characters replaced by another of its kind, in turn, and with its end cut off or grown.
fn altered(text: &str) -> Vec<String> {
    let other = |character: char| match character {
        'a'..='e' | 'A'..='Y' | 'g'..='y' | '0'..='8' => (character as u8 + 1).into(),
        '-' => '_',
        _ => '0',
    };
    let replace = |at: usize| {
        let each = text.chars().enumerate();
        each.map(|(index, found)| if index == at { other(found) } else { found }).collect()
    };
    let mut all: Vec<String> = (0..text.len()).map(replace).collect();
    all.extend([
        text[..text.len() - 1].to_owned(),
        format!("{text}A"),
        format!("{text} "),
        format!(" {text}"),
    ]);
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn cursors_of_other_lists_and_of_none() {
    let state = tempfile::tempdir().unwrap();
    let config = granted(state.path()).replace("[server]\n", "[server]\npage_size = 1\n");
    let server = Server::builder().guest("conformance").config(&config).start().await;
    let client = Client::new(server.url());
    let session = client.session("2025-11-25").await;
    for own in LISTS {
        let first = client.request(own, json!({})).await;
        // There is only one template, which needs no second page.
        let Some(cursor) = first.result()["nextCursor"].as_str() else {
            assert_eq!(own, "resources/templates/list");
            continue;
        };
        assert!(client.request(own, json!({ "cursor": cursor })).await.result().is_object());
        let (list, position) = cursor.rsplit_once('-').unwrap();
        let of_no_list = altered(list).into_iter().map(|list| format!("{list}-{position}"));
        let of_no_place = ["99999", "-1", "", "x"].map(|position| format!("{list}-{position}"));
        let senseless = [String::new(), "-".to_owned(), "x".repeat(10_000)];
        for forged in of_no_list.chain(of_no_place).chain(senseless) {
            let params = json!({ "cursor": forged });
            assert_eq!(client.request(own, params.clone()).await.error_code(), -32602, "{own}: {forged}");
            assert_eq!(session.request(own, params).await.error_code(), -32602, "{own}: {forged}");
        }
        for other in LISTS.iter().filter(|other| **other != own) {
            let reply = client.request(other, json!({ "cursor": cursor })).await;
            assert_eq!(reply.error_code(), -32602, "a cursor of {own} on {other}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_of_a_list_that_has_changed() {
    let data = tempfile::tempdir().unwrap();
    let config = format!(
        "[server]\npage_size = 1\n[plugins.library.grants]\n\
         dirs = [{{ host = {:?}, guest = \"/data\", write = true }}]\n",
        data.path()
    );
    let server = Server::builder().guest("library").config(&config).start().await;
    let client = Client::new(server.url());
    let cursor = client.request("resources/list", json!({})).await.result()["nextCursor"].clone();
    let next = async || client.request("resources/list", json!({ "cursor": cursor })).await;
    assert!(next().await.result()["resources"].is_array(), "as long as nothing changes");
    client.call("library-write", json!({})).await;
    let rejected = async {
        while next().await.response().get("error").is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), rejected).await.expect("the cursor is stale");
    assert_eq!(next().await.error_code(), -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn request_states_with_any_character_altered_are_rejected() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::builder().guest("conformance").config(&granted(state.path())).start().await;
    let client = Client::new(server.url());
    for (method, name, key) in SUSPENDING {
        let suspended = request(&client, method, json!({ "name": name })).await;
        let issued = suspended.result()["requestState"].as_str().unwrap();
        let responses =
            json!({ key: { "action": "accept", "content": { "name": "Ada", "context": "Ada" } } });
        let with = |state: &str| json!({ "name": name, "requestState": state, "inputResponses": responses });
        for forged in altered(issued) {
            let reply = request(&client, method, with(&forged)).await;
            assert_eq!((reply.status, reply.error_code()), (200, -32602), "{method}: {forged}");
        }
        let done = request(&client, method, with(issued)).await;
        assert!(done.text.contains("Ada"), "none of that has used it up: {done:?}");
        let replayed = request(&client, method, with(issued)).await;
        assert_eq!((replayed.status, replayed.error_code()), (200, -32602), "{method}: {replayed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn request_states_of_other_requests() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::builder().guest("conformance").config(&granted(state.path())).start().await;
    let client = Client::new(server.url());
    for (method, name, _) in SUSPENDING {
        let suspended = request(&client, method, json!({ "name": name })).await;
        let issued = &suspended.result()["requestState"];
        for (other, params) in [
            ("tools/call", json!({ "name": "test_simple_text" })),
            ("tools/call", json!({ "name": SUSPENDING[0].1, "arguments": { "more": 1 } })),
            ("prompts/get", json!({ "name": "test_simple_prompt" })),
            ("prompts/get", json!({ "name": SUSPENDING[1].1, "arguments": { "more": "1" } })),
            ("resources/read", json!({ "uri": "test://static-text" })),
        ] {
            let mut foreign = params;
            foreign["requestState"] = issued.clone();
            let reply = request(&client, other, foreign.clone()).await;
            assert_eq!(reply.error_code(), -32602, "a state of {method} on {other} {foreign}");
        }
        for wrong in [json!(5), json!([]), json!({}), json!(true)] {
            let reply = request(&client, method, json!({ "name": name, "requestState": wrong })).await;
            assert_eq!(reply.error_code(), -32602, "{wrong}");
        }
    }
}
