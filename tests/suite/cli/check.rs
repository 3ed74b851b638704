//! `plugport check` and `inspect` show what a configuration grants each plugin, without serving.

use std::path::Path;
use std::process::Output;

use plugport_tests::guests::{copy, folder, guest, plugin};
use plugport_tests::server::{Server, program};
use serde_json::{Value, json};

const SECRET: &str = "c4nary-of-the-check";

fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = program();
    command.args(args).env("PLUGPORT_TEST_KEY", SECRET).env("WEATHER_TOKEN", SECRET).current_dir(dir.path());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (out, err) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(!out.contains("c4nary") && !err.contains("c4nary"), "a secret was shown:\n{out}{err}");
    (status.code(), out, err)
}

/// Checks a folder of plugins with the configuration in it.
fn check(plugins: &Path, config: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let file = plugins.join("plugport.toml");
    std::fs::write(&file, config).unwrap();
    let mut args = vec!["check", "--plugins", plugins.to_str().unwrap(), "--config", file.to_str().unwrap()];
    args.extend(more);
    run(&args)
}

const GRANTS: &str = "[plugins.settings.grants]\nkv = true\nenv = [\"PLUGPORT_TEST_UNSET\"]\n\
    config = { region = \"eu\" }\nsecrets = { token = { env = \"PLUGPORT_TEST_KEY\" }, file = { file = \"token\" } }\n";

fn granted() -> tempfile::TempDir {
    let plugins = folder(&["settings", "hostile_env_probe"]);
    std::fs::write(plugins.path().join("token"), SECRET).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(plugins.path().join("token"), mode).unwrap();
    plugins
}

