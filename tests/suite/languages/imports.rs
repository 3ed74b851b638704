//! Which functions of the host a plugin imports. Each costs time in every fresh instance, and lets an operator believe
//! that the plugin uses it.

use std::collections::BTreeSet;
use std::path::Path;

use plugport_tests::guests::{guest, plugin};
use plugport_tests::languages::{Lang, features, plugin as plugin_in};
use wit_component::DecodedWasm;
use wit_parser::WorldItem;

/// The imported functions, each as `INTERFACE FUNCTION` without the version. Reading the type takes milliseconds;
/// compiling an interpreter for it would take half a minute.
fn imports(file: &Path) -> BTreeSet<String> {
    let decoded = wit_component::decode(&std::fs::read(file).unwrap()).unwrap();
    let DecodedWasm::Component(resolve, world) = decoded else { panic!("{} is a package", file.display()) };
    let mut functions = BTreeSet::new();
    for item in resolve.worlds[world].imports.values() {
        let WorldItem::Interface { id, .. } = item else { continue };
        let interface = resolve.id_of(*id).unwrap();
        let interface = interface.split_once('@').map_or(&*interface, |(name, _)| name);
        functions.extend(resolve.interfaces[*id].functions.keys().map(|name| format!("{interface} {name}")));
    }
    functions
}

/// What Rust's standard library needs to print the message of a panic, and the seed of its hash maps. If a new version
/// of Rust imports less, shorten the list.
const RUST: [&str; 14] = [
    "wasi:cli/environment get-environment",
    "wasi:cli/exit exit",
    "wasi:cli/stderr get-stderr",
    "wasi:cli/stdin get-stdin",
    "wasi:cli/stdout get-stdout",
    "wasi:cli/terminal-stderr get-terminal-stderr",
    "wasi:cli/terminal-stdin get-terminal-stdin",
    "wasi:cli/terminal-stdout get-terminal-stdout",
    "wasi:io/poll [method]pollable.block",
    "wasi:io/streams [method]output-stream.blocking-flush",
    "wasi:io/streams [method]output-stream.check-write",
    "wasi:io/streams [method]output-stream.subscribe",
    "wasi:io/streams [method]output-stream.write",
    "wasi:random/insecure-seed insecure-seed",
];

#[test]
fn a_rust_plugin_that_does_not_use_its_call_imports_nothing_of_it() {
    let found = imports(&plugin("hello"));
    let more: Vec<_> = found.iter().filter(|name| !RUST.contains(&name.as_str())).collect();
    assert!(more.is_empty(), "{more:?}");
}

#[test]
fn a_rust_plugin_that_sends_requests_imports_one_interface_for_them() {
    let found = imports(&guest("http_client"));
    let more: Vec<_> = found.iter().filter(|name| !RUST.contains(&name.as_str())).collect();
    assert!(more.iter().all(|name| name.starts_with("plugport:plugin/http-client ")), "{more:?}");
    assert!(found.contains("plugport:plugin/http-client send"), "{found:?}");
    assert!(!found.contains("plugport:plugin/http-client wait"), "the SDK for Rust needs no loop of events");
}

/// What the libc of C needs to print.
const C: [&str; 4] = [
    "wasi:cli/stderr get-stderr",
    "wasi:cli/stdin get-stdin",
    "wasi:cli/stdout get-stdout",
    "wasi:io/streams [method]output-stream.blocking-write-and-flush",
];

#[test]
fn a_plugin_in_python_imports_for_requests_store_settings_and_tasks_what_its_sources_import() {
    const HOST: [&str; 4] =
        ["plugport:plugin/http-client ", "wasi:keyvalue/", "wasi:config/", "plugport:plugin/tasks "];
    let has = |found: &BTreeSet<String>, start: &str| found.iter().any(|name| name.starts_with(start));
    let Some(file) = plugin_in(Lang::Python, "tables") else { return };
    let found = imports(&file);
    assert!(!HOST.iter().any(|start| has(&found, start)), "{found:?}");
    let (component, key) = (std::fs::read(&file).unwrap(), b"plugport:dev-sources");
    assert!(!component.windows(key.len()).any(|part| part == key), "it loads no sources as data");
    let Some(file) = features(Lang::Python) else { return };
    let found = imports(&file);
    assert!(HOST.iter().all(|start| has(&found, start)), "{found:?}");
}

#[test]
fn a_plugin_in_c_that_only_computes_imports_neither_files_nor_requests_nor_the_store() {
    let Some(file) = plugin_in(Lang::C, "qr") else { return };
    assert!(imports(&file).iter().eq(C), "{:?}", imports(&file));
}

#[test]
fn a_plugin_in_c_imports_of_the_hosts_interfaces_the_functions_that_it_calls() {
    let Some(file) = features(Lang::C) else { return };
    let found = imports(&file);
    // Beside these, it has what the libc needs to print and to sleep.
    let is_granted = |name: &&str| name.starts_with("wasi:config/") || name.starts_with("wasi:keyvalue/");
    let granted: Vec<_> = found.iter().map(String::as_str).filter(is_granted).collect();
    let expected = ["wasi:config/store get", "wasi:keyvalue/atomics increment", "wasi:keyvalue/store open"];
    assert_eq!(granted, expected);
    for name in ["plugport:plugin/http-client send", "plugport:plugin/tasks detach"] {
        assert!(found.contains(name), "{name} is not in {found:?}");
    }
    let wait = "plugport:plugin/http-client wait";
    assert!(!found.contains(wait), "its SDK waits for one request without it");
}

#[test]
fn a_plugin_in_go_imports_of_the_host_what_it_uses() {
    let (Some(file), Some(diff)) = (features(Lang::Go), plugin_in(Lang::Go, "diff")) else { return };
    let of_the_host = |name: &&String| {
        ["plugport:", "wasi:http/", "wasi:keyvalue/", "wasi:config/"]
            .iter()
            .any(|begin| name.starts_with(begin))
    };
    let found = imports(&diff);
    let more: Vec<_> = found.iter().filter(of_the_host).collect();
    assert!(more.iter().all(|name| name.starts_with("plugport:plugin/request ")), "{more:?}");
    let found = imports(&file);
    for name in
        ["plugport:plugin/http-client send", "plugport:plugin/http-client wait", "wasi:config/store get"]
    {
        assert!(found.contains(name), "{name} is not in {found:?}");
    }
    assert!(found.iter().all(|name| !name.starts_with("wasi:http/")), "{found:?}");
    assert!(!found.contains("wasi:config/store get-all"), "{found:?}");
}
