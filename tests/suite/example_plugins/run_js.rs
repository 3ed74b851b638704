//! The plugin `run-js` runs JavaScript that a client sends: its results, its limits, and the interfaces that the code
//! cannot reach.

use std::time::Duration;

use plugport_tests::http_client::{Client, HttpResponse};
use plugport_tests::languages::{Lang, plugin};
use plugport_tests::server::Server;
use serde_json::{Value, json};

/// Enough for the scripts here, and soon used up by one that never ends.
const CONFIG: &str =
    "[server]\ninitial_load_wait_ms = 120_000\n[plugins.run-js.limits]\nfuel = 300_000_000\n";

const TIMEOUT: Duration = Duration::from_secs(180);

struct RunJsPlugin {
    server: Server,
    client: Client,
}

impl RunJsPlugin {
    async fn start() -> Self {
        let built = tokio::task::spawn_blocking(|| plugin(Lang::JavaScript, "run-js")).await.unwrap();
        let bytes = std::fs::read(built.expect("JavaScript is always there")).unwrap();
        let server = Server::builder().file("run-js.wasm", &bytes).config(CONFIG).start().await;
        let runner = Self { client: Client::new(server.url()), server };
        let there = async {
            while runner.run("1", json!(null)).await.response()["result"].is_null() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let waited = tokio::time::timeout(TIMEOUT, there).await;
        assert!(waited.is_ok(), "it is not served:\n{}", runner.server.log());
        runner
    }

    async fn run(&self, code: &str, input: Value) -> HttpResponse {
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
    let runner = RunJsPlugin::start().await;
    let sum = runner.result("input.reduce((a, b) => a + b)", json!([1, 2, 3])).await;
    assert_eq!(sum, json!({ "result": 6 }));
    let code = "console.log('begun');\nconst all = await Promise.all([1, (async () => 2)()]);\nreturn all";
    assert_eq!(runner.result(code, json!(null)).await, json!({ "result": [1, 2], "logs": ["begun"] }));
    let odd = runner.result("[10n, NaN, new Map([['a', new Set([1])]])]", json!(null)).await;
    assert_eq!(odd["result"], json!(["10n", "NaN", { "a": [1] }]));
    let failed = runner.run("let a;\n\na.b.c", json!(null)).await;
    assert!(failed.tool_error().starts_with("TypeError: "), "{failed:?}");
    assert!(failed.tool_error().contains("at line 3: a.b.c"), "{failed:?}");
    let class =
        "class E extends Error { constructor(m) { super(m) } }\nfunction f() {\n  throw new E('no')\n}\nf()";
    let thrown = runner.run(class, json!(null)).await;
    assert!(thrown.tool_error().contains("at line 3: throw new E('no')"), "{thrown:?}");
    let drawn = [
        runner.result("Math.random()", json!(null)).await,
        runner.result("Math.random()", json!(null)).await,
    ];
    assert_ne!(drawn[0], drawn[1], "each instance begins anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn time_is_not_waited_for_and_yet_passes() {
    let runner = RunJsPlugin::start().await;
    let code = "const [t, p] = [Date.now(), performance.now()];
        await new Promise((r) => setTimeout(r, 3_600_000));
        [p >= 0, Date.now() - t >= 3_600_000, new Date() - t >= 3_600_000, performance.now() - p >= 3_600_000]";
    let passed = runner.result(code, json!(null)).await;
    assert_eq!(passed["result"], json!([true, true, true, true]));
    let endless = runner.result("const tick = () => setTimeout(tick, 1000); tick(); 5", json!(null)).await;
    assert_eq!(endless["result"], 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_code_and_many_timers_have_enough_fuel() {
    let runner = RunJsPlugin::start().await;
    let data = format!("[{}].length", vec!["7"; 8000].join(","));
    assert_eq!(runner.result(&data, json!(null)).await, json!({ "result": 8000 }));
    let functions = "function f(a) { return [a, 'b'].map((x) => x + 1) }\n".repeat(300) + "f(1)[0]";
    assert_eq!(runner.result(&functions, json!(null)).await, json!({ "result": 2 }));
    let throwing = "function f(a) { return [a, 'b'].map((x) => x + 1) }\n".repeat(940) + "JSON.parse('{')";
    let thrown = runner.run(&throwing, json!(null)).await;
    assert!(thrown.tool_error().starts_with("SyntaxError: "), "{thrown:?}");
    assert!(thrown.tool_error().contains("at line 941: JSON.parse('{')"), "{thrown:?}");
    let timers = "let n = 0; for (let i = 0; i < 1000; i++) setTimeout(() => n++, i);
        await new Promise((r) => setTimeout(r, 2000)); n";
    assert_eq!(runner.result(timers, json!(null)).await, json!({ "result": 1000 }));
    let empty = "Array.from({ length: 10_000 }, () => [])";
    assert_eq!(runner.result(empty, json!(null)).await["cut"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_misbehaves_is_stopped_and_harms_no_later_call() {
    let runner = RunJsPlugin::start().await;
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
    let runner = RunJsPlugin::start().await;
    let names =
        runner.result("['wit', '__cqjs', 'process', 'require'].filter((n) => n in globalThis)", json!(null));
    assert_eq!(names.await["result"], json!([]));
    for module in ["plugport:plugin/sampling@0.1.0", "wasi:cli/environment@0.2.12", "node:fs"] {
        let plain = runner.run(&format!("await import('{module}')"), json!(null)).await;
        assert!(plain.tool_error().contains("there are no modules here"), "{plain:?}");
        // Hidden from the plugin's parser. The engine's own promise never settles within a call.
        let hidden = format!("await (0, eval)(\"im\" + \"port('{module}')\")");
        let reply = runner.run(&hidden, json!(null)).await;
        assert!(reply.tool_error().contains("nothing will ever settle"), "{reply:?}");
    }
}