#[test]
fn check_says_what_each_plugin_may_reach() {
    let plugins = granted();
    let (code, out, err) = check(plugins.path(), GRANTS, &[]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    let own: Vec<&str> = out.lines().skip_while(|line| !line.starts_with("settings: sha256:")).collect();
    for line in [
        "  publishes settings-all, settings-get, settings-leak",
        "  would need settings and secrets (`config` or `secrets`)",
        "  may keep up to 16 MiB between calls",
        "  may read the settings region",
        "  may see the variables PLUGPORT_TEST_UNSET",
        "  warning: `kv` is granted, but nothing that it imports uses it",
    ] {
        assert!(own.contains(&line), "{line:?} is not in:\n{out}");
    }
    assert!(out.contains("token from the variable PLUGPORT_TEST_KEY"), "{out}");
    assert!(out.contains("which holds the secret `file`, can be read by every user"), "{out}");
    assert!(out.contains("PLUGPORT_TEST_UNSET is granted but not set"), "{out}");
    assert!(out.contains("  cannot reach files, sockets, settings and secrets\n"), "{out}");
    assert!(out.contains("memory: guests and clients can make the server hold at most "), "{out}");
    assert!(out.ends_with("2 plugins, no faults\n"), "{out}");
    assert!(!plugins.path().join("state").exists(), "a check keeps nothing");
}

#[test]
fn check_tells_programs_the_same() {
    let plugins = granted();
    let (code, out, _) = check(plugins.path(), GRANTS, &["--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &found["ok"]), (Some(0), &json!(true)), "{found:#}");
    for empty in ["faults", "rejected", "unlisted", "missing", "warnings"] {
        assert_eq!(found[empty], json!([]), "{empty}");
    }
    assert_eq!(found["folder"], plugins.path().to_str().unwrap());
    assert_eq!(found["memory"]["parts"]["buffers"], 128 << 20, "{found:#}");
    let settings =
        found["plugins"].as_array().unwrap().iter().find(|plugin| plugin["name"] == "settings").unwrap();
    let published = json!({
        "tools": ["settings-all", "settings-get", "settings-leak"],
        "resources": [], "resourceTemplates": [], "prompts": [],
    });
    assert_eq!(settings["published"], published);
    assert_eq!(
        settings["needs"][0],
        json!({ "what": "settings and secrets", "grants": ["config", "secrets"] })
    );
    assert_eq!(settings["granted"][0], json!({ "grant": "kv", "may": "keep up to 16 MiB between calls" }));
    assert_eq!((&settings["unreachable"], &settings["superfluous"]), (&json!([]), &json!(["kv"])));
    assert_eq!((&settings["ok"], &settings["rejected"]), (&json!(true), &json!([])));
    assert_eq!(settings["warnings"].as_array().unwrap().len(), 2, "{settings:#}");
    assert!(settings["imports"].as_array().unwrap().contains(&json!("wasi:config/store@0.2.0-rc.1")));
    assert!(settings["digest"].as_str().unwrap().starts_with("sha256:"));
    assert!(Path::new(settings["file"].as_str().unwrap()).is_file());
}

#[test]
fn plugins_that_cannot_be_served_as_they_are_end_a_check_with_1() {
    let plugins = folder(&["version_a", "version_b"]);
    std::fs::write(plugins.path().join("text.wasm"), "not WebAssembly").unwrap();
    let config = "[plugins.version_a]\nprefix = \"\"\n[plugins.version_b]\nprefix = \"\"\n[plugins.gone]\n";
    let (code, out, err) = check(plugins.path(), config, &[]);
    assert_eq!((code, err.as_str()), (Some(1), ""), "{out}");
    for said in [
        "  publishes nothing\n",
        "  fault: the tool `version` is not published: the name `version` belongs to the plugin `version_a`, which comes first by name",
        "text.wasm: cannot be served\n  fault: is not WebAssembly",
        "gone: is named in the configuration\n  fault: there is no",
        "2 plugins, 3 faults\n",
    ] {
        assert!(out.contains(said), "{said:?} is not in:\n{out}");
    }
    let (code, out, _) = check(plugins.path(), config, &["--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &found["ok"], &found["missing"]), (Some(1), &json!(false), &json!(["gone"])));
    assert!(found["rejected"][0]["reason"].as_str().unwrap().contains("is not WebAssembly"), "{found:#}");
    let rejected = &found["plugins"][1]["rejected"][0];
    assert_eq!((&rejected["kind"], &rejected["name"]), (&json!("tool"), &json!("version")), "{found:#}");
}

#[test]
fn a_misnamed_section_gets_a_suggestion() {
    let plugins = folder(&["polite"]);
    for section in ["\"polite.wasm\"", "Polite", "polit"] {
        let (code, out, _) = check(plugins.path(), &format!("[plugins.{section}]\n"), &[]);
        assert_eq!(code, Some(1), "{out}");
        assert!(
            out.contains("  fault: no plugin has this name; did you mean `[plugins.polite]`?\n"),
            "{out}"
        );
    }
}

/// People begin with the configuration in the README, so it must be valid.
#[test]
fn the_configuration_in_the_readme_works_as_it_is_written() {
    let readme = include_str!("../../../README.md");
    let blocks = readme.split("```toml\n").skip(1).map(|block| block.split("```").next().unwrap());
    let config = blocks.max_by_key(|block| block.len()).unwrap();
    let plugins = tempfile::tempdir().unwrap();
    for name in ["files", "fetch", "notes", "summarize"] {
        copy(&plugin(name), plugins.path());
    }
    let made = readme.lines().find_map(|line| line.strip_prefix("mkdir ")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    made.split(' ').for_each(|folder| std::fs::create_dir(dir.path().join(folder)).unwrap());
    let file = dir.path().join("plugport.toml");
    let check = |config: &str| {
        std::fs::write(&file, config).unwrap();
        run(&["check", "--plugins", plugins.path().to_str().unwrap(), "--config", file.to_str().unwrap()])
    };
    let (code, out, err) = check(config);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.ends_with("4 plugins, no faults\n") && !out.contains("warning: "), "{out}");
    // The same with its commented-out lines.
    let commented = config.lines().map(|line| line.strip_prefix("# ").unwrap_or(line)).collect::<Vec<_>>();
    let (_, out, err) = check(&commented.join("\n"));
    assert!(err.is_empty() && out.ends_with("4 plugins, 1 fault\n"), "{out}{err}");
}

#[test]
fn mistakes_in_the_configuration_end_a_check_with_2() {
    let plugins = folder(&[]);
    let config = "[limits]\nwal_ms = 5\n[plugins.a.grants]\nsecrets = { token = { env = \"PLUGPORT_TEST_UNSET\" } }\n\
        config = { x = [1] }\n";
    let (code, out, err) = check(plugins.path(), config, &[]);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains("3 mistakes in") && err.contains(":2: limits.wal_ms: unknown key"), "{err}");
    assert!(
        err.contains(":4: plugins.a.grants.secrets.token: the server's environment has no variable"),
        "{err}"
    );
    let (code, out, err) = check(plugins.path(), config, &["--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &found["ok"], err.as_str()), (Some(2), &json!(false), ""), "{found:#}");
    assert_eq!(
        (&found["faults"][0]["line"], &found["faults"][0]["key"]),
        (&json!(2), &json!("limits.wal_ms"))
    );
    assert_eq!(found["faults"].as_array().unwrap().len(), 3, "{found:#}");
    let (code, out, _) = run(&["check", "--plugins", "/no/such/folder", "--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &found["faults"][0]["line"]), (Some(2), &json!(null)));
    assert!(found["faults"][0]["message"].as_str().unwrap().contains("--plugins"), "{found:#}");
}

#[tokio::test]
async fn a_check_runs_beside_the_server_that_it_is_about() {
    let config = "[plugins.notes.grants]\nkv = true\n";
    let server = Server::builder().plugin("notes").config(config).start().await;
    let (code, out, err) = check(server.folder(), config, &[]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
}

#[test]
fn a_check_grants_nothing_and_reports_no_plugin_as_broken_for_that() {
    let plugins = folder(&["listing_side_effect"]);
    let marks = tempfile::tempdir().unwrap();
    let config = format!(
        "[plugins.listing_side_effect.grants]\ndirs = [{{ host = {:?}, guest = \"/marks\", write = true }}]\n",
        marks.path()
    );
    let (code, out, err) = check(plugins.path(), &config, &[]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(
        out.contains(
            "listing_side_effect.wasm: was not checked to the end\n  warning: a check gives it nothing"
        ),
        "{out}"
    );
    assert!(out.ends_with("0 plugins, no faults, 1 not checked to the end\n"), "{out}");
    let (_, out, _) = check(plugins.path(), &config, &["--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&found["ok"], &found["rejected"], &found["missing"]), (&json!(true), &json!([]), &json!([])));
    assert!(found["unlisted"][0]["reason"].as_str().unwrap().contains("cannot leave a mark"), "{found:#}");
    assert_eq!(marks.path().read_dir().unwrap().count(), 0, "it wrote where it may write when it is served");
    let (code, out, _) = check(plugins.path(), "", &[]);
    assert_eq!(code, Some(1), "nothing is granted that could help: {out}");
    assert!(out.contains("listing_side_effect.wasm: cannot be served\n  fault: failed to list"), "{out}");
}

#[test]
fn inspect_shows_what_a_configuration_would_grant_and_grants_nothing() {
    let plugins = folder(&[]);
    let file = copy(&guest("settings"), plugins.path());
    let config = plugins.path().join("plugport.toml");
    let grants =
        "[plugins.settings.grants]\nsampling = true\nsecrets = { token = { env = \"PLUGPORT_TEST_KEY\" } }\n";
    std::fs::write(&config, grants).unwrap();
    let (file, config) = (file.to_str().unwrap(), config.to_str().unwrap());
    let (code, out, err) = run(&["inspect", file, "--config", config]);
    assert_eq!(code, Some(0), "{err}");
    for said in [
        "  would need settings and secrets (`config` or `secrets`)\n",
        "  may read the secrets token from the variable PLUGPORT_TEST_KEY\n",
        "  may ask the client's model 60 times and for 100000 tokens an hour\n",
        "  warning: `sampling` is granted, but nothing that it imports uses it",
    ] {
        assert!(out.contains(said), "{said:?} is not in:\n{out}");
    }
    let (_, out, _) = run(&["inspect", file, "--config", config, "--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["unreachable"], json!([{ "what": "environment variables", "grants": ["env"] }]));
    assert_eq!(found["superfluous"], json!(["sampling"]));
    let (_, out, _) = run(&["inspect", file, "--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&found["granted"], found["unreachable"].as_array().unwrap().len()), (&json!([]), 2));
}

#[test]
fn variables_settings_and_secrets_can_be_granted_for_one_call() {
    let settings = guest("settings");
    let settings = settings.to_str().unwrap();
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), "not-so-secret\n").unwrap();
    let from_file = format!("secret=token=file:{}", secret.path().display());
    for (grant, key, told) in [
        ("config=region=eu=west", "region", "eu=west\n"),
        (&from_file, "token", "not-so-secret\n"),
        ("config=region=eu", "token", "none\n"),
        ("env=TZ=UTC", "TZ", "none\n"),
    ] {
        let args = json!({ "key": key }).to_string();
        let (code, out, err) = run(&["call", settings, "get", "--args", &args, "--grant", grant]);
        assert_eq!((code, out.as_str()), (Some(0), told), "{grant}: {err}");
    }
    let probe = guest("hostile_env_probe");
    let grants = ["--grant", "env=TZ=UTC", "--grant", "env=PLUGPORT_TEST_UNSET"];
    let args = [&["call", probe.to_str().unwrap(), "environment"][..], &grants].concat();
    let (_, out, err) = run(&args);
    assert!(out.contains("[[\"TZ\",\"UTC\"]]"), "{out}{err}");
    let leak = json!({ "key": "key", "way": "stderr" }).to_string();
    let (code, _, err) =
        run(&["call", settings, "leak", "--args", &leak, "--grant", "secret=key=env:PLUGPORT_TEST_KEY"]);
    assert!(code == Some(0) && err.contains("err *** err"), "{err}");
    for (grant, said) in [
        ("env=*", "is no name of a variable"),
        ("config=region", "write config=KEY=VALUE"),
        ("secret=token=c4nary", "write secret=NAME=env:VARIABLE or secret=NAME=file:PATH"),
        ("secret=token=file:/no/such/file", "cannot read the file /no/such/file"),
    ] {
        let output = program().args(["call", settings, "all", "--grant", grant]).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), err.contains(said)), (Some(2), true), "{grant}: {err}");
    }
}

#[test]
fn the_example_plugins_pass_a_check() {
    let plugins = folder(&[]);
    ["hello", "clock", "files", "calc"].iter().for_each(|name| drop(copy(&plugin(name), plugins.path())));
    let (code, out, err) = check(plugins.path(), "", &[]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
}
