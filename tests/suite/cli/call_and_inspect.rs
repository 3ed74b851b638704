//! The commands `plugport call` and `plugport inspect`.

use plugport_tests::command::run_plugport;
use plugport_tests::guests::{copy, folder, guest, plugin};
use plugport_tests::server::program;
use serde_json::{Value, json};

fn path(component: &std::path::Path) -> String {
    component.display().to_string()
}

#[test]
fn call_runs_one_tool_without_a_server() {
    let clock = path(&plugin("clock"));
    let (code, out, err) = run_plugport(&["call", &clock, "now", "--args", r#"{"zone":"Asia/Tokyo"}"#]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("Asia/Tokyo"), "{out}");
    let (code, out, _) =
        run_plugport(&["call", &clock, "now", "--args", r#"{"zone":"Asia/Tokyo"}"#, "--json"]);
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, Some(0));
    assert!(result["structuredContent"].is_object() && result["content"].is_array(), "{result}");
}

#[test]
fn call_finds_a_plugin_by_name_in_the_folder() {
    let folder = folder(&["polite"]);
    let (code, out, err) = run_plugport(&[
        "call",
        "polite",
        "echo",
        "--args",
        r#"{"message":"hi"}"#,
        "--plugins",
        folder.path().to_str().unwrap(),
    ]);
    assert_eq!((code, out.as_str()), (Some(0), "hi\n"), "{err}");
}

#[test]
fn call_says_what_is_wrong_and_how_it_ends() {
    let polite = path(&guest("polite"));
    for (args, code, said) in [
        (&["call", &polite, "echo", "--args", "{"][..], 2, "--args is not JSON"),
        (&["call", &polite, "echo", "--args", "[]"], 2, "--args must be a JSON object"),
        (&["call", &polite, "echo"], 2, "/message: is required and missing"),
        (&["call", &polite, "nothing"], 2, "there is no tool `nothing`; the plugin has: add, content, echo"),
        (&["call", &polite, "fail", "--args", r#"{"reason":"no luck"}"#], 1, "no luck"),
        (&["call", "/no/such.wasm", "x"], 2, "cannot be read"),
        (&["call", &polite, "echo", "--grant", "net=all"], 2, "write dir=HOST"),
        (&["call", &polite, "ecko"], 2, "there is no tool `ecko`; did you mean `echo`? (the plugin has: "),
        (&["call", "/", "x"], 2, "/ is a folder; name a .wasm file in it"),
        (&["call", "README.md", "x"], 2, "README.md is no .wasm file and no name of a plugin; give the path"),
        (&["inspect", "/"], 2, "/ is a folder"),
        (
            &["inspect", "clock"],
            2,
            "there is no file clock; name the file of a plugin, such as plugins/clock.wasm",
        ),
        (
            &["serve", "--plugins", "/no/such/folder"],
            2,
            "cannot read the plugin folder /no/such/folder; create it",
        ),
        (
            &["serve", "--plugins", "hello.wasm"],
            2,
            "there is no such file; name the folder that plugins lie in",
        ),
        (&["serve", "--plugins", &polite], 2, "it is a file: name the folder that it lies in"),
        (&["check", "--plugins", &polite], 2, "it is a file: name the folder that it lies in"),
        (&["check", "--config", "/"], 2, "cannot read the configuration /; it is a folder"),
        (&["check", "--config", &polite], 2, "it is no text in UTF-8"),
        (&["serve", "--port", "8080"], 2, "unexpected argument '--port' found"),
        (&["serve", "--listen", "8080"], 2, "write one such as 127.0.0.1:8080"),
        (
            &["--log", "infoo", "check"],
            2,
            "`infoo` is no level; the levels are error, warn, info, debug, trace",
        ),
        (&["--log", "plugin=debgu", "check"], 2, "`debgu` is no level; the levels are error, warn, info"),
        (&["serve", "--listen", "nowhere"], 2, "is not an address"),
        (&["serve", "--config", "/no/such.toml"], 2, "cannot read the configuration"),
    ] {
        let (found, out, err) = run_plugport(args);
        assert_eq!(found, Some(code), "{args:?}: {out}{err}");
        assert!(err.contains(said), "{args:?}: expected {said:?} in {err}");
        assert!(!err.contains("panicked"), "{err}");
    }
}

#[test]
fn a_server_without_a_folder_makes_nothing() {
    let home = tempfile::tempdir().unwrap();
    for plugins in ["none", "hello.wasm"] {
        let mut command = program();
        command.args(["serve", "--plugins", plugins]).current_dir(home.path()).env("HOME", home.path());
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CACHE_HOME");
        assert_eq!(command.output().unwrap().status.code(), Some(2), "{plugins}");
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "{plugins}");
    }
}

#[test]
fn an_unknown_plugin_gets_a_suggestion() {
    let folder = folder(&["polite"]);
    let plugins = folder.path().to_str().unwrap();
    for (command, more) in [("call", &["echo"][..]), ("approve", &[])] {
        let (code, out, err) = run_plugport(&[&[command, "Polit"], more, &["--plugins", plugins]].concat());
        assert_eq!(code, Some(2), "{command}: {out}{err}");
        assert!(err.contains("; did you mean `polite`? (there are: polite)"), "{command}: {err}");
    }
    let (_, _, err) = run_plugport(&["approve", "plugins/polite.wasm", "--plugins", plugins]);
    assert!(err.contains("did you mean `polite`?"), "{err}");
}

#[test]
fn a_denied_capability_is_reported_with_what_to_add_to_the_call() {
    for (plugin, tool, arguments, said) in [
        (plugin("notes"), "find_notes", "{}", "was denied the key-value store; to allow it, add --grant kv "),
        (guest("settings"), "get", r#"{"key":"a b"}"#, "to allow it, add --grant 'config=a b=...' "),
        (
            guest("http_client"),
            "fetch",
            r#"{"url":"http://127.0.0.1:1/"}"#,
            "; to allow it, add --grant 'http=GET http://127.0.0.1:1' ",
        ),
        (
            guest("client_requests"),
            "ask",
            r#"{"method":"roots/list","params":{}}"#,
            "was denied roots; to allow it, add --grant roots ",
        ),
    ] {
        let (_, out, err) = run_plugport(&["call", &path(&plugin), tool, "--args", arguments]);
        assert!(err.contains(said), "{said:?} is not in:\n{out}{err}");
    }
}

#[test]
fn a_directory_can_be_granted_for_one_call() {
    let files = path(&plugin("files"));
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("note.txt"), "remember").unwrap();
    let grant = format!("dir={}:/data", dir.path().display());
    let (code, out, err) =
        run_plugport(&["call", &files, "read", "--args", r#"{"path":"/data/note.txt"}"#, "--grant", &grant]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("remember"), "{out}");
    let (code, _, err) = run_plugport(&["call", &files, "list", "--grant", "dir=/proc"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("/proc is never granted"), "{err}");
}

#[test]
fn another_file_with_a_plugins_name_gets_nothing_of_that_plugin() {
    let (plugins, elsewhere) = (folder(&["settings"]), tempfile::tempdir().unwrap());
    let own = plugins.path().join("settings.wasm");
    let other_file = copy(&own, elsewhere.path());
    let link = elsewhere.path().join("link");
    std::os::unix::fs::symlink(plugins.path(), &link).unwrap();
    let config = plugins.path().join("plugport.toml");
    std::fs::write(&config, "[plugins.settings.grants]\nconfig = { region = \"eu\" }\n").unwrap();
    let get = |plugin: &str| {
        let (folder, config) = (plugins.path().to_str().unwrap(), config.to_str().unwrap());
        let args =
            ["call", plugin, "get", "--args", r#"{"key":"region"}"#, "--plugins", folder, "--config", config];
        run_plugport(&args)
    };
    for named in ["settings".to_owned(), path(&own), path(&link.join("settings.wasm"))] {
        let (code, out, err) = get(&named);
        assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "eu\n", ""), "{named}");
    }
    for named in [path(&other_file), path(&other_file.with_extension(""))] {
        let (code, out, err) = get(&named);
        assert_eq!((code, out.as_str()), (Some(0), "none\n"), "{named}: {err}");
        assert!(err.contains("is not the plugin `settings` of the plugins folder"), "{err}");
    }
}

#[test]
fn another_file_with_a_plugins_name_has_a_store_of_its_own() {
    let plugins = folder(&[]);
    let own = copy(&plugin("notes"), plugins.path());
    let note = |file: &std::path::Path, tool: &str, args: &str| {
        let file = path(file);
        let output = program()
            .args(["call", &file, tool, "--args", args, "--grant", "kv", "--json", "--plugins", "."])
            .current_dir(plugins.path())
            .output()
            .unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        found["structuredContent"].clone()
    };
    let other_file = plugin("notes");
    let written = note(&own, "write_note", r#"{"title":"mine","text":"x"}"#);
    assert_eq!(written["created"], true, "{written}");
    assert_eq!(note(&own, "find_notes", "{}")["total"], 1);
    assert_eq!(note(&other_file, "find_notes", "{}")["total"], 0);
    assert_eq!(note(&other_file, "write_note", r#"{"title":"theirs","text":"x"}"#)["created"], true);
    assert_eq!(note(&own, "find_notes", "{}")["total"], 1);
}

#[test]
fn inspect_shows_what_a_component_is() {
    let polite = path(&guest("polite"));
    let (code, out, _) = run_plugport(&["inspect", &polite]);
    assert_eq!(code, Some(0));
    assert!(
        out.contains("sha256:") && out.contains("echo") && out.contains("plugport:plugin/tools@0.1.0"),
        "{out}"
    );
    let (_, out, _) = run_plugport(&["inspect", &polite, "--json"]);
    let described: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(described["digest"].as_str().unwrap().len(), "sha256:".len() + 64);
    assert!(described["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "echo"));
    assert_eq!(described["warnings"], json!([]));
    assert!(
        described["imports"].is_array() && described["exports"].is_array() && described["needs"].is_array()
    );
}

#[test]
fn a_configuration_with_mistakes_lists_them_all() {
    let folder = folder(&[]);
    let file = folder.path().join("plugport.toml");
    std::fs::write(&file, "[limits]\nwal_ms = 5\nfuel = 0\n").unwrap();
    let (code, _, err) = run_plugport(&[
        "serve",
        "--config",
        file.to_str().unwrap(),
        "--plugins",
        folder.path().to_str().unwrap(),
    ]);
    assert_eq!(code, Some(2));
    assert!(
        err.contains("2 mistakes in")
            && err.contains(":2: limits.wal_ms: unknown key; did you mean `wall_ms`?"),
        "{err}"
    );
    assert!(
        err.contains(":3: limits.fuel: must be a whole number from 1 to 1000000000000, found 0"),
        "{err}"
    );
}
