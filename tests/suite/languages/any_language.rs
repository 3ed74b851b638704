//! The plugin of `docs/any-language.md`, which uses no SDK: the page shows its sources as they are, and it is served.

use plugport_tests::build::{build_program, root};
use plugport_tests::command::output;
use plugport_tests::guests::guest;
use plugport_tests::http_client::Client;
use plugport_tests::server::{Server, program};
use serde_json::json;

const GUEST: &str = "tests/guests/functions/greet-without-sdk";

#[test]
fn the_page_shows_the_sources_that_are_built() {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).unwrap();
    let page = read("docs/any-language.md");
    for (file, language) in [("Cargo.toml", "toml"), ("src/lib.rs", "rust")] {
        let block = format!("`{file}`:\n\n```{language}\n{}```\n", read(&format!("{GUEST}/{file}")));
        assert!(page.contains(&block), "docs/any-language.md has another `{file}` than {GUEST}");
    }
}

#[tokio::test]
async fn a_plugin_without_an_sdk_is_served() {
    let component = std::fs::read(guest("functions-greet-without-sdk")).unwrap();
    let server = Server::builder().file("greet.wasm", &component).start().await;
    let client = Client::new(server.url());
    let tools = client.request("tools/list", json!({})).await;
    let tool = &tools.result()["tools"][0];
    assert_eq!(
        (&tool["name"], &tool["description"]),
        (&json!("greet-greet"), &json!("Greet someone by name."))
    );
    assert_eq!(client.call("greet-greet", json!({ "name": "Ada" })).await.tool_text(), "Hello, Ada!");
    let nobody = client.call("greet-greet", json!({ "name": "" })).await;
    assert_eq!(nobody.tool_error(), "a name has at least one letter");
    let rejected = client.call("greet-greet", json!({})).await;
    assert!(rejected.tool_error().contains("/name: is required and missing"), "{rejected:?}");
}

/// `plugport build` in the folder that the page describes, but for its name and a shared build folder.
#[test]
fn the_commands_of_the_page_build_and_call_it() {
    let folder = tempfile::tempdir().unwrap();
    let component = folder.path().join("greet.wasm");
    let mut build = build_program();
    build.arg("build").arg(root().join(GUEST)).arg("--output").arg(&component);
    // Where the guest was built already.
    build.env("CARGO_TARGET_DIR", root().join("target/plugins-build")).env_remove("RUSTFLAGS");
    guest("functions-greet-without-sdk");
    let (code, out, err) = output(&mut build);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("greet                    Greet someone by name."), "{out}");
    let mut call = program();
    call.arg("call").arg(&component).args(["greet", "--args", r#"{"name": "Ada"}"#]);
    let (code, out, err) = output(&mut call);
    assert_eq!((code, out.as_str()), (Some(0), "Hello, Ada!\n"), "{err}");
}
