//! Clients whose arguments are not what they look like.
//!
//! serde_json reads an object with the name `$serde_json::private::RawValue` as the JSON in its text. Guests in other
//! languages and the conditions of roles read the object itself. So arguments with such a name must reach no guest,
//! whichever way the server validates them.

use plugport_tests::http_client::{Client, LEGACY};
use plugport_tests::server::Server;
use serde_json::{Value, json};

const RAW_VALUE: &str = "$serde_json::private::RawValue";
const NUMBER: &str = "$serde_json::private::Number";

/// Has an open schema of scalars, which short arguments are compared with before they are parsed.
const SCALARS: &str = "schemas-odd_order";

/// Has a schema with references, so that all arguments are parsed.
const REFERENCES: &str = "schemas-definitions";

const FUNCTION: &str = "functions-arithmetic-add";

/// Calls with this name at the top of the arguments, and below.
fn disguised(name: &str) -> Vec<(&'static str, Value)> {
    let deep = (0..20).fold(json!({ name: "5" }), |inner, _| json!([{ "a": inner }]));
    vec![
        (SCALARS, json!({ name: r#"{"z":"x","a":1}"# })),
        (SCALARS, json!({ "z": "x", "a": 1, name: "5" })),
        (SCALARS, json!({ "z": "x", "a": 1, "more": deep })),
        (REFERENCES, json!({ name: r#"{"head":{"name":"x"}}"# })),
        (REFERENCES, json!({ "head": { "name": "x", "next": { "name": "y", name: "5" } } })),
        (REFERENCES, json!({ "head": { "name": "x", "more": deep } })),
        (FUNCTION, json!({ name: r#"{"a":2,"b":40}"# })),
        (FUNCTION, json!({ "a": 2, "b": { name: "40" } })),
        (FUNCTION, json!({ "a": 2, "b": 40, "more": deep })),
    ]
}

#[tokio::test]
async fn arguments_that_serde_json_takes_for_others_are_rejected_and_run_no_guest() {
    let server = Server::builder().guest("schemas").guest("functions-arithmetic").start().await;
    let client = Client::new(server.url());
    let session = client.session(LEGACY).await;
    for (tool, arguments) in [RAW_VALUE, NUMBER].into_iter().flat_map(disguised) {
        let stateless = client.call(tool, arguments.clone()).await;
        let of_session = session.call(tool, arguments.clone()).await;
        for reply in [stateless, of_session] {
            assert_eq!((reply.status, reply.error_code()), (200, -32602), "{arguments}: {reply:?}");
            let told = reply.response()["error"]["message"].as_str().unwrap();
            let expected = "`params.arguments`: a name must not begin with `$serde_json::private::`";
            assert!(told.contains(expected) && !told.contains("column"), "{arguments}: {told}");
        }
    }
    // Such a text is as good as any other where it is no name.
    let honest = json!({ "z": RAW_VALUE, "a": 1 });
    assert_eq!(client.call(SCALARS, honest.clone()).await.tool_text(), honest.to_string());
    let sum = session.call(FUNCTION, json!({ "a": 2, "b": 40 })).await;
    assert_eq!(sum.result()["structuredContent"], json!({ "result": 42 }));
    let calls = server.wait_for_audit_lines(|line| line["function"] == "tools/call", 2).await;
    assert_eq!(calls.len(), 2, "another call reached a guest: {calls:?}");
}
