//! A call of a client that knows tasks, until its end: the client declines whatever is asked, and fetches the result.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::http_client::{Client, HttpResponse};

/// The time between two looks at a task.
const PAUSE: Duration = Duration::from_millis(5);

/// Calls a tool. Returns what the call was answered, or the result of the task that it became, as if it were that.
pub(super) async fn call(client: &Client, tool: &str, arguments: Value) -> HttpResponse {
    let created = request(client, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
    if created.result()["resultType"] != "task" {
        return created;
    }
    let id = created.result()["taskId"].clone();
    loop {
        let got = request(client, "tasks/get", json!({ "taskId": id })).await;
        let task = got.result().clone();
        match task["status"].as_str() {
            Some("working") => tokio::time::sleep(PAUSE).await,
            Some("input_required") => {
                let keys = task["inputRequests"].as_object().into_iter().flat_map(Map::keys);
                let declined: Map<String, Value> =
                    keys.map(|key| (key.clone(), json!({ "action": "decline" }))).collect();
                request(client, "tasks/update", json!({ "taskId": id, "inputResponses": declined })).await;
            }
            _ => return HttpResponse { messages: vec![json!({ "result": task["result"] })], ..got },
        }
    }
}

async fn request(client: &Client, method: &str, params: Value) -> HttpResponse {
    let declared = json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let capabilities = json!({ "io.modelcontextprotocol/clientCapabilities": declared });
    client.request_with_meta(method, params, capabilities).await
}
