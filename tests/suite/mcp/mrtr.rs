//! MRTR: a guest's client requests to a stateless client. The call's result is `input_required`, and the same request
//! with `inputResponses` resumes it.

use std::time::Duration;

use plugport_tests::http_client::{Client, HttpResponse};
use plugport_tests::server::Server;
use serde_json::{Value, json};

use crate::mcp::session_client_requests::{
    GRANTED, capabilities, client_requests_server, form, model_says, prompt,
};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

pub(crate) struct AnsweringClient(Client);

impl AnsweringClient {
    pub(crate) fn of(server: &Server) -> Self {
        Self(Client::new(server.url()))
    }

    pub(crate) async fn call(&self, tool: &str, arguments: &Value, more: Value) -> HttpResponse {
        let mut params = json!({ "name": tool, "arguments": arguments });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.0.request_with_meta("tools/call", params, json!({ CAPABILITIES: capabilities() })).await
    }
}

fn request_args(key: &str) -> Value {
    json!({ "key": key, "method": "elicitation/create", "params": form() })
}

pub(crate) fn accepted(key: &str, name: &str) -> Value {
    json!({ key: { "action": "accept", "content": { "name": name } } })
}

pub(crate) fn state(reply: &HttpResponse) -> Value {
    assert_eq!(reply.result()["resultType"], "input_required", "{reply:?}");
    reply.result()["requestState"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_resumes_where_it_sent_its_client_request() {
    let server = client_requests_server("").await;
    let caller = AnsweringClient::of(&server);
    let suspended = caller.call("twice", &request_args("who"), json!({})).await;
    let client_request = &suspended.result()["inputRequests"]["who"];
    assert_eq!((suspended.status, client_request["method"].as_str()), (200, Some("elicitation/create")));
    assert_eq!(suspended.result()["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "plugport");
    let first = state(&suspended);
    let retry = json!({ "requestState": first, "inputResponses": accepted("who", "Ada") });
    let again = caller.call("twice", &request_args("who"), retry).await;
    let second = state(&again);
    assert_ne!(first, second);
    let retry = json!({ "requestState": second, "inputResponses": accepted("who", "Bob") });
    let done = caller.call("twice", &request_args("who"), retry).await;
    let text = done.tool_text();
    assert!(text.contains("Ada") && text.contains("then") && text.contains("Bob"), "{text}");
    assert_eq!(done.result()["resultType"], "complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_answers_are_asked_for_again_and_those_given_are_kept() {
    let server = client_requests_server("").await;
    let caller = AnsweringClient::of(&server);
    let client_requests = json!({ "requests": [
        { "key": "model", "method": "sampling/createMessage", "params": prompt() },
        request_args("who"),
        { "key": "folders", "method": "roots/list" },
    ] });
    let suspended = caller.call("batch", &client_requests, json!({})).await;
    assert_eq!(suspended.result()["inputRequests"].as_object().unwrap().len(), 3);
    assert!(suspended.result()["inputRequests"]["folders"]["params"].is_object());
    let some = json!({ "requestState": state(&suspended), "inputResponses": { "model": model_says("hi"), "other": 5 } });
    let again = caller.call("batch", &client_requests, some).await;
    let left: Vec<&String> = again.result()["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(left, ["folders", "who"]);
    let mut rest = accepted("who", "Ada");
    rest["folders"] = json!({ "roots": [{ "uri": "file:///work" }] });
    let retry = json!({ "requestState": state(&again), "inputResponses": rest });
    let done = caller.call("batch", &client_requests, retry).await;
    for part in ["hi", "Ada", "file:///work"] {
        assert!(done.tool_text().contains(part), "{done:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_in_advance_spare_the_round_trip() {
    let server = client_requests_server("").await;
    let caller = AnsweringClient::of(&server);
    let done =
        caller.call("ask", &request_args("who"), json!({ "inputResponses": accepted("who", "Ada") })).await;
    assert!(done.tool_text().contains("Ada"));
    // An invalid input response is requested again, as if it were missing.
    let suspended =
        caller.call("ask", &request_args("who"), json!({ "inputResponses": { "who": 12345 } })).await;
    assert!(state(&suspended).is_string());
    let rejected = caller.call("ask", &request_args("who"), json!({ "inputResponses": 5 })).await;
    assert_eq!(rejected.error_code(), -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_works_once_for_its_own_request_and_answers_are_checked() {
    let server = client_requests_server("").await;
    let caller = AnsweringClient::of(&server);
    let rejected = |reply: &HttpResponse| {
        (reply.error_code(), reply.response()["error"]["message"].as_str().unwrap().to_owned())
    };
    let request_state = state(&caller.call("ask", &request_args("who"), json!({})).await);
    let retry =
        |state: &Value, name: &str| json!({ "requestState": state, "inputResponses": accepted("who", name) });

    let mut forged = request_state.as_str().unwrap().to_owned();
    forged.replace_range(0..1, if forged.starts_with('A') { "B" } else { "A" });
    for forged in
        [json!(forged), json!(format!("{}-TAMPERED", request_state.as_str().unwrap())), json!("x"), json!("")]
    {
        let (code, why) = rejected(&caller.call("ask", &request_args("who"), retry(&forged, "Eve")).await);
        assert!(code == -32602 && why.contains("not issued by this server"), "{why}");
    }
    for (tool, arguments) in [("twice", request_args("who")), ("ask", request_args("other"))] {
        let (code, why) = rejected(&caller.call(tool, &arguments, retry(&request_state, "Eve")).await);
        assert!(code == -32602 && why.contains("belongs to another request"), "{why}");
    }
    let unfit =
        json!({ "requestState": request_state, "inputResponses": { "who": { "action": "perhaps" } } });
    let (code, why) = rejected(&caller.call("ask", &request_args("who"), unfit).await);
    assert!(code == -32602 && why.contains("`who`"), "{why}");
    // The rejected requests have not used up the request state.
    assert!(
        caller
            .call("ask", &request_args("who"), retry(&request_state, "Ada"))
            .await
            .tool_text()
            .contains("Ada")
    );
    let (code, why) = rejected(&caller.call("ask", &request_args("who"), retry(&request_state, "Ada")).await);
    assert!(code == -32602 && why.contains("already been used"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn suspended_calls_expire_and_make_way() {
    let server = client_requests_server(
        "[plugins.client_requests.limits]\nsuspended_calls = 1\n[server]\nsuspended_call_s = 2\n",
    )
    .await;
    let caller = AnsweringClient::of(&server);
    let first = state(&caller.call("ask", &request_args("who"), json!({})).await);
    let second = state(&caller.call("ask", &request_args("who"), json!({})).await);
    let retry = |state: &Value| json!({ "requestState": state, "inputResponses": accepted("who", "Ada") });
    let gone = caller.call("ask", &request_args("who"), retry(&first)).await;
    assert!(gone.text.contains("cancelled for a newer one") && gone.error_code() == -32602, "{gone:?}");
    tokio::time::sleep(Duration::from_millis(2_200)).await;
    let late = caller.call("ask", &request_args("who"), retry(&second)).await;
    assert!(late.text.contains("has expired") && late.error_code() == -32602, "{late:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_the_capability_is_told_which_one_is_needed() {
    let server = Server::builder().guest("client_requests").config(GRANTED).start().await;
    let client = Client::new(server.url());
    for (method, params, required) in [
        ("sampling/createMessage", prompt(), json!({ "sampling": {} })),
        ("roots/list", json!({}), json!({ "roots": {} })),
        ("elicitation/create", form(), json!({ "elicitation": {} })),
    ] {
        let reply = client.call("pass", json!({ "method": method, "params": params })).await;
        assert_eq!((reply.status, reply.error_code()), (400, -32021), "{reply:?}");
        assert_eq!(reply.response()["error"]["data"]["requiredCapabilities"], required);
    }
}
