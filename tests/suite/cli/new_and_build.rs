//! `plugport new` and `plugport build`, as far as they need no compiler: the files they write, the tools they miss and
//! name, and the metadata of a component.
//!
//! The projects of each language are built in `languages`.

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use plugport_tests::build::root;
use plugport_tests::command::output;
use plugport_tests::guests::{guest, plugin};
use plugport_tests::server::program;
use serde_json::{Value, json};

/// The maximum time until `dev` reports that a build failed.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Runs the command with only the programs in `bin` in `PATH`.
fn run(here: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = program();
    command.args(args).current_dir(here).env("PATH", here.join("bin")).env_remove("VIRTUAL_ENV");
    output(&mut command)
}

fn put(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_new_project_is_whole_and_says_what_to_type_next() {
    let here = tempfile::tempdir().unwrap();
    let (code, out, err) = run(here.path(), &["new", "my-tool", "--lang", "rust"]);
    assert_eq!(code, Some(0), "{err}");
    let steps: Vec<_> = out.lines().skip(1).map(str::trim).collect();
    let call = "plugport call my-tool.wasm hello --args '{\"name\": \"Ada\"}'";
    let target = "rustup target add wasm32-wasip2";
    assert_eq!(steps, ["cd my-tool", target, "plugport build", call, "plugport dev"]);
    let project = here.path().join("my-tool");
    for file in
        ["Cargo.toml", "Cargo.lock", "src/lib.rs", "README.md", ".gitignore", "sdk/sdk-guest/wit/plugin.wit"]
    {
        assert!(project.join(file).is_file(), "{file}");
    }
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 1, "nothing is left of writing it");
    let usual = here.path().join("usual");
    std::fs::create_dir(&usual).unwrap();
    let mode = |folder| std::fs::metadata(folder).unwrap().permissions().mode();
    assert_eq!(mode(project), mode(usual), "others may read it, as the umask says");
}

/// A new project compiles the versions that are tested here, and its first build does not change its lock.
#[test]
fn a_new_rust_project_has_the_lock_that_cargo_would_write() {
    let here = tempfile::tempdir().unwrap();
    let (code, _, err) = run(here.path(), &["new", "my-tool", "--lang", "rust"]);
    assert_eq!(code, Some(0), "{err}");
    let lock = here.path().join("my-tool/Cargo.lock");
    let written = std::fs::read_to_string(&lock).unwrap();
    // Of all tested versions, cargo keeps those that this project needs.
    std::fs::copy(root().join("Cargo.lock"), &lock).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["update", "--workspace", "--offline", "--quiet"]).current_dir(lock.parent().unwrap());
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = std::fs::read_to_string(&lock).unwrap();
    let due = expected.replace("name = \"my-tool\"", "name = \"{{name}}\"");
    std::fs::write(root().join("target/Cargo.lock.in"), due).unwrap();
    let mend = "cp target/Cargo.lock.in sdk-guest/templates/rust/";
    assert!(written == expected, "cargo would change the lock of a new project; type this: {mend}");
}

#[test]
fn a_project_that_cannot_be_is_rejected_and_nothing_is_touched() {
    let here = tempfile::tempdir().unwrap();
    put(here.path(), "taken/mine.txt", "mine");
    for (args, said) in [
        (&["new", "taken", "--lang", "rust"][..], "is there already and is not empty"),
        (&["new", "my.tool", "--lang", "rust"], "write lower-case letters, digits, `-` and `_`"),
        (&["new", "My-Tool", "--lang", "rust"], "lower-case letters"),
        (&["new", "..", "--lang", "rust"], "name the project's new folder, such as my-tool"),
        (&["new", ".", "--lang", "rust"], "name the project's new folder, such as my-tool"),
        (&["new", "plugport-sdk", "--lang", "rust"], "choose another name"),
        (&["new", "tool"], "one of: rust, typescript, javascript, python, go, c, cpp, zig"),
        (
            &["new", "tool", "--lang", "cobol"],
            "possible values: rust, typescript, javascript, python, go, c, cpp, zig",
        ),
        (&["build", "taken"], "has none of Cargo.toml, package.json, pyproject.toml, go.mod"),
        (&["build", "nowhere"], "cannot read the project nowhere"),
    ] {
        let (code, out, err) = run(here.path(), args);
        assert_eq!(code, Some(2), "{args:?}: {out}{err}");
        assert!(err.contains(said), "{args:?}: expected {said:?} in {err}");
    }
    let left: Vec<_> =
        std::fs::read_dir(here.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["taken"]);
    assert_eq!(std::fs::read_to_string(here.path().join("taken/mine.txt")).unwrap(), "mine");
}

