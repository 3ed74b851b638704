//! Resources, prompts and completion, in every revision.

use plugport_tests::http_client::{Client, HttpResponse, STATELESS, stateless_meta};
use plugport_tests::server::Server;
use serde_json::{Value, json};

async fn library() -> Server {
    Server::builder().guest("library").start().await
}

#[tokio::test]
async fn resources_are_listed_and_read_in_every_revision() {
    let server = library().await;
    let client = Client::new(server.url());
    let listed = client.request("resources/list", json!({})).await;
    let uris: Vec<&str> = listed.result()["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["uri"].as_str().unwrap())
        .collect();
    assert_eq!(uris, ["lib:binary", "lib:page/static"], "in order, without what cannot be published");
    assert!(listed.result()["ttlMs"].is_u64() && listed.result()["cacheScope"] == "public");
    let templates = client.request("resources/templates/list", json!({})).await;
    assert_eq!(templates.result()["resourceTemplates"][0]["uriTemplate"], "lib:item/{id}/data");
    assert_eq!(templates.result()["resourceTemplates"].as_array().unwrap().len(), 1);
    let read = client.request("resources/read", json!({ "uri": "lib:item/7/data" })).await;
    assert_eq!(read.result()["contents"][0]["text"], r#"{"id":"7"}"#);
    assert_eq!((&read.result()["ttlMs"], &read.result()["cacheScope"]), (&json!(0), &json!("private")));
    let binary = client.request("resources/read", json!({ "uri": "lib:binary" })).await;
    assert_eq!(binary.result()["contents"][0]["blob"], "iVBORw==");
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = client.session(revision).await;
        let listed = session.request("resources/list", json!({})).await;
        let first = &listed.result()["resources"][0];
        assert_eq!(first["icons"].is_array(), revision >= "2025-11-25", "{revision}: {first}");
        assert_eq!(first["title"].is_string(), revision >= "2025-06-18", "{revision}: {first}");
        assert_eq!(first["size"], 5, "{revision}");
        assert!(listed.result().get("ttlMs").is_none(), "{revision}");
        let read = session.request("resources/read", json!({ "uri": "lib:page/static" })).await;
        assert_eq!(read.result()["contents"][0]["text"], "static", "{revision}");
    }
}

#[tokio::test]
async fn a_missing_item_has_the_error_of_its_revision() {
    let server = library().await;
    let client = Client::new(server.url());
    let session = client.session("2025-11-25").await;
    for uri in ["lib:nothing", "other:thing", "lib:item/missing/data"] {
        let params = json!({ "uri": uri });
        let newest = client.request("resources/read", params.clone()).await;
        assert_eq!((newest.error_code(), &newest.response()["error"]["data"]["uri"]), (-32602, &json!(uri)));
        let older = session.request("resources/read", params).await;
        assert_eq!((older.error_code(), &older.response()["error"]["data"]["uri"]), (-32002, &json!(uri)));
    }
    let crashed = client.request("resources/read", json!({ "uri": "lib:item/crash/data" })).await;
    assert_eq!(crashed.error_code(), -32603);
    assert!(crashed.text.contains("the resource trapped"), "{}", crashed.text);
    assert_eq!(client.request("prompts/get", json!({ "name": "library-none" })).await.error_code(), -32602);
    assert_eq!(client.request("prompts/get", json!({ "name": "review" })).await.error_code(), -32602);
}

#[tokio::test]
async fn prompts_are_named_like_tools_and_take_texts() {
    let server = library().await;
    let client = Client::new(server.url());
    let listed = client.request("prompts/list", json!({})).await;
    let prompt = &listed.result()["prompts"][0];
    assert_eq!((&prompt["name"], &prompt["title"]), (&json!("library-review"), &json!("Review")));
    assert_eq!(prompt["arguments"][0], json!({ "name": "topic", "title": "Titled topic", "required": true }));
    let get = async |arguments: Value| {
        client.request("prompts/get", json!({ "name": "library-review", "arguments": arguments })).await
    };
    let filled = get(json!({ "topic": "a\"b", "other": "c" })).await;
    assert_eq!(filled.result()["messages"][0]["content"]["text"], "topic=a\"b,other=c");
    assert_eq!(filled.result()["messages"][1]["content"]["type"], "audio");
    assert_eq!(get(json!({ "tone": "warm" })).await.error_code(), -32602, "a required argument is missing");
    assert_eq!(get(json!({ "topic": 5 })).await.error_code(), -32602, "arguments are texts");
    let oldest = client.session("2024-11-05").await;
    let params = json!({ "name": "library-review", "arguments": { "topic": "x" } });
    let filled = oldest.request("prompts/get", params).await;
    assert_eq!(filled.result()["messages"][1]["content"]["type"], "text");
}

#[tokio::test]
async fn completion_knows_prompts_templates_and_resources() {
    let server = Server::builder().guest("library").guest("polite").start().await;
    let client = Client::new(server.url());
    let complete = async |reference: Value| -> HttpResponse {
        let argument = json!({ "name": "topic", "value": "v" });
        let context = json!({ "arguments": { "tone": "warm" } });
        let params = json!({ "ref": reference, "argument": argument, "context": context });
        client.request("completion/complete", params).await
    };
    let prompt = complete(json!({ "type": "ref/prompt", "name": "library-review" })).await;
    let completion = &prompt.result()["completion"];
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!((&completion["hasMore"], &completion["total"]), (&json!(true), &json!(150)));
    assert_eq!(completion["values"][0], "review topic 1", "the plugin's own name, and what is settled");
    for uri in ["lib:item/{id}/data", "lib:item/7/data", "lib:binary"] {
        let reply = complete(json!({ "type": "ref/resource", "uri": uri })).await;
        assert_eq!(reply.result()["completion"]["values"][0], format!("{uri} topic 1"));
    }
    for unknown in [
        json!({ "type": "ref/prompt", "name": "none" }),
        json!({ "type": "ref/resource", "uri": "lib:none" }),
        json!({ "type": "ref/tool", "name": "library-write" }),
    ] {
        assert_eq!(complete(unknown).await.error_code(), -32602);
    }
}

#[tokio::test]
async fn a_cursor_belongs_to_one_list() {
    let server = Server::builder().guest("library").config("[server]\npage_size = 1\n").start().await;
    let client = Client::new(server.url());
    let cursor = client.request("resources/list", json!({})).await.result()["nextCursor"].clone();
    let next = client.request("resources/list", json!({ "cursor": cursor })).await;
    assert_eq!(next.result()["resources"][0]["uri"], "lib:page/static");
    assert!(next.result().get("nextCursor").is_none());
    assert_eq!(client.request("tools/list", json!({ "cursor": cursor })).await.error_code(), -32602);
}

#[tokio::test]
async fn lists_follow_what_a_plugin_says_has_changed() {
    let data = tempfile::tempdir().unwrap();
    let grant = format!(
        "[plugins.library.grants]\ndirs = [{{ host = {:?}, guest = \"/data\", write = true }}]\n",
        data.path()
    );
    let server = Server::builder().guest("library").config(&grant).start().await;
    let client = Client::new(server.url());
    for pages in 1..=3_usize {
        client.call("library-write", json!({})).await;
        let shown = async {
            loop {
                let listed = client.request("resources/list", json!({})).await;
                if listed.result()["resources"].as_array().unwrap().len() == 2 + pages {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(5), shown).await.expect("the list follows");
    }
    let read = client.request("resources/read", json!({ "uri": "lib:page/page2" })).await;
    assert_eq!(read.result()["contents"][0]["text"], "page2");
}

#[tokio::test]
async fn headers_repeat_what_a_schema_says() {
    let server = library().await;
    server.wait_for_log("not published: bad: an `x-mcp-header`").await;
    let client = Client::new(server.url());
    let call = async |region: Option<&str>, arguments: Value| {
        let mut headers = vec![
            ("mcp-protocol-version", STATELESS),
            ("mcp-method", "tools/call"),
            ("mcp-name", "library-region"),
        ];
        headers.extend(region.map(|region| ("mcp-param-region", region)));
        let params = json!({ "name": "library-region", "arguments": arguments, "_meta": stateless_meta() });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        client.post(&headers, body.to_string()).await
    };
    assert_eq!(call(Some("eu"), json!({ "region": "eu" })).await.tool_text(), "region");
    assert_eq!(call(Some("=?base64?ZXU=?="), json!({ "region": "eu" })).await.tool_text(), "region");
    assert_eq!(call(None, json!({})).await.tool_text(), "region");
    for (header, arguments) in [
        (None, json!({ "region": "eu" })),
        (Some("us"), json!({ "region": "eu" })),
        (Some("=?base64?!?="), json!({ "region": "eu" })),
    ] {
        let reply = call(header, arguments).await;
        assert_eq!((reply.status, reply.error_code()), (400, -32020), "{header:?}");
    }
}

#[tokio::test]
async fn structured_content_alone_is_said_in_text_too() {
    let server = library().await;
    let reply = Client::new(server.url()).call("library-silent", json!({})).await;
    assert_eq!(reply.tool_text(), r#"{"spoken":false}"#);
}
