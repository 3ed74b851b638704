//! HTTP, the key-value store and the settings in every language: four tools of the guest `features` use them through
//! its SDK, and one test drives them all with and without a session.
//!
//! What the interfaces do for any plugin is in `grants`.

use std::path::Path;

use plugport_tests::answering_client::{AnsweringClient, CallTranscript};
use plugport_tests::bad_web_server::BadWebServer;
use plugport_tests::build::guest;
use plugport_tests::http_client::Client;
use plugport_tests::languages::{Lang, features};
use plugport_tests::reload::install_bytes;
use plugport_tests::server::Server;
use serde_json::{Value, json};

use super::sdk_features::{LIMITS, published};

/// A setting and a secret, as `greet-configured` reads them.
const GREETING: &str = "Good morning";
const SECRET: &str = "c4nary-0815";

/// The variable of the server with the secret.
const VARIABLE: &str = "PLUGPORT_TEST_TOKEN";

/// Where nobody listens.
const CLOSED: &str = "http://127.0.0.1:1";

/// A store of a MiB with a value of this length has room for no key of `LONG_NAME` bytes.
const FILLED: usize = (1 << 20) - 200;
const LONG_NAME: usize = 200;

#[tokio::test(flavor = "multi_thread")]
async fn every_host_interface_works_in_rust() {
    drive(Lang::Rust).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_host_interface_works_in_typescript() {
    drive(Lang::TypeScript).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_host_interface_works_in_javascript() {
    drive(Lang::JavaScript).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_host_interface_works_in_python() {
    drive(Lang::Python).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_host_interface_works_in_go() {
    drive(Lang::Go).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_host_interface_works_in_c() {
    drive(Lang::C).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_host_interface_works_in_cpp() {
    drive(Lang::Cpp).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_host_interface_works_in_zig() {
    drive(Lang::Zig).await;
}

async fn drive(lang: Lang) {
    let built = tokio::task::spawn_blocking(move || features(lang)).await.unwrap();
    let Some(component) = built else { return };
    let component = std::fs::read(&component).unwrap();
    let filler = std::fs::read(guest("kv_probe")).unwrap();
    let web = BadWebServer::start().await;
    let builder = Server::builder().file("features.wasm", &component).file("small.wasm", &filler);
    let server = builder.config(&config(&web)).env(VARIABLE, SECRET).start().await;
    published(&server, "features-fetch-text").await;
    published(&server, "small-set").await;
    fill_small_store(&server).await;
    install_bytes(&component, Path::new(server.folder()), "small.wasm");
    install_bytes(&component, Path::new(server.folder()), "ungranted.wasm");
    published(&server, "small-count-visits").await;
    published(&server, "ungranted-fetch-text").await;
    for caller in AnsweringClient::both(server.url()).await {
        let driven = GuestUnderTest { lang, caller, server: &server, web: &web };
        driven.fetches().await;
        driven.says_why_a_request_fails().await;
        driven.is_denied_without_a_grant().await;
        driven.fetches_several_at_once().await;
        driven.counts_across_calls().await;
        driven.says_that_the_store_is_full().await;
        driven.reads_settings_and_secrets().await;
    }
    web.wait_until_closed().await;
    // Both calls that read the secret are written.
    server.wait_for_audit_lines(|line| line["name"] == "greet-configured", 2).await;
    let log = server.log();
    assert!(!log.contains("trapped") && !log.contains("panicked"), "{log}");
    let written = log + &std::fs::read_to_string(server.state().join("audit.jsonl")).unwrap();
    assert!(!written.contains(SECRET), "{written}");
}

/// `features` has everything that its tools use, and `small` a store that is soon full.
fn config(web: &BadWebServer) -> String {
    format!(
        "{LIMITS}\
         [plugins.features.grants]\n\
         http = [\"http://{}\", \"{CLOSED}\"]\n\
         kv = true\n\
         config = {{ greeting = \"{GREETING}\" }}\n\
         secrets = {{ token = {{ env = \"{VARIABLE}\" }} }}\n\
         [plugins.small.grants]\n\
         kv = {{ quota_mib = 1 }}\n",
        web.authority()
    )
}

/// Fills the store of `small`, which stays when another component takes the place of the file.
async fn fill_small_store(server: &Server) {
    let arguments = json!({ "key": "filler", "value": "x".repeat(FILLED) });
    let reply = Client::new(server.url()).call("small-set", arguments).await;
    assert_eq!(reply.tool_text(), "set");
}

/// A guest that one client drives.
struct GuestUnderTest<'s> {
    lang: Lang,
    caller: AnsweringClient,
    server: &'s Server,
    web: &'s BadWebServer,
}

impl GuestUnderTest<'_> {
    async fn call(&self, tool: &str, arguments: Value) -> CallTranscript {
        self.caller.call(tool, arguments, &[]).await
    }

    /// The text of a result that is no error.
    async fn text(&self, tool: &str, arguments: Value) -> String {
        let transcript = self.call(tool, arguments).await;
        assert_ne!(transcript.outcome["isError"], true, "{}: {transcript:?}", self.here());
        transcript.text().to_owned()
    }

    /// The text of a result that is an error.
    async fn error(&self, tool: &str, arguments: Value) -> String {
        let transcript = self.call(tool, arguments).await;
        assert_eq!(transcript.outcome["isError"], true, "{}: {transcript:?}", self.here());
        transcript.text().to_owned()
    }

    /// The language and the revision, for failure messages.
    fn here(&self) -> String {
        format!("{} in {}", self.lang.name(), self.caller.revision())
    }

    async fn fetches(&self) {
        // The guest in Python sends the second one with `urllib`.
        for target in ["/page?q=1", "/urllib"] {
            let arguments = json!({ "url": self.web.url(target) });
            let text = self.text("features-fetch-text", arguments).await;
            let expected = format!("hello\nGET {target} HTTP/1.1\r\n");
            assert!(text.starts_with(&expected), "{}: {text}", self.here());
        }
    }

    async fn says_why_a_request_fails(&self) {
        for (url, expected) in [
            (format!("{CLOSED}/"), "the host cannot be reached"),
            (self.web.url("/short"), "the answer is broken: "),
        ] {
            let told = self.error("features-fetch-text", json!({ "url": url })).await;
            assert!(told.starts_with(expected), "{url} in {}: {told}", self.here());
        }
    }

    /// The model is told what is denied. The line that would allow it is for the operator.
    async fn is_denied_without_a_grant(&self) {
        let request = format!("GET http://{}", self.web.authority());
        let arguments = json!({ "url": self.web.url("/page") });
        let told = self.error("ungranted-fetch-text", arguments).await;
        let expected = format!("this server does not grant the request {request} to the plugin");
        assert_eq!(told, expected, "{}", self.here());
        let line = format!("write under [plugins.ungranted.grants]: http = [\"{request}\"]");
        self.server.wait_for_log(&line).await;
    }

    /// The web server answers none of the requests before all have come.
    async fn fetches_several_at_once(&self) {
        let group = self.caller.revision();
        let urls = ["a", "b", "c", "d"].map(|name| self.web.url(&format!("/meet?4&{group}&{name}")));
        let text = self.text("features-fetch-all", json!({ "urls": urls })).await;
        assert_eq!(text, "a\nb\nc\nd", "{}", self.here());
    }

    async fn counts_across_calls(&self) {
        for expected in ["1", "2", "3"] {
            let arguments = json!({ "name": format!("Ada in {}", self.caller.revision()) });
            let text = self.text("features-count-visits", arguments).await;
            assert_eq!(text, expected, "{}", self.here());
        }
    }

    async fn says_that_the_store_is_full(&self) {
        let told = self.error("small-count-visits", json!({ "name": "x".repeat(LONG_NAME) })).await;
        assert!(told.contains("over quota: the plugin may store 1 MiB"), "{}: {told}", self.here());
    }

    async fn reads_settings_and_secrets(&self) {
        let greeted = self.call("features-greet-configured", json!({})).await;
        assert_eq!(greeted.text(), format!("{GREETING} {}", SECRET.len()), "{}", self.here());
        // The guest logs its secret.
        let logs = greeted.notifications("notifications/message");
        let [log] = logs[..] else { panic!("one message was expected: {greeted:?}") };
        assert_eq!(log["data"], "***", "{}", self.here());
    }
}