#[test]
fn what_a_language_lacks_is_named_with_the_command_that_installs_it() {
    for (file, said) in [
        ("Cargo.toml", "cargo is not installed; install it: curl "),
        ("package.json", "node is not installed; install it: Node.js 20 or newer"),
        ("pyproject.toml", "pip install componentize-py==0.25.1"),
        ("go.mod", "go is not installed; install it: https://go.dev/dl"),
        ("plugin.zig", "Zig is not installed; install it: (cd "),
        ("plugin.toml", "pip install ziglang==0.17.0), or on Debian: apt install clang lld wasi-libc"),
    ] {
        let here = tempfile::tempdir().unwrap();
        put(here.path(), file, if file == "package.json" { "{}" } else { "" });
        let (code, out, err) = run(here.path(), &["build"]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{file}: {err}");
        assert!(err.contains(said), "{file}: expected {said:?} in {err}");
    }
}

#[test]
fn tools_that_are_too_old_or_not_whole_are_told_too() {
    let here = tempfile::tempdir().unwrap();
    put(here.path(), "go/go.mod", "");
    put(here.path(), "bin/go", "#!/bin/sh\necho go1.19.8\n");
    let (code, _, err) = run(here.path(), &["build", "go"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("Go is version 1.19.8, and 1.27.1 or newer is needed"), "{err}");
    put(here.path(), "rust/Cargo.toml", "");
    put(here.path(), "bin/cargo", "#!/bin/sh\nexit 9\n");
    put(here.path(), "bin/rustc", "#!/bin/sh\necho /no/such/folder\n");
    let (code, _, err) = run(here.path(), &["build", "rust"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("install it: rustup target add wasm32-wasip2"), "{err}");
}

#[test]
fn what_a_tool_says_is_shown_and_its_failure_told_in_a_sentence() {
    let here = tempfile::tempdir().unwrap();
    put(here.path(), "plugin.py", "");
    put(here.path(), ".venv/bin/componentize-py", "#!/bin/sh\necho 'no module plugin'; exit 3\n");
    let (code, out, err) = run(here.path(), &["build", "--json"]);
    assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
    assert!(err.starts_with("no module plugin\n"), "{err}");
    assert!(
        err.contains("plugport: `componentize-py` ended with exit status: 3; mend what it says above"),
        "{err}"
    );
}

#[test]
fn what_was_built_says_of_itself_what_its_project_says_and_shows_its_tools() {
    let here = tempfile::tempdir().unwrap();
    let project = r#"
        [project]
        name = "greeter"
        version = "1.2.3"
        license = "MIT"
        description = "Greets \u001b[2J"
        urls = { Source = "https://example.com/greeter" }
    "#;
    put(here.path(), "pyproject.toml", project);
    put_componentize(here.path(), &guest("polite"));
    let (code, out, err) = run(here.path(), &["build", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let built: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&built["language"], &built["changed"]), (&json!("python"), &json!(true)));
    assert_eq!(built["metadata"]["version"], "1.2.3");
    assert!(built["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "echo"), "{built}");
    let (code, out, err) = run(here.path(), &["build"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("it is the same as before") && out.contains("  echo "), "{out}");

    let (code, out, err) = run(here.path(), &["inspect", "greeter.wasm", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let inspected: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&inspected["digest"], &inspected["bytes"]), (&built["digest"], &built["bytes"]));
    let metadata = json!({
        "name": "greeter", "version": "1.2.3", "licenses": "MIT", "description": "Greets \u{1b}[2J",
        "authors": null, "source": "https://example.com/greeter", "homepage": null,
    });
    assert_eq!(inspected["metadata"], metadata);
    let (_, out, _) = run(here.path(), &["inspect", "greeter.wasm"]);
    assert!(out.contains("says of itself\n  name         greeter\n  version      1.2.3\n"), "{out}");
    assert!(!out.contains('\u{1b}'), "{out}");
}

/// A `componentize-py` in `root/bin` that makes this component for all options.
fn put_componentize(root: &Path, component: &Path) {
    let script = format!(
        "#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\nexec /bin/cp '{}' \"$1\"\n",
        component.display()
    );
    put(root, "bin/componentize-py", &script);
}

#[test]
fn a_new_skill_and_a_new_app_are_published() {
    let here = tempfile::tempdir().unwrap();
    let (code, _, err) = run(here.path(), &["new", "my-tool", "--lang", "python", "--skill", "--ui"]);
    assert_eq!(code, Some(0), "{err}");
    let project = here.path().join("my-tool");
    // The app is for the tool `hello`, which every new project has.
    put_componentize(&project, &plugin("hello"));
    let (code, out, err) = run(&project, &["build", "--json", "--output", "served/my-tool.wasm"]);
    assert_eq!(code, Some(0), "{err}");
    let built: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&built["rejected"], &built["warnings"]), (&json!([]), &json!([])), "{built}");
    let (code, out, err) = run(&project, &["inspect", "served/my-tool.wasm", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let inspected: Value = serde_json::from_str(&out).unwrap();
    let files = inspected["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap());
    let shipped = ["skills/greeting/SKILL.md", "ui/greeting.html", "ui/greeting.meta.json"];
    assert_eq!(files.collect::<Vec<_>>(), shipped);
    let (code, out, err) = run(&project, &["check", "--plugins", "served", "--json"]);
    assert_eq!(code, Some(0), "{out}{err}");
    let checked: Value = serde_json::from_str(&out).unwrap();
    let entry = &checked["plugins"][0];
    assert_eq!((&checked["ok"], &entry["rejected"]), (&json!(true), &json!([])), "{checked}");
    let published = entry["published"]["resources"].as_array().unwrap();
    for uri in ["skill://my-tool/greeting/SKILL.md", "ui://my-tool/greeting.html"] {
        assert!(published.contains(&json!(uri)), "{uri} is not in {published:?}");
    }
}

#[test]
fn a_component_that_no_server_could_load_fails_the_build_and_stays() {
    let here = tempfile::tempdir().unwrap();
    put(here.path(), "pyproject.toml", "[project]\nname = 'empty'\n");
    let script =
        "#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\nprintf '\\000asm\\r\\000\\001\\000' > \"$1\"\n";
    put(here.path(), "bin/componentize-py", script);
    let (code, _, err) = run(here.path(), &["build", "--output", "out/made.wasm"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("plugport: it was built, but no server could load it\n  1. "), "{err}");
    assert!(here.path().join("out/made.wasm").is_file());
    let (code, out, err) = run(here.path(), &["build", "--output", "out/made.wasm", "--no-load"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("out/made.wasm") && !out.contains("tools"), "{out}");
    let (code, _, err) = run(here.path(), &["build", "--output", "out"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("out is no file; name a file with --output"), "{err}");
}

#[test]
fn the_development_loop_says_what_to_type_for_a_project_that_npm_has_not_installed() {
    let here = tempfile::tempdir().unwrap();
    put(here.path(), "bin/node", "#!/bin/sh\n");
    put(here.path(), "tool/package.json", r#"{"name": "tool", "scripts": {"build": "plugport build"}}"#);
    let mut command = program();
    command.args(["dev", "tool", "--listen", "127.0.0.1:0"]).current_dir(here.path());
    command.env("PATH", here.path().join("bin")).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut dev = command.spawn().unwrap();
    let lines = BufReader::new(dev.stderr.take().unwrap()).lines().map_while(Result::ok);
    let (hear, heard) = std::sync::mpsc::sync_channel(16);
    // Ends with `dev`, or when stdout is closed.
    let hearing = std::thread::spawn(move || lines.for_each(|line| drop(hear.send(line))));
    let end = Instant::now() + TIMEOUT;
    let mut said = String::new();
    while let Ok(line) = heard.recv_timeout(end.saturating_duration_since(Instant::now())) {
        said.push_str(&line);
        said.push('\n');
        if line.contains("the build failed") {
            break;
        }
    }
    drop(heard);
    // It has to end its server.
    let kill = Command::new("kill").args(["-TERM", &dev.id().to_string()]).status();
    assert!(kill.unwrap().success() && dev.wait().unwrap().success(), "{said}");
    hearing.join().unwrap();
    assert!(said.contains("the build failed"), "it took longer than {TIMEOUT:?}: {said}");
    assert!(said.contains("building with: plugport build"), "{said}");
    assert!(
        said.contains("plugport-sdk is not installed; install it: (cd ")
            && said.contains("tool && npm install)"),
        "{said}"
    );
}
