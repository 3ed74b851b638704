//! The plugin that runs anyone's code: what it answers, and what the code cannot do.

use std::time::Duration;

use plugport_tests::http::{Client, Reply};
use plugport_tests::languages::{Lang, plugin};
use plugport_tests::server::Server;
use serde_json::{Value, json};

/// Enough for the scripts here, and soon used up by one that never ends.
const CONFIG: &str = "[server]\nstart_wait_ms = 120_000\n[plugins.run-js.limits]\nfuel = 300_000_000\n";

const PATIENCE: Duration = Duration::from_secs(180);

struct Runner {
    server: Server,
    client: Client,
}

impl Runner {
    async fn start() -> Self {
        let built = tokio::task::spawn_blocking(|| plugin(Lang::JavaScript, "run-js")).await.unwrap();
        let bytes = std::fs::read(built.expect("JavaScript is always there")).unwrap();
        let server = Server::builder().file("run-js.wasm", &bytes).config(CONFIG).start().await;
        let runner = Self { client: Client::new(server.url()), server };
        let there = async {
            while runner.run("1", json!(null)).await.answer()["result"].is_null() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, there).await;
        assert!(waited.is_ok(), "it is not served:\n{}", runner.server.said());
        runner
    }

    async fn run(&self, code: &str, input: Value) -> Reply {
        self.client.call("run-js-run", json!({ "code": code, "input": input })).await
    }

    /// The structured result.
    async fn result(&self, code: &str, input: Value) -> Value {
        let reply = self.run(code, input).await;
        reply.result()["structuredContent"].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn code_is_run_and_its_result_comes_back() {
    let runner = Runner::start().await;
    let sum = runner.result("input.reduce((a, b) => a + b)", json!([1, 2, 3])).await;
    assert_eq!(sum, json!({ "result": 6 }));
    let code = "console.log('begun');\nconst all = await Promise.all([1, (async () => 2)()]);\nreturn all";
    assert_eq!(runner.result(code, json!(null)).await, json!({ "result": [1, 2], "logs": ["begun"] }));
    let odd = runner.result("[10n, NaN, new Map([['a', new Set([1])]])]", json!(null)).await;
    assert_eq!(odd["result"], json!(["10n", "NaN", { "a": [1] }]));
    let failed = runner.run("let a;\n\na.b.c", json!(null)).await;
    assert!(failed.tool_error().starts_with("TypeError: "), "{failed:?}");
    assert!(failed.tool_error().contains("at line 3: a.b.c"), "{failed:?}");
    let drawn = [
        runner.result("Math.random()", json!(null)).await,
        runner.result("Math.random()", json!(null)).await,
    ];
    assert_ne!(drawn[0], drawn[1], "each instance begins anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_misbehaves_is_stopped_and_harms_no_later_call() {
    let runner = Runner::start().await;
    for (code, told) in [
        ("for (;;) {}", "limit `fuel`"),
        ("await new Promise(() => { setInterval(() => {}, 1) })", "limit `fuel`"),
        ("const f = () => f() + 1; f()", "its call stack is exhausted"),
        ("'x'.repeat(2 ** 29)", "out of memory"),
        ("await new Promise(() => {})", "nothing will ever settle"),
    ] {
        let reply = runner.run(code, json!(null)).await;
        assert!(reply.tool_error().contains(told), "{code}: {reply:?}");
    }
    let spoiling = "Array.prototype.map = Object.keys = JSON.stringify = undefined; globalThis.left = 1";
    runner.run(spoiling, json!(null)).await;
    let after = runner.result("[typeof left, typeof JSON.stringify]", json!(null)).await;
    assert_eq!(after["result"], json!(["undefined", "function"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn code_reaches_no_interface_of_the_host() {
    let runner = Runner::start().await;
    let names =
        runner.result("['wit', '__cqjs', 'process', 'require'].filter((n) => n in globalThis)", json!(null));
    assert_eq!(names.await["result"], json!([]));
    for module in ["plugport:plugin/sampling@0.1.0", "wasi:cli/environment@0.2.12", "node:fs"] {
        let plain = runner.run(&format!("await import('{module}')"), json!(null)).await;
        assert!(plain.tool_error().contains("there are no modules here"), "{plain:?}");
        // Hidden from those who read the code; the engine itself gives nothing either.
        let hidden = format!("await (0, eval)(\"im\" + \"port('{module}')\")");
        let reply = runner.run(&hidden, json!(null)).await;
        assert_eq!(reply.result()["isError"], true, "{reply:?}");
    }
}
