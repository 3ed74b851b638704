//! Function tools: components that know nothing of MCP, with the same limits as plugins.

use std::path::{Path, PathBuf};

use plugport::config::{Config, ServerConfig};
use plugport::observe::Audit;
use plugport::plugin::{CachedLoad, ComponentFile, Loader};
use plugport::sandbox::{CodeCache, Compiler, KvDatabase};
use plugport_tests::bad_web_server::BadWebServer;
use plugport_tests::build::{build_command, root};
use plugport_tests::command::run_plugport;
use plugport_tests::guests::guest;
use plugport_tests::http_client::Client;
use plugport_tests::languages::build_project;
use plugport_tests::reload::listed_tools;
use plugport_tests::server::{Server, binary};
use plugport_tests::toolchain::{self, Lang};
use serde_json::{Value, json};

use super::sdk_features::{LIMITS, published};

/// The published tools, as clients see them.
#[tokio::test]
async fn components_in_the_manner_of_other_hosts_run_unchanged() {
    let web = BadWebServer::start().await;
    let builder =
        Server::builder().guest("functions-fetch").guest("functions-clock").guest("functions-arithmetic");
    let server = builder.config(&web.grant("functions-fetch")).start().await;
    let client = Client::new(server.url());
    let page = client.call("functions-fetch-fetch", json!({ "url": web.url("/page") })).await;
    assert!(page.tool_text().starts_with("hello\nGET /page"), "{page:?}");
    let denied = client.call("functions-fetch-fetch", json!({ "url": "http://example.com/" })).await;
    assert!(denied.tool_error().contains("HttpRequestDenied"), "{denied:?}");

    let now = client.call("functions-clock-now", json!({})).await;
    assert!(now.result()["structuredContent"]["seconds"].as_u64().unwrap() > 1_700_000_000, "{now:?}");
    let never = client.call("functions-clock-later", json!({ "seconds": "18446744073709551615" })).await;
    assert_eq!(never.result()["structuredContent"], json!({ "result": null }));

    let call =
        async |tool: &str, arguments| client.call(&format!("functions-arithmetic-{tool}"), arguments).await;
    let whole = call("divide", json!({ "dividend": -7, "divisor": 2 })).await;
    assert_eq!(whole.result()["structuredContent"], json!({ "whole": -4, "rest": 1 }));
    let zero = call("divide", json!({ "dividend": 1, "divisor": 0 })).await;
    assert_eq!(zero.tool_error(), r#""division-by-zero""#);
    let beyond = call("add", json!({ "a": "9223372036854775807", "b": 1 })).await;
    assert!(beyond.tool_error().contains("overflow"), "{beyond:?}");
    let summary = call("summarize", json!({ "numbers": [1, 2.5, "Infinity"] })).await;
    assert_eq!(summary.result()["structuredContent"], json!({ "count": 3, "mean": "Infinity" }));
}

#[tokio::test]
async fn a_draft_of_settings_with_other_names_is_served() {
    let config = "[plugins.functions-weather.grants]\nconfig = { unit = \"Celsius\" }\n";
    let server = Server::builder().guest("functions-weather").config(config).start().await;
    let client = Client::new(server.url());
    let weather = client.call("functions-weather-describe", json!({ "city": "Bern" })).await;
    assert_eq!(weather.tool_text(), "20 degrees Celsius in Bern, with 1 settings");
}

#[tokio::test]
async fn functions_read_the_directories_that_are_granted() {
    let granted = tempfile::tempdir().unwrap();
    std::fs::write(granted.path().join("a.txt"), "first").unwrap();
    std::fs::write(granted.path().join("b.txt"), "second").unwrap();
    let dirs = format!("dirs = [{{ host = {:?}, guest = \"/data\" }}]", granted.path());
    let config = format!("[plugins.functions-files.grants]\n{dirs}\n");
    let server = Server::builder().guest("functions-files").config(&config).start().await;
    let client = Client::new(server.url());
    let call = async |tool: &str, path: &str| {
        client.call(&format!("functions-files-{tool}"), json!({ "path": path })).await
    };
    let names = call("list-directory", "/data").await;
    assert_eq!(names.result()["structuredContent"], json!({ "result": ["a.txt", "b.txt"] }));
    assert_eq!(call("read-file", "/data/b.txt").await.tool_text(), "second");
    assert!(!call("read-file", "/etc/hostname").await.tool_error().is_empty());
}

/// The functions in `tests/guests/functions/javascript` as a component, made as for any other host.
fn town(folder: &Path) -> Vec<u8> {
    let path = toolchain::require(Lang::JavaScript).expect("the toolchain is required");
    let source = root().join("tests/guests/functions/javascript");
    let made = folder.join("town.wasm");
    let builder = root().join("tests/guests/languages/javascript/node_modules/.bin/componentize-qjs");
    let mut build = build_command(builder);
    build.arg("--sync").arg("-w").arg(source.join("wit")).args(["-n", "town"]);
    build.arg("-j").arg(source.join("town.js")).arg("-o").arg(&made).env("PATH", path);
    let output = build.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(made).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_in_javascript_for_another_host_runs_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let town = tokio::task::spawn_blocking(move || town(&path)).await.unwrap();
    let config = "[plugins.town.grants]\nconfig = { unit = \"Celsius\" }\n";
    let server = Server::builder().file("town.wasm", &town).config(config).start().await;
    let client = Client::new(server.url());
    let now = client.call("town-get-current-time", json!({})).await;
    assert!(now.tool_text().starts_with("20") && now.tool_text().ends_with('Z'), "{now:?}");
    let weather = client.call("town-get-weather", json!({ "city": "Bern" })).await;
    assert_eq!(weather.tool_text(), "20 degrees Celsius in Bern");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_in_python_for_another_host_runs_unchanged() {
    let build = || build_project(Lang::Python, "tests/guests/functions/python");
    let component = tokio::task::spawn_blocking(build).await.unwrap().expect("the toolchain is required");
    let component = std::fs::read(component).unwrap();
    let server =
        Server::builder().file("python.wasm", &component).config(LIMITS).quickly_compiled().start().await;
    published(&server, "python-eval").await;
    let client = Client::new(server.url());
    let eval = async |expression: &str| client.call("python-eval", json!({ "expression": expression })).await;
    assert_eq!(eval("[number ** 2 for number in range(4)]").await.tool_text(), "[0, 1, 4, 9]");
    assert_eq!(eval("1 / 0").await.tool_error(), "ZeroDivisionError: division by zero");
    assert!(eval("open('/etc/hostname').read()").await.tool_error().contains("Error: "));
}

#[tokio::test]
async fn function_tools_have_the_same_limits() {
    let config = "[plugins.functions-arithmetic]\nlimits = { fuel = 50_000_000, result_kib = 64 }\n";
    let server = Server::builder().guest("functions-arithmetic").config(config).start().await;
    let client = Client::new(server.url());
    let zeros = async |count: u32| client.call("functions-arithmetic-zeros", json!({ "count": count })).await;
    for (reply, limit) in [
        (client.call("functions-arithmetic-search", json!({})).await, "fuel"),
        (zeros(100_000).await, "result_kib"),
        (zeros(1_000_000).await, "transfer_mib"),
        (zeros(100_000_000).await, "memory_mib"),
    ] {
        assert!(reply.tool_error().contains(&format!("limit `{limit}`")), "{limit}: {reply:?}");
    }
    assert_eq!(zeros(3).await.result()["structuredContent"], json!({ "result": [0, 0, 0] }));
    let calls = server.wait_for_audit("call", 5).await;
    assert!(calls.iter().any(|line| line["limit"] == "fuel" && line["name"] == "search"), "{calls:?}");
}

#[tokio::test]
async fn a_call_that_never_reaches_the_guest_does_not_count_as_a_success() {
    let limits = "{ fuel = 50_000_000, transfer_mib = 1, quarantine_failures = 2 }";
    let config = format!("[plugins.functions-arithmetic]\nlimits = {limits}\n");
    let server = Server::builder().guest("functions-arithmetic").config(&config).start().await;
    let client = Client::new(server.url());
    let search = async || client.call("functions-arithmetic-search", json!({})).await;
    assert!(search().await.tool_error().contains("limit `fuel`"));
    let many = json!({ "numbers": vec![0; 40_000] });
    let rejected = client.call("functions-arithmetic-summarize", many).await;
    assert!(format!("{rejected:?}").contains("limit `transfer_mib`"), "{rejected:?}");
    assert!(search().await.tool_error().contains("limit `fuel`"));
    let alone = search().await;
    assert!(alone.tool_error().contains("quarantined"), "{alone:?}");
}

#[tokio::test]
async fn too_long_arguments_are_rejected_and_quarantine_nothing() {
    let config = "[plugins.functions-arithmetic]\nlimits = { fuel = 1_000_000, quarantine_failures = 2 }\n";
    let server = Server::builder().guest("functions-arithmetic").config(config).start().await;
    let client = Client::new(server.url());
    let summarize = async |numbers: Value| {
        client.call("functions-arithmetic-summarize", json!({ "numbers": numbers })).await
    };
    for _ in 0..3 {
        let rejected = summarize(json!(vec![0; 10_000])).await;
        let told = rejected.tool_error();
        assert!(told.starts_with("invalid arguments: they take more fuel"), "{told}");
    }
    assert_eq!(summarize(json!([1, 2])).await.result()["structuredContent"]["count"], 2);
    let calls = server.wait_for_audit("call", 5).await;
    let outcomes: Vec<&Value> = calls[1..].iter().map(|line| &line["outcome"]).collect();
    assert_eq!(outcomes, ["error", "error", "error", "ok"]);
}

#[tokio::test]
async fn a_call_that_ends_before_it_reaches_the_guest_quarantines_nothing() {
    let config = "[plugins.functions-arithmetic]\nlimits = { wall_ms = 1, quarantine_failures = 2 }\n";
    let server = Server::builder().guest("functions-arithmetic").config(config).start().await;
    let client = Client::new(server.url());
    let many = json!({ "numbers": vec![0.123_456_789; 190_000] });
    for _ in 0..3 {
        let late = client.call("functions-arithmetic-summarize", many.clone()).await;
        assert!(late.tool_error().contains("limit `wall_ms`"), "{late:?}");
    }
    // The call may fail as well, but it is not rejected by quarantine.
    let next = client.call("functions-arithmetic-summarize", json!({ "numbers": [1, 2] })).await;
    assert!(!format!("{next:?}").contains("quarantined"), "{next:?}");
}

#[tokio::test]
async fn converting_costs_fuel() {
    let config = "[plugins.functions-arithmetic]\nlimits = { fuel = 15_000_000 }\n";
    let server = Server::builder().guest("functions-arithmetic").config(config).start().await;
    let client = Client::new(server.url());
    let summarize = async |count| {
        client.call("functions-arithmetic-summarize", json!({ "numbers": vec![0; count] })).await
    };
    assert_eq!(summarize(50_000).await.result()["structuredContent"]["count"], 50_000);
    assert_eq!(summarize(10).await.result()["structuredContent"]["count"], 10);
    let calls = server.wait_for_audit("call", 3).await;
    let fuel: Vec<u64> = calls[1..].iter().map(|line| line["fuel"].as_u64().unwrap()).collect();
    assert!(fuel[0] > 4_000_000 && fuel[1] < 1_000_000, "{fuel:?}");
    let zeros = client.call("functions-arithmetic-zeros", json!({ "count": 190_000 })).await;
    assert!(zeros.tool_error().contains("limit `fuel`"), "{zeros:?}");
}

#[tokio::test]
async fn what_arguments_take_as_values_is_taken_from_the_memory_of_instances() {
    // Each `{}` has thirty fields as a value: two kilobytes.
    let fields: String = (0..30).map(|at| format!("(field \"f{at}\" (option u8))")).collect();
    let takes = component(&format!(
        r#"(component
             (core module $m
               (memory (export "memory") 32)
               (func (export "re") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
               (func (export "take") (param i32 i32)))
             (core instance $i (instantiate $m))
             (type $t (record {fields}))
             (export $e "item" (type $t))
             (func (export "take") (param "v" (list $e))
               (canon lift (core func $i "take") (memory (core memory $i "memory")) (realloc (core func $i "re")))))"#
    ));
    // A quarter belongs to the pooling allocator, and one plugin alone may use half of the rest: 24 MiB.
    let config =
        "[server]\nguest_memory_mib = 64\n[plugins.takes]\nlimits = { transfer_mib = 64, cpu_ms = 20_000 }\n";
    let server = Server::builder().file("takes.wasm", &takes).config(config).start().await;
    let client = Client::new(server.url());
    let take = async |count: usize| client.call("takes-take", json!({ "v": vec![json!({}); count] })).await;
    assert_eq!(take(5_000).await.tool_text(), "done");
    let rejected = take(16_000).await;
    assert!(format!("{rejected:?}").contains("`guest_memory_mib`"), "{rejected:?}");
    assert_eq!(take(5_000).await.tool_text(), "done");
}

#[test]
fn functions_of_deep_types_are_not_published_and_are_no_error() {
    for (levels, wrap) in [(31, ("(record (field \"a\" ", "))")), (20, ("(option ", ")"))] {
        let folder = tempfile::tempdir().unwrap();
        let mut types = String::new();
        let mut inner = "u8".to_owned();
        for level in 0..levels {
            types += &format!("(type $t{level} {}{inner}{})", wrap.0, wrap.1);
            inner = format!("$t{level}");
            if levels == 31 {
                types += &format!("(export $e{level} \"t{level}\" (type $t{level}))\n");
                inner = format!("$e{level}");
            }
        }
        let deep = format!(
            r#"(core module $n
                 (memory (export "memory") 1)
                 (func (export "re") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
                 (func (export "take") (param i32)))
               (core instance $j (instantiate $n))
               {types}
               (func (export "deep") (param "v" {inner})
                 (canon lift (core func $j "take") (memory (core memory $j "memory")) (realloc (core func $j "re"))))"#
        );
        std::fs::write(folder.path().join("deep.wasm"), with_answer(&deep)).unwrap();
        let (code, out, err) = run_plugport(&["check", "--plugins", folder.path().to_str().unwrap()]);
        assert_eq!(code, Some(0), "{out}{err}");
        let warnings: Vec<&str> = out.lines().filter(|line| line.contains("warning: the function")).collect();
        assert!(warnings.len() == 1 && warnings[0].contains("nested deeper than 32 levels"), "{out}");
    }
}

fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// A component that exports `answer`, a function that returns 42, and these further exports.
fn with_answer(more: &str) -> Vec<u8> {
    component(&format!(
        r#"(component
             (core module $m (func (export "answer") (result i32) (i32.const 42)))
             (core instance $i (instantiate $m))
             (func $answer (result u32) (canon lift (core func $i "answer")))
             {more}
             (export "answer" (func $answer)))"#
    ))
}

#[tokio::test]
async fn components_without_usable_functions_are_rejected_with_what_they_are() {
    let exporting =
        |name: &str| component(&format!(r#"(component (instance $i) (export "{name}" (instance $i)))"#));
    let handles = component(
        r#"(component (core module $m (func (export "take") (param i32)))
             (core instance $i (instantiate $m))
             (type $own (resource (rep i32)))
             (export $r "thing" (type $own))
             (func (export "take") (param "r" (own $r)) (canon lift (core func $i "take"))))"#,
    );
    let later_import = with_answer(r#"(import "plugport:plugin/sampling@0.9.0" (instance))"#);
    let importing = |name: &str| {
        with_answer(&format!(r#"(import "{name}" (instance (export "get" (func (result u32)))))"#))
    };
    let extism = component(r#"(module (import "extism:host/env" "free" (func (param i64))))"#);
    let server = Server::builder()
        .file("extism.wasm", &extism)
        .file("act.wasm", &exporting("act:tools/tool-provider@0.2.0"))
        .file("newer_program.wasm", &exporting("wasi:cli/run@0.3.0"))
        .file("newer_import.wasm", &importing("wasi:random/insecure@0.3.0"))
        .file("draft.wasm", &importing("wasi:keyvalue/store@0.2.0-draft"))
        .file("logging.wasm", &importing("wasi:logging/logging@0.1.0-draft"))
        .file("program.wasm", &exporting("wasi:cli/run@0.2.6"))
        .file("handler.wasm", &exporting("wasi:http/incoming-handler@0.2.6"))
        .file("hollow.wasm", &exporting("a:b/c"))
        .file("handles.wasm", &handles)
        .file("later.wasm", &exporting("plugport:plugin/tools@0.9.0"))
        .file("later_import.wasm", &later_import)
        .file("half.wasm", &exporting("plugport:plugin/completions@0.1.0"))
        .start()
        .await;
    let said = server.log();
    for (file, what) in [
        ("extism.wasm", "is a core WebAssembly module made for Extism, such as a plugin of hyper-mcp"),
        ("act.wasm", "is a component made for ACT"),
        ("newer_program.wasm", "is made for wasi:cli/run@0.3.0, and this server has WASI 0.2; build it for"),
        ("newer_import.wasm", "is made for wasi:random/insecure@0.3.0, and this server has WASI 0.2"),
        (
            "draft.wasm",
            "imports wasi:keyvalue/store@0.2.0-draft, and this server has wasi:keyvalue in version",
        ),
        ("logging.wasm", "imports wasi:logging/logging@0.1.0-draft, which this server does not have;"),
        ("program.wasm", "it exports wasi:cli/run@0.2.6, so it is a program and not functions"),
        ("handler.wasm", "so it is an HTTP handler and not functions"),
        ("hollow.wasm", "is a component of another world: it exports a:b/c"),
        ("handles.wasm", "none of them can be a tool: take (its type has a handle of a resource"),
        ("later.wasm", "was built for plugport:plugin@0.9.0, whose tools it exports; this server speaks"),
        ("later_import.wasm", "was built for plugport:plugin@0.9.0, whose sampling it imports; this server"),
        ("half.wasm", "is a component of another world"),
    ] {
        let lines: Vec<&str> = said.lines().filter(|line| line.contains(&format!("/{file}:"))).collect();
        assert!(lines.len() == 1 && lines[0].contains(what), "{file}: {lines:?}\n{said}");
    }
}

#[tokio::test]
async fn every_wasi_from_0_2_0_to_0_2_12_links_and_they_mix() {
    let mut builder = Server::builder();
    for patch in 0..=12 {
        let (other, third) = (12 - patch, (patch + 5) % 13);
        let text = format!(
            r#"(component
                 (import "wasi:clocks/monotonic-clock@0.2.{patch}"
                   (instance $clock (export "now" (func (result u64)))))
                 (import "wasi:random/random@0.2.{other}"
                   (instance $random (export "get-random-u64" (func (result u64)))))
                 (import "wasi:cli/environment@0.2.{third}"
                   (instance (export "get-environment" (func (result (list (tuple string string)))))))
                 (import "wasi:clocks/wall-clock@0.2.{other}" (instance
                   (type $datetime' (record (field "seconds" u64) (field "nanoseconds" u32)))
                   (export "datetime" (type $datetime (eq $datetime')))
                   (export "now" (func (result $datetime)))))
                 (core func $now (canon lower (func $clock "now")))
                 (core func $chance (canon lower (func $random "get-random-u64")))
                 (core module $m
                   (import "h" "now" (func $now (result i64)))
                   (import "h" "chance" (func $chance (result i64)))
                   (func (export "now") (result i64) (drop (call $chance)) (call $now)))
                 (core instance $h (export "now" (func $now)) (export "chance" (func $chance)))
                 (core instance $i (instantiate $m (with "h" (instance $h))))
                 (func (export "now") (result u64) (canon lift (core func $i "now"))))"#
        );
        builder = builder.file(&format!("v{patch}.wasm"), &component(&text));
    }
    let server = builder.start().await;
    let client = Client::new(server.url());
    for patch in 0..=12 {
        let reply = client.call(&format!("v{patch}-now"), json!({})).await;
        assert!(reply.result()["structuredContent"]["result"].is_u64(), "0.2.{patch}: {reply:?}");
    }
}

#[tokio::test]
async fn other_exports_of_a_component_are_tolerated() {
    let wat = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests/wat");
        std::fs::read_to_string(folder.join(name)).unwrap()
    };
    let guest = format!(
        r#"(core module $core
             (memory (export "memory") 1)
             {}
             (func (export "call-tool") (param i32 i32 i32 i32 i32) (result i32) (i32.const 256))
             (func (export "post-call") (param i32))
             (func (export "extra") (result i32) (i32.const 1)))
           (core instance $main (instantiate $core))"#,
        wat("tool.wat")
    );
    let extra = r#"(func $extra (result u32) (canon lift (core func $main "extra")))
                   (export "extra" (func $extra))
                   (instance $more (export "extra" (func $extra)))
                   (export "acme:more/things@3.0.0" (instance $more)))"#;
    let shell = wat("shell.wat").replace(";; THE GUEST", &guest);
    let whole = format!("{}{extra}", shell.trim_end().strip_suffix(')').unwrap());
    let server = Server::builder().file("both.wasm", &component(&whole)).start().await;
    let client = Client::new(server.url());
    let names: Vec<_> = listed_tools(&client).await.iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["both-go"], "{}", server.log());
    assert_eq!(client.call("both-go", json!({})).await.tool_text(), "ok");
}

/// A component with a tool, a function that cannot be a tool, and a comment on the tool.
fn described(folder: &Path) -> PathBuf {
    let mut bytes = with_answer(
        r#"(core module $n (func (export "take") (param i32)))
           (core instance $j (instantiate $n))
           (type $own (resource (rep i32)))
           (export $r "thing" (type $own))
           (func (export "take") (param "r" (own $r)) (canon lift (core func $j "take")))"#,
    );
    let docs = br#"{"worlds":{"w":{"func_exports":{"answer":{"docs":"What it all comes to."}}}}}"#;
    let name = b"package-docs";
    let length = 1 + name.len() + 1 + docs.len();
    bytes.extend([0, 0x80 | (length & 0x7f) as u8, (length >> 7) as u8, name.len() as u8]);
    bytes.extend(name.iter().chain(&[1]).chain(docs));
    let file = folder.join("described.wasm");
    std::fs::write(&file, bytes).unwrap();
    file
}

#[test]
fn the_command_line_knows_function_tools() {
    let folder = tempfile::tempdir().unwrap();
    let file = described(folder.path()).display().to_string();
    let (code, out, err) = run_plugport(&["call", &file, "answer"]);
    assert_eq!((code, out.as_str()), (Some(0), "{\"result\":42}\n"), "{err}");
    assert!(!err.contains("is rejected"), "a call of another function does not speak of it: {err}");
    let (code, _, err) = run_plugport(&["call", &file, "take"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("the function `take` is no tool: its type has a handle"), "{err}");

    let (_, out, err) = run_plugport(&["inspect", &file]);
    assert!(
        out.contains("a component with function tools") && out.contains("What it all comes to."),
        "{out}{err}"
    );
    assert!(out.contains("functions that are no tools\n  take: its type has a handle"), "{out}");
    let (_, out, _) = run_plugport(&["inspect", &file, "--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&found["functionTools"], &found["rejectedFunctions"][0]["function"]),
        (&json!(true), &json!("take"))
    );

    let (code, out, err) = run_plugport(&["check", "--plugins", folder.path().to_str().unwrap()]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("warning: the function take is rejected"), "{out}");

    let arithmetic = guest("functions-arithmetic").display().to_string();
    let (code, out, err) =
        run_plugport(&["call", &arithmetic, "add", "--args", r#"{"a":2,"b":"3"}"#, "--json"]);
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &result["structuredContent"]), (Some(0), &json!({ "result": 5 })), "{err}");
}

#[tokio::test]
async fn cached_code_has_the_documentation_of_functions_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = described(folder.path());
    let cache = CodeCache::open(&folder.path().join("state"), 64).unwrap();
    let compiler = Compiler::with_program(binary()).with_caches(cache);
    let settings = ServerConfig { suspended_calls: 0, ..ServerConfig::default() };
    let loader =
        Loader::new(&settings, KvDatabase::new("unused".into()), Audit::disabled(), compiler).unwrap();
    let artifact = || ComponentFile::read(&file, 1).unwrap();
    let config = || Config::new(folder.path().to_owned()).plugin("described");
    let first = loader.load_cached("described", artifact(), config()).await.unwrap();
    assert!(matches!(first, CachedLoad::Uncompiled(_)), "{first:?}");
    loader.load("described", artifact(), config()).await.unwrap();
    let second = loader.load_cached("described", artifact(), config()).await.unwrap();
    let CachedLoad::Loaded(cached) = second else { panic!("{second:?}") };
    assert_eq!(cached.listing.tools[0].description.as_deref(), Some("What it all comes to."));
}
