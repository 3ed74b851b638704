//! `plugport call` responds to client requests of the plugin: `--accept`, `--decline`, `--sample` and `--root`.

use plugport_tests::bad_web_server::BadWebServer;
use plugport_tests::command::run_plugport;
use plugport_tests::guests::guest;
use serde_json::{Value, json};

use crate::mcp::session_client_requests::{form, prompt};

/// Calls a tool of a guest with these options.
fn call(name: &str, tool: &str, arguments: &Value, options: &[&str]) -> (Option<i32>, String, String) {
    let (file, arguments) = (guest(name).display().to_string(), arguments.to_string());
    run_plugport(&[&["call", &file, tool, "--args", &arguments], options].concat())
}

/// Has the guest send client requests, with its grants.
fn ask(tool: &str, arguments: &Value, options: &[&str]) -> (Option<i32>, String, String) {
    let grants = ["--grant", "elicitation", "--grant", "sampling", "--grant", "roots"];
    call("client_requests", tool, arguments, &[&grants, options].concat())
}

fn elicitation() -> Value {
    json!({ "method": "elicitation/create", "params": form() })
}

#[test]
fn forms_are_accepted_in_order_and_then_declined() {
    let (ada, alan) = (r#"{"action":"accept","content":{"name":"Ada"}}"#, r#"{"name":"Alan"}"#);
    for (options, expected) in [
        (
            &["--accept", r#"{"name":"Ada"}"#, "--decline"][..],
            format!("{ada} then {{\"action\":\"decline\"}}\n"),
        ),
        (
            &["--accept", r#"{"name":"Ada"}"#, "--accept", alan],
            format!("{ada} then {{\"action\":\"accept\",\"content\":{alan}}}\n"),
        ),
    ] {
        let (code, out, err) = ask("twice", &elicitation(), options);
        assert_eq!((code, out), (Some(0), expected), "{options:?}: {err}");
        assert!(!err.contains("the plugin asks"), "{err}");
    }
}

#[test]
fn a_form_of_an_sdk_is_filled_in() {
    let question = json!({ "question": "Which colour?" });
    for (options, said) in
        [(&["--accept", r#"{"answer":"blue"}"#][..], "accepted: blue\n"), (&["--decline"], "declined\n")]
    {
        let options = [&["--grant", "elicitation"], options].concat();
        let (code, out, err) = call("features", "elicit", &question, &options);
        assert_eq!((code, out.as_str()), (Some(0), said), "{err}");
    }
}

#[test]
fn a_page_to_open_is_accepted_without_content() {
    let params = json!({ "mode": "url", "message": "Log in", "url": "https://a.example" });
    let arguments = json!({ "method": "elicitation/create", "params": params });
    let (_, out, err) = ask("ask", &arguments, &["--accept", "{}"]);
    assert_eq!(out, "{\"action\":\"accept\"}\n", "{err}");
}

#[test]
fn a_text_stands_for_the_answer_of_a_model() {
    let (code, out, err) = call(
        "features",
        "sample",
        &json!({ "question": "How many?" }),
        &["--grant", "sampling", "--sample", "42"],
    );
    assert_eq!((code, out.as_str()), (Some(0), "42\n"), "{err}");
}

#[test]
fn several_client_requests_at_once_have_their_responses() {
    let sampling = |key: &str| json!({ "key": key, "method": "sampling/createMessage", "params": prompt() });
    let form = json!({ "key": "c", "method": "elicitation/create", "params": form() });
    let arguments = json!({ "requests": [sampling("a"), sampling("b"), form] });
    let options = ["--sample", "one", "--sample", "two", "--decline"];
    let (_, out, err) = ask("batch", &arguments, &options);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("a: ") && lines[0].contains(r#""text":"one""#), "{out}{err}");
    assert!(lines[1].starts_with("b: ") && lines[1].contains(r#""text":"two""#), "{out}{err}");
    assert_eq!(lines[2], r#"c: {"action":"decline"}"#);
}

#[test]
fn a_folder_is_a_root_and_can_be_granted_for_reading() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().canonicalize().unwrap();
    let project = whole.join("my project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("file.txt"), "project").unwrap();
    let (root, whole) = (project.display().to_string(), whole.display().to_string());
    let (_, out, err) = ask("ask", &json!({ "method": "roots/list" }), &["--root", &root]);
    let listed: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    assert_eq!(listed, json!([{ "name": "my project", "uri": format!("file://{whole}/my%20project") }]));

    let file = json!({ "path": project.join("file.txt") });
    let grant = format!("roots={whole}");
    let (code, out, err) = call("file_io", "read", &file, &["--root", &root, "--grant", &grant]);
    assert_eq!((code, out.as_str()), (Some(0), "project\n"), "{err}");
    let (code, _, err) = call("file_io", "read", &file, &["--root", &root, "--grant", "roots"]);
    assert_eq!(code, Some(1), "{err}");
}

#[test]
fn a_client_request_without_a_response_is_shown_with_the_option_that_gives_one() {
    let asks = |method: &str, params: Value| json!({ "method": method, "params": params });
    for (arguments, shown, option) in [
        (
            elicitation(),
            r#"asks the user "Who?"; to respond, add --accept '{"name":"..."}' or --decline"#,
            "`elicitation`; to respond, add --accept JSON or --decline",
        ),
        (
            asks("sampling/createMessage", prompt()),
            "asks the client's model; to respond, add --sample ",
            "`sampling`; to respond, add --sample TEXT",
        ),
        (
            asks("roots/list", json!({})),
            "asks for the client's folders; to respond, add --root .",
            "`roots`; to respond, add --root DIR",
        ),
    ] {
        let (code, out, err) = ask("pass", &arguments, &[]);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
        assert!(err.contains(shown) && err.contains(option), "{shown:?} or {option:?} is not in:\n{err}");
    }
    let (_, out, err) = ask("twice", &elicitation(), &["--accept", r#"{"name":"Ada"}"#]);
    assert!(out.contains("no response is left for this request; add one more --accept JSON"), "{out}{err}");
}

#[test]
fn a_response_is_checked_as_that_of_a_client() {
    for (content, why) in [
        (r#"{"name":1}"#, "the response cannot be used: the field `name` does not fit the form"),
        ("{}", "the response cannot be used: the field `name` is missing"),
    ] {
        let (code, _, err) = ask("pass", &elicitation(), &["--accept", content]);
        assert_eq!(code, Some(1), "{err}");
        assert!(err.contains(why), "{why:?} is not in {err}");
    }
    for (options, said) in [
        (&["--accept", "{"][..], "--accept is not JSON"),
        (&["--accept", "[]"], r#"--accept must be a JSON object, such as '{"name":"Ada"}'"#),
        (&["--root", "/no/such"], "--root /no/such: No such file or directory"),
        (&["--grant", "sampling=9"], "cannot read the grant `sampling=9`: write sampling alone"),
        (&["--grant", "roots=/proc"], "/proc is never granted"),
    ] {
        let (code, _, err) = ask("pass", &elicitation(), options);
        assert_eq!(code, Some(2), "{options:?}: {err}");
        assert!(err.contains(said), "{said:?} is not in {err}");
    }
}

#[test]
fn a_client_request_needs_its_grant_even_with_a_response() {
    let options = ["--accept", r#"{"name":"Ada"}"#];
    let (code, _, err) = call("client_requests", "pass", &elicitation(), &options);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("was denied elicitation; to allow it, add --grant elicitation "), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_tool_is_granted_a_host_for_one_call() {
    let web = BadWebServer::start().await;
    let grant = format!("http=http://{}", web.authority());
    let arguments = json!({ "url": web.url("/page") });
    let called = tokio::task::spawn_blocking(move || {
        call("functions-fetch", "fetch", &arguments, &["--grant", &grant])
    });
    let (code, out, err) = called.await.unwrap();
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("hello\nGET /page HTTP/1.1"), "{out}");
}
