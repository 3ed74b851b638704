//! With keys in the configuration, a signature that exists must be valid, and a required one must exist.

use std::io::Cursor;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use minisign::KeyPair;
use plugport_tests::command::run_plugport;
use plugport_tests::guests::{folder, guest};
use plugport_tests::http_client::Client;
use plugport_tests::server::{Builder, Server};
use serde_json::{Value, json};

const FILE: &str = "version_a.wasm";
const SIGNATURE: &str = "version_a.wasm.minisig";

fn new_key() -> KeyPair {
    KeyPair::generate_unencrypted_keypair().unwrap()
}

/// The signature of these bytes, as the file that `minisign -S` writes.
fn sign(key: &KeyPair, bytes: &[u8], comment: &str) -> Vec<u8> {
    minisign::sign(Some(&key.pk), &key.sk, Cursor::new(bytes), Some(comment), None).unwrap().to_bytes()
}

/// A key as the configuration names it.
fn named(key: &KeyPair) -> String {
    format!("{:?}", key.pk.to_base64())
}

/// Its id, as minisign shows it.
fn id(key: &KeyPair) -> String {
    format!("{:016X}", u64::from_le_bytes(key.pk.keynum().try_into().unwrap()))
}

fn config(keys: &[String], required: bool) -> String {
    format!("[server]\ntrusted_keys = [{}]\nrequire_signature = {required}\n", keys.join(", "))
}

fn plugin() -> Vec<u8> {
    std::fs::read(guest("version_a")).unwrap()
}

/// A server with `polite`, which needs no signature, and further files.
fn builder(config: &str) -> Builder {
    Server::builder()
        .guest("polite")
        .config(&format!("{config}[plugins.polite]\nrequire_signature = false\n"))
}

/// Puts a plugin and its signature into the folder.
fn signed(builder: Builder, name: &str, bytes: &[u8], signature: &[u8]) -> Builder {
    builder.file(&format!("{name}.wasm"), bytes).file(&format!("{name}.wasm.minisig"), signature)
}

