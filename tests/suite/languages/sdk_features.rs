//! The guest `features` exists in every language, and one test drives it: all SDKs must have the same features.
//!
//! Each feature is called over Streamable HTTP with and without a session. `docs/languages.md` has the table.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use plugport_tests::answering_client::{AnsweringClient, CallTranscript};
use plugport_tests::http_client::Client;
use plugport_tests::languages::{Lang, features};
use plugport_tests::reload::install_bytes;
use plugport_tests::server::Server;
use serde_json::{Value, json};

/// Limits for a component of any language: an interpreter is compiled without optimisation.
pub(super) const LIMITS: &str = "\
[server]
initial_load_wait_ms = 120_000
[limits]
wasm_mib = 128
compile_ms = 600_000
compile_mib = 4096
memory_mib = 256
wall_ms = 60_000
";

/// Client requests.
const GRANTS: &str = "\
[plugins.features.grants]
sampling = true
elicitation = true
roots = true
";

/// How long a component may take to be compiled: an interpreter is large, and the test's build slow.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Each guest may have more.
const TOOLS: [&str; 10] =
    ["elicit", "fail", "log", "nest", "print", "progress", "refuse", "roots", "sample", "structured"];

#[tokio::test(flavor = "multi_thread")]
async fn every_feature_works_in_rust() {
    drive(Lang::Rust).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_feature_works_in_typescript() {
    drive(Lang::TypeScript).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_feature_works_in_javascript() {
    drive(Lang::JavaScript).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_feature_works_in_python() {
    drive(Lang::Python).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_feature_works_in_go() {
    drive(Lang::Go).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_feature_works_in_c() {
    drive(Lang::C).await;
}

async fn drive(lang: Lang) {
    let built = tokio::task::spawn_blocking(move || features(lang)).await.unwrap();
    let Some(component) = built else { return };
    let bytes = std::fs::read(&component).unwrap();
    let config = format!("{LIMITS}{GRANTS}");
    let server = Server::builder().file("features.wasm", &bytes).config(&config).start().await;
    published(&server, "features-log").await;
    for caller in AnsweringClient::both(server.url()).await {
        let driven = GuestUnderTest { lang, caller, server: &server };
        driven.tools_are_described().await;
        driven.speaks_while_it_works().await;
        driven.prints().await;
        driven.draws_other_numbers_in_each_instance().await;
        driven.asks_the_model().await;
        driven.asks_the_person().await;
        driven.asks_for_folders().await;
        driven.answers_with_structure().await;
        driven.rejects_what_is_nested_too_deeply().await;
        driven.fails_in_words().await;
        driven.survives_what_nobody_catches().await;
        driven.has_resources().await;
        driven.has_prompts_and_completes_them().await;
    }
    is_denied_without_a_grant(&server, &bytes).await;
}

/// Waits until a tool is there.
pub(super) async fn published(server: &Server, tool: &str) {
    let client = Client::new(server.url());
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let reply = client.request("tools/list", json!({})).await;
        let tools = reply.result()["tools"].as_array().unwrap();
        if tools.iter().any(|listed| listed["name"] == tool) {
            return;
        }
        assert!(Instant::now() < deadline, "there is no {tool}; the server said:\n{}", server.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A guest that one client drives.
struct GuestUnderTest<'s> {
    lang: Lang,
    caller: AnsweringClient,
    server: &'s Server,
}

impl GuestUnderTest<'_> {
    async fn call(&self, tool: &str, arguments: Value, responses: &[Value]) -> CallTranscript {
        self.caller.call(&format!("features-{tool}"), arguments, responses).await
    }

    /// The language and the revision, for failure messages.
    fn here(&self) -> String {
        format!("{} in {}", self.lang.name(), self.caller.revision())
    }

    async fn tools_are_described(&self) {
        let listed = self.caller.request("tools/list", json!({})).await;
        let tools = listed["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        for name in TOOLS {
            assert!(
                names.contains(&&*format!("features-{name}")),
                "{name} is not in {names:?}, {}",
                self.here()
            );
        }
        for tool in tools {
            let described = tool["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(described && tool["inputSchema"]["type"] == "object", "{}: {tool}", self.here());
        }
        let log = tools.iter().find(|tool| tool["name"] == "features-log").unwrap();
        assert_eq!(log["inputSchema"]["properties"]["text"]["type"], "string", "{}", self.here());
        assert_eq!(log["inputSchema"]["required"], json!(["text"]), "{}", self.here());
        let wrong = self.call("progress", json!({ "steps": "many" }), &[]).await;
        assert!(wrong.outcome["isError"] == true && wrong.text().contains("/steps"), "{wrong:?}");
    }

    async fn speaks_while_it_works(&self) {
        let text = format!("word of {}", self.here());
        let logged = self.call("log", json!({ "text": text }), &[]).await;
        assert_eq!(logged.text(), "logged", "{}", self.here());
        let logs = logged.notifications("notifications/message");
        let [log] = logs[..] else { panic!("one message was expected: {logged:?}") };
        assert_eq!((&log["level"], &log["data"]), (&json!("info"), &json!(text)), "{}", self.here());
        // A logger of the guest's own is named below the plugin.
        let logger = log["logger"].as_str().unwrap();
        assert!(["features", "features/features"].contains(&logger), "{logger} of {}", self.here());

        let done = self.call("progress", json!({ "steps": 3 }), &[]).await;
        assert_eq!(done.text(), "done", "{}", self.here());
        let steps = done.notifications("notifications/progress");
        let told: Vec<_> =
            steps.iter().map(|step| (step["progress"].as_f64(), step["total"].as_f64())).collect();
        assert_eq!(told, [1.0, 2.0, 3.0].map(|step| (Some(step), Some(3.0))), "{}", self.here());
        assert_eq!(steps[1]["message"], "step 2", "{}", self.here());
    }

    /// Printed text goes to the log of the operator, or to the client where a language calls that logging.
    async fn prints(&self) {
        let text = format!("print of {}", self.here());
        let printed = self.call("print", json!({ "text": text }), &[]).await;
        assert_eq!(printed.text(), "printed", "{}", self.here());
        let logs = printed.notifications("notifications/message");
        if !logs.iter().any(|log| log["data"].as_str().is_some_and(|data| data.contains(&text))) {
            self.server.wait_for_log(&text).await;
        }
    }

    /// An instance may begin as the memory image of a started program, but not with its seeds or its time.
    async fn draws_other_numbers_in_each_instance(&self) {
        if matches!(self.lang, Lang::Rust | Lang::C) {
            return;
        }
        let mut numbers = Vec::new();
        for _ in 0..2 {
            let drawn = self.call("draw", json!({}), &[]).await;
            let (number, time) = drawn.text().split_once(' ').unwrap();
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
            assert!((now - time.parse::<f64>().unwrap()).abs() < 60.0, "{time} at {now}, {}", self.here());
            numbers.push(number.to_owned());
        }
        assert_ne!(numbers[0], numbers[1], "{}", self.here());
    }

    async fn asks_the_model(&self) {
        let response = json!({ "role": "assistant", "model": "m",
                             "content": { "type": "text", "text": "forty-two" } });
        let transcript = self.call("sample", json!({ "question": "How many?" }), &[response]).await;
        assert_eq!(transcript.text(), "forty-two", "{}", self.here());
        let request = &transcript.client_requests[0];
        assert_eq!(request["maxTokens"].as_f64(), Some(100.0), "{request}");
        assert_eq!(request["messages"].as_array().map(Vec::len), Some(1), "{request}");
        let message = &request["messages"][0];
        let content =
            if message["content"].is_array() { &message["content"][0] } else { &message["content"] };
        assert_eq!((&message["role"], &content["text"]), (&json!("user"), &json!("How many?")), "{request}");
    }

    async fn asks_the_person(&self) {
        for (response, told) in [
            (json!({ "action": "accept", "content": { "answer": "blue" } }), "accepted: blue"),
            (json!({ "action": "decline" }), "declined"),
            (json!({ "action": "cancel" }), "cancelled"),
        ] {
            let transcript = self.call("elicit", json!({ "question": "Which colour?" }), &[response]).await;
            assert_eq!(transcript.text(), told, "{}", self.here());
            let request = &transcript.client_requests[0];
            let schema = &request["requestedSchema"];
            assert_eq!(request["message"], "Which colour?", "{request}");
            assert_eq!(schema["properties"]["answer"]["type"], "string", "{request}");
            assert_eq!(schema["required"], json!(["answer"]), "{request}");
        }
    }

    async fn asks_for_folders(&self) {
        let roots = json!({ "roots": [{ "uri": "file:///a", "name": "A" }, { "uri": "file:///b" }] });
        let transcript = self.call("roots", json!({}), &[roots]).await;
        assert_eq!(transcript.text(), "file:///a, file:///b", "{}", self.here());
    }

    async fn answers_with_structure(&self) {
        let listed = self.caller.request("tools/list", json!({})).await;
        let tools = listed["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == "features-structured").unwrap();
        let schema = &tool["outputSchema"];
        assert_eq!(schema["type"], "object", "{}: {tool}", self.here());
        let transcript = self.call("structured", json!({ "a": 6, "b": -7 }), &[]).await;
        let found = &transcript.outcome["structuredContent"];
        assert_eq!(found, &json!({ "sum": -1, "product": -42 }), "{}", self.here());
        assert!(jsonschema::is_valid(schema, found), "{}: {found} against {schema}", self.here());
        let said: Value = serde_json::from_str(transcript.text()).unwrap();
        assert_eq!(&said, found, "the same in text, in {}", self.here());
    }

    /// The SDK rejects a result that is nested too deeply for any client, before writing it exhausts the guest's stack.
    async fn rejects_what_is_nested_too_deeply(&self) {
        let fine = self.call("nest", json!({ "depth": 63 }), &[]).await;
        assert_ne!(fine.outcome["isError"], true, "{}: {fine:?}", self.here());
        // Rust also recurses to drop a value, which the guest's author would have to avoid.
        let depth = if self.lang == Lang::Rust { 500 } else { 2_000 };
        let deep = self.call("nest", json!({ "depth": depth }), &[]).await;
        assert_eq!(deep.outcome["isError"], true, "{}: {deep:?}", self.here());
        assert!(deep.text().contains("nested more than 64 deep"), "{}: {deep:?}", self.here());
    }

    async fn fails_in_words(&self) {
        let transcript = self.call("fail", json!({ "why": "no luck today" }), &[]).await;
        assert_eq!(transcript.outcome["isError"], true, "{}", self.here());
        assert_eq!(transcript.text(), "no luck today", "{}", self.here());
    }

    /// An uncaught exception is reported, in languages that have them: only their guests have `throw`.
    async fn survives_what_nobody_catches(&self) {
        let listed = self.caller.request("tools/list", json!({})).await;
        let tools = listed["tools"].as_array().unwrap();
        let throws = tools.iter().any(|tool| tool["name"] == "features-throw");
        let can = !matches!(self.lang, Lang::Rust | Lang::C);
        assert_eq!(throws, can, "{}", self.here());
        if throws {
            let transcript = self.call("throw", json!({}), &[]).await;
            assert!(
                transcript.outcome["isError"] == true || transcript.outcome["code"] == -32603,
                "{transcript:?}"
            );
        }
    }

    async fn has_resources(&self) {
        let listed = self.caller.request("resources/list", json!({})).await;
        let greeting = &listed["resources"][0];
        let expected = json!({ "uri": "features://greeting", "name": "greeting", "mimeType": "text/plain" });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&greeting[key], value, "{}", self.here());
        }
        let read = self.caller.request("resources/read", json!({ "uri": "features://greeting" })).await;
        let text = read["contents"][0]["text"].as_str().unwrap().to_lowercase();
        assert_eq!(text, format!("hello from {}", self.lang.name()), "{}", self.here());

        let listed = self.caller.request("resources/templates/list", json!({})).await;
        let template = &listed["resourceTemplates"][0];
        let named = (&template["uriTemplate"], &template["name"], &template["mimeType"]);
        assert_eq!(named, (&json!("features://echo/{word}"), &json!("echo"), &json!("text/plain")));
        let read = self.caller.request("resources/read", json!({ "uri": "features://echo/caf%C3%A9" })).await;
        assert_eq!(read["contents"][0]["text"], "café", "{}", self.here());
        assert_eq!(read["contents"][0]["uri"], "features://echo/caf%C3%A9", "{}", self.here());
    }

    async fn has_prompts_and_completes_them(&self) {
        let listed = self.caller.request("prompts/list", json!({})).await;
        let prompt = &listed["prompts"][0];
        assert_eq!(prompt["name"], "features-greet", "{}", self.here());
        let argument = &prompt["arguments"][0];
        assert_eq!((&argument["name"], &argument["required"]), (&json!("name"), &json!(true)), "{prompt}");
        let params = json!({ "name": "features-greet", "arguments": { "name": "Ada" } });
        let filled = self.caller.request("prompts/get", params).await;
        assert_eq!(filled["messages"].as_array().map(Vec::len), Some(1), "{filled}");
        let message = &filled["messages"][0];
        let said = (&message["role"], &message["content"]["text"]);
        assert_eq!(said, (&json!("user"), &json!("Greet Ada warmly.")), "{}", self.here());

        for (typed, expected) in [("A", json!(["Ada", "Alan"])), ("Gr", json!(["Grace"])), ("x", json!([]))] {
            let params = json!({ "ref": { "type": "ref/prompt", "name": "features-greet" },
                                 "argument": { "name": "name", "value": typed } });
            let completed = self.caller.request("completion/complete", params).await;
            assert_eq!(completed["completion"]["values"], expected, "{typed} in {}", self.here());
        }
    }
}

/// The same component beside the first, under a name without grants.
async fn is_denied_without_a_grant(server: &Server, component: &[u8]) {
    install_bytes(component, Path::new(server.folder()), "ungranted.wasm");
    published(server, "ungranted-refuse").await;
    for caller in AnsweringClient::both(server.url()).await {
        let transcript = caller.call("ungranted-refuse", json!({}), &[]).await;
        assert_eq!(transcript.outcome["isError"], true, "{transcript:?}");
        assert!(transcript.text().contains("does not grant `sampling`"), "{transcript:?}");
        let fine = caller.call("ungranted-fail", json!({ "why": "as before" }), &[]).await;
        assert_eq!(fine.text(), "as before");
    }
    assert!(!server.log().contains("trapped"), "{}", server.log());
}