/// The audit's `load` lines of a plugin's file.
async fn load_line(server: &Server, name: &str) -> Value {
    let (file, deadline) = (format!("/{name}.wasm"), Instant::now() + Duration::from_secs(60));
    loop {
        let lines = server.audit();
        let mut loads = lines.iter().filter(|line| line["event"] == "load");
        if let Some(found) = loads.find(|line| line["file"].as_str().unwrap().ends_with(&file)) {
            return found.clone();
        }
        assert!(Instant::now() < deadline, "{file} is not in {lines:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Whether the plugin's tool is listed, after all good plugins have been loaded.
async fn serves(server: &Server, name: &str) -> bool {
    let client = Client::new(server.url());
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let tools = client.request("tools/list", json!({})).await.result()["tools"].to_string();
        if tools.contains("\"polite-echo\"") {
            return tools.contains(&format!("\"{name}-version\""));
        }
        assert!(Instant::now() < deadline, "{tools}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn assert_rejected(server: &Server, name: &str, why: &str) {
    let line = load_line(server, name).await;
    assert_eq!((&line["outcome"], line.get("signed_by")), (&json!("rejected"), None), "{line}");
    let said = line["reason"].as_str().unwrap();
    assert!(said.contains(why) && said.contains(&format!("{name}.wasm.minisig")), "{why:?}: {line}");
    assert!(!serves(server, name).await, "{why}");
}

async fn assert_served(server: &Server, name: &str, by: Option<&KeyPair>) {
    let line = load_line(server, name).await;
    let by = by.map(|key| Value::from(id(key)));
    assert_eq!((&line["outcome"], line.get("signed_by")), (&json!("published"), by.as_ref()), "{line}");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !serves(server, name).await {
        assert!(Instant::now() < deadline, "{name} is not served");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// P6: good.
#[tokio::test]
async fn a_signed_plugin_is_served_and_the_audit_names_the_key() {
    let (key, other) = (new_key(), new_key());
    let keys = [named(&other), format!("{{ key = {}, until = 2999-12-31T23:00:00+01:00 }}", named(&key))];
    let builder = builder(&config(&keys, true));
    let server = signed(builder, "v", &plugin(), &sign(&key, &plugin(), "file:v.wasm")).start().await;
    assert_served(&server, "v", Some(&key)).await;
}

/// P6: bad, expired, by another key. Required or not, the plugin is rejected.
#[tokio::test]
async fn a_signature_that_does_not_hold_refuses_its_plugin() {
    let (key, old, other) = (new_key(), new_key(), new_key());
    let (good, plugin) = (sign(&key, &plugin(), "x"), plugin());
    let mut changed = plugin.clone();
    changed[plugin.len() / 2] ^= 1;
    let until = format!("was made with the key {}, which was accepted until 2024-02-29T00:00:00Z", id(&old));
    let other_key = format!("was made with the key {}, which is not one of `trusted_keys`", id(&other));
    let unfit = "does not fit the plugin";
    let cases: [(&[u8], Vec<u8>, &str); 8] = [
        (&changed, good.clone(), unfit),
        (&plugin, with_another_letter(&good, 1), unfit),
        (&plugin, with_another_letter(&good, 3), unfit),
        (&plugin, replaced(&good, "comment: x", "comment: y"), unfit),
        (&plugin, sign(&old, &plugin, "x"), &until),
        (&plugin, sign(&other, &plugin, "x"), &other_key),
        (&plugin, b"\xff\0garbage".to_vec(), "is no signature of minisign"),
        (&plugin, Vec::new(), "is no signature of minisign"),
    ];
    let keys = [named(&key), format!("{{ key = {}, until = 2024-02-29 }}", named(&old))];
    for required in [false, true] {
        let mut builder = builder(&config(&keys, required));
        for (at, (bytes, signature, _)) in cases.iter().enumerate() {
            builder = signed(builder, &format!("v{at}"), bytes, signature);
        }
        let server = builder.start().await;
        for (at, (_, _, why)) in cases.iter().enumerate() {
            assert_rejected(&server, &format!("v{at}"), why).await;
        }
    }
}

/// The signature with another letter in the middle of a line that is base64.
fn with_another_letter(signature: &[u8], line: usize) -> Vec<u8> {
    let text = String::from_utf8(signature.to_vec()).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let other = if lines[line].get(50..51) == Some("A") { "B" } else { "A" };
    lines[line].replace_range(50..51, other);
    lines.join("\n").into_bytes()
}

fn replaced(signature: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(signature.to_vec()).unwrap();
    assert!(text.contains(from), "{text}");
    text.replace(from, to).into_bytes()
}

/// P6: missing.
#[tokio::test]
async fn a_missing_signature_matters_where_one_is_required() {
    let key = new_key();
    for required in [false, true] {
        let mut config = config(&[named(&key)], required);
        config.push_str("[plugins.never]\nrequire_signature = false\n");
        config.push_str("[plugins.always]\nrequire_signature = true\n");
        let (builder, plugin) = (builder(&config), plugin());
        let builder = ["usual.wasm", "never.wasm", "always.wasm"]
            .into_iter()
            .fold(builder, |builder, file| builder.file(file, &plugin));
        let server = builder.start().await;
        assert_served(&server, "never", None).await;
        assert_rejected(&server, "always", "is not there, and `require_signature` asks for it").await;
        if required {
            assert_rejected(&server, "usual", "is not there").await;
        } else {
            assert_served(&server, "usual", None).await;
        }
    }
}

#[tokio::test]
async fn without_keys_nobody_looks_at_signatures() {
    let server = signed(builder(""), "v", &plugin(), b"garbage").start().await;
    assert_served(&server, "v", None).await;
}

/// A signature's file is read as carefully as a plugin's.
#[tokio::test]
async fn a_signature_that_is_no_file_blocks_and_crashes_nothing() {
    type Make = fn(&Path);
    let makes: [(&str, Make, &str); 6] = [
        ("fifo", |at| assert!(Command::new("mkfifo").arg(at).status().unwrap().success()), "no_file"),
        ("directory", |at| std::fs::create_dir(at).unwrap(), "no_file"),
        ("device", |at| symlink("/dev/zero", at).unwrap(), "link"),
        ("loop", |at| symlink(at, at).unwrap(), "link"),
        ("dangling", |at| symlink("nowhere", at).unwrap(), "link"),
        ("vast", |at| std::fs::File::create(at).unwrap().set_len(100 << 30).unwrap(), "large"),
    ];
    let mut builder = builder(&config(&[named(&new_key())], false));
    for (name, make, _) in makes {
        builder = builder.file(&format!("{name}.wasm"), &plugin());
        make(&builder.folder().join(format!("{name}.wasm.minisig")));
    }
    let server = builder.start().await;
    for (name, _, kind) in makes {
        let why = match kind {
            "no_file" => "is not a regular file",
            "link" => "is a symbolic link; copy the file itself into the folder",
            _ => "is larger than 16384 bytes",
        };
        assert_rejected(&server, name, why).await;
    }
}

/// The target of a link can be changed by others.
#[tokio::test]
async fn a_link_to_a_plugin_is_rejected_however_well_it_is_signed() {
    let (key, elsewhere) = (new_key(), folder(&["version_a"]));
    let builder = builder(&config(&[named(&key)], true));
    symlink(elsewhere.path().join(FILE), builder.folder().join(FILE)).unwrap();
    let server = builder.file(SIGNATURE, &sign(&key, &plugin(), "x")).start().await;
    server.wait_for_log("is a symbolic link; copy the file itself into the folder").await;
    assert!(!serves(&server, "version_a").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_that_comes_later_makes_its_plugin_served() {
    let key = new_key();
    let server = builder(&config(&[named(&key)], true)).file(FILE, &plugin()).start().await;
    assert_rejected(&server, "version_a", "is not there").await;
    let beside = server.folder().join(".part");
    std::fs::write(&beside, sign(&key, &plugin(), "x")).unwrap();
    std::fs::rename(beside, server.folder().join(SIGNATURE)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !serves(&server, "version_a").await {
        assert!(Instant::now() < deadline, "{}", server.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let lines = server.wait_for_audit("load", 3).await;
    assert_eq!(lines.last().unwrap()["signed_by"], id(&key), "{lines:?}");
}

#[test]
fn a_check_finds_what_would_be_rejected() {
    let (key, plugins) = (new_key(), folder(&["version_a", "version_b"]));
    std::fs::write(plugins.path().join(SIGNATURE), sign(&key, &plugin(), "x")).unwrap();
    let file = plugins.path().join("plugport.toml");
    std::fs::write(&file, config(&[named(&key)], true)).unwrap();
    let (folder, file) = (plugins.path().to_str().unwrap(), file.to_str().unwrap());
    let (code, out, _) = run_plugport(&["check", "--plugins", folder, "--config", file, "--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &found["plugins"][0]["name"]), (Some(1), &json!("version_a")), "{found:#}");
    let why = found["rejected"][0]["reason"].as_str().unwrap();
    assert!(why.contains("version_b.wasm.minisig: is not there"), "{why}");
    // The same rules hold for `plugport call` with a plugin of the folder.
    let call = |plugin: &str, tool: &str| {
        run_plugport(&["call", plugin, tool, "--plugins", folder, "--config", file])
    };
    assert_eq!(call("version_a", "version").1, "a\n");
    let (code, out, err) = call("version_b", "version");
    assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
    assert!(err.contains("is not there"), "{err}");
}

#[test]
fn inspect_says_what_a_signature_comes_to() {
    let (key, other, plugins) = (new_key(), new_key(), folder(&["version_a"]));
    let file = plugins.path().join(FILE);
    let inspect = |keys: Option<&KeyPair>| {
        let config_file = plugins.path().join("plugport.toml");
        let mut args = vec!["inspect", file.to_str().unwrap()];
        if let Some(key) = keys {
            std::fs::write(&config_file, config(&[named(key)], true)).unwrap();
            args.extend(["--config", config_file.to_str().unwrap()]);
        }
        let (code, words, err) = run_plugport(&args);
        assert_eq!(code, Some(0), "{err}");
        let (_, json, _) = run_plugport(&[&args[..], &["--json"]].concat());
        (words, serde_json::from_str::<Value>(&json).unwrap()["signature"].clone())
    };
    let (words, found) = inspect(None);
    assert!(words.contains("\nno signature\n") && found.is_null(), "{words}{found}");
    let (words, found) = inspect(Some(&key));
    assert!(words.contains("would be rejected: its signature is not there"), "{words}");
    assert_eq!((&found["verified"], &found["key"]), (&json!(false), &json!(null)), "{found}");
    let comment = format!("\u{1b}[2J{}", "x".repeat(2_000));
    std::fs::write(plugins.path().join(SIGNATURE), sign(&key, &plugin(), &comment)).unwrap();
    let (words, found) = inspect(None);
    assert!(words.contains(&format!("says it is of the key {}", id(&key))), "{words}");
    assert_eq!(found, json!({ "verified": null, "key": id(&key) }));
    let (words, found) = inspect(Some(&key));
    assert!(words.contains(&format!("signed by the key {}: \\u{{1b}}[2Jxxx", id(&key))), "{words}");
    assert_eq!((&found["verified"], &found["key"]), (&json!(true), &json!(id(&key))), "{found}");
    assert!(found["comment"].as_str().unwrap().len() < 300, "{found}");
    let (words, found) = inspect(Some(&other));
    assert!(words.contains("would be rejected: its signature was made with the key"), "{words}");
    assert_eq!((&found["verified"], &found["key"]), (&json!(false), &json!(id(&key))), "{found}");
    assert!(found["reason"].as_str().unwrap().contains("is not one of `trusted_keys`"), "{found}");
}
