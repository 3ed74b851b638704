//! A component is compiled in a child process within limits, and the server's code cache rejects files that the server
//! did not write.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plugport::call_env::{Caller, NoClient};
use plugport::config::{Config, Limits, ServerConfig};
use plugport::observe::Audit;
use plugport::plugin::{ComponentFile, LoadError, LoadedPlugin, Loader};
use plugport::sandbox::{CompileError, Compiler, KvDatabase};
use plugport_tests::build::code_cache;
use plugport_tests::containment::{children, resident};
use plugport_tests::guests::{folder, guest};
use plugport_tests::hostile_files::{self, EMPTY, compile_bombs, seeded};
use plugport_tests::http_client::Client;
use plugport_tests::raw_server::{RawServer, is_running, wait_until};
use plugport_tests::server::{Server, binary, program};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

/// Limits that every compile bomb exceeds, so that the tests take seconds.
const TIGHT: &str = "[limits]\ncompile_ms = 3000\ncompile_mib = 256\ncode_mib = 8\n\
                     [plugins.polite]\nlimits = { compile_ms = 100_000 }\n";

/// The bound on calls while a file is compiled.
const MAX_WAIT: Duration = Duration::from_millis(50);

/// The names of the files in the cache that end like this.
fn cached_files(plugins: &Path, suffix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(code_cache(plugins)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_str().unwrap().ends_with(suffix));
    paths.sort();
    paths
}

fn write(plugins: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(plugins.join(format!("{name}.wasm")), bytes).unwrap();
}

fn loader() -> Loader {
    loader_with(Compiler::with_program(binary()))
}

fn loader_with(compiler: Compiler) -> Loader {
    let settings = ServerConfig { suspended_calls: 0, ..ServerConfig::default() };
    Loader::new(&settings, KvDatabase::new("unused".into()), Audit::disabled(), compiler).unwrap()
}

async fn load(loader: &Loader, bytes: Vec<u8>, limits: Limits) -> Result<LoadedPlugin, LoadError> {
    let config = Config { limits, ..Config::new("unused".into()) }.plugin("p");
    let digest = "of nothing else".to_owned();
    loader.load("p", ComponentFile { path: "p.wasm".into(), digest, bytes, signature: None }, config).await
}

fn tight() -> Limits {
    Limits { compile_ms: 3_000, compile_mib: 256, code_mib: 8, ..Limits::default() }
}

/// H35, through the real binary: each file costs one line, the polite one is served, and the server has not grown and
/// has no process left.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_compile_bomb() {
    let plugins = folder(&["polite"]);
    for (name, bytes) in compile_bombs() {
        write(plugins.path(), &format!("bomb-{name}"), &bytes);
    }
    let neighbour = Server::builder().guest("polite").start().await;
    let client = Client::new(neighbour.url());
    let mut server = RawServer::start(plugins.path(), TIGHT);
    let pid = server.pid();
    server.wait_for_compiler().await;
    let (mut largest, mut waits) = (0, Vec::new());
    while !server.log().contains("loaded ") {
        let now = resident(pid);
        assert!(now > 0, "the server has ended: {}", server.log());
        largest = largest.max(now);
        let begun = Instant::now();
        assert_eq!(client.call("polite-echo", json!({ "message": "x" })).await.tool_text(), "x");
        waits.push(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(neighbour);
    waits.sort();
    let (typical, slow) = (waits[waits.len() / 2], waits[waits.len() * 95 / 100]);
    println!("{} calls of a neighbour: p50 {typical:?}, p95 {slow:?}; {largest} bytes", waits.len());
    assert!(typical < MAX_WAIT && slow < 5 * MAX_WAIT, "p50 {typical:?}, p95 {slow:?}");
    let said = server.log();
    for (name, _) in compile_bombs() {
        let line = said
            .lines()
            .find(|line| line.contains(&format!("bomb-{name}.wasm: ")))
            .unwrap_or_else(|| panic!("{name}: {said}"));
        let known = [
            "(limit `compile_ms`)",
            "(limit `compile_mib`)",
            "(limit `code_mib`)",
            "is damaged",
            "another world",
        ];
        assert!(known.iter().any(|known| line.contains(known)), "{line}");
        assert!(line.len() < 400, "{line}");
    }
    // The loader's error for a compiler that ended without a result, and the log.
    for failed in [CompileError::Crashed.to_string().as_str(), "the compiler failed"] {
        assert!(!said.contains(failed), "{said}");
    }
    // Two files of up to 23 MB are in memory at the same time, and code of up to 8 MiB.
    assert!(largest < 250 << 20, "{largest} bytes");
    assert!(children(pid).is_empty(), "a compiler is left");
    let url = said.lines().find_map(|line| line.strip_prefix("serving MCP at ")).unwrap().to_owned();
    let reply = Client::new(url).call("polite-echo", json!({ "message": "still here" })).await;
    assert_eq!(reply.tool_text(), "still here");
    server.signal("-TERM").await;
    assert!(server.child.wait().await.unwrap().success());
}

/// The same bombs while a neighbour is called in the process that loads them.
#[tokio::test(flavor = "multi_thread")]
async fn calls_do_not_wait_while_a_bomb_compiles() {
    let loader = Arc::new(loader());
    let polite = std::fs::read(guest("polite")).unwrap();
    let polite = load(&loader, polite, Limits::default()).await.unwrap().plugin;
    let bombs = tokio::spawn({
        let loader = Arc::clone(&loader);
        async move {
            for (name, bytes) in compile_bombs() {
                let loaded = load(&loader, bytes, tight()).await;
                let Err(LoadError::Compile(_) | LoadError::OtherWorld { .. }) = loaded else {
                    panic!("{name}: {loaded:?}")
                };
            }
        }
    });
    let mut waits = Vec::new();
    while !bombs.is_finished() {
        let begun = Instant::now();
        let client = Arc::new(NoClient(Caller::CommandLine));
        polite.call_tool("echo", r#"{"message":"x"}"#, client).await.outcome.unwrap();
        waits.push(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bombs.await.unwrap();
    waits.sort();
    let (typical, slow) = (waits[waits.len() / 2], waits[waits.len() * 95 / 100]);
    println!("{} calls beside bombs: p50 {typical:?}, p95 {slow:?}", waits.len());
    assert!(typical < MAX_WAIT / 2 && slow < 2 * MAX_WAIT, "p50 {typical:?}, p95 {slow:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_limit_of_compiling_has_its_sentence() {
    let loader = loader();
    let polite = || std::fs::read(guest("polite")).unwrap();
    for (limits, expected) in [
        (
            Limits { compile_ms: 1, ..Limits::default() },
            "took longer than 1 ms to compile (limit `compile_ms`)",
        ),
        (
            Limits { code_mib: 1, ..Limits::default() },
            "compiles to more than 1 MiB of machine code (limit `code_mib`)",
        ),
    ] {
        let bytes = if limits.code_mib == 1 { hostile_files::many_functions(8_000) } else { polite() };
        let error = load(&loader, bytes, limits).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let limits = Limits { compile_mib: 1, ..Limits::default() };
    let error = load(&loader, hostile_files::many_types(80_000), limits).await.unwrap_err().to_string();
    assert!(error.contains("took more than 1 MiB of memory to compile (limit `compile_mib`)"), "{error}");
}

/// The compiler of a server that has secrets and an inherited open file.
#[tokio::test(flavor = "multi_thread")]
async fn a_compiler_has_its_pipes_and_nothing_else() {
    let plugins = folder(&[]);
    write(plugins.path(), "bomb", &hostile_files::many_functions(90_000));
    let mut command = Command::new("sh");
    command.args(["-c", "exec 9</etc/passwd; exec \"$@\"", "sh"]).arg(binary());
    command.args(["serve", "--listen", "127.0.0.1:0", "--plugins"]).arg(plugins.path());
    command.env("CANARY", "secret").current_dir(plugins.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let server = command.spawn().unwrap();
    let mut compilers = Vec::new();
    wait_until("a compiler runs", || {
        compilers = children(server.id().unwrap());
        !compilers.is_empty()
    })
    .await;
    let proc = PathBuf::from(format!("/proc/{}", compilers[0]));
    let read = |file: &str| std::fs::read_to_string(proc.join(file)).unwrap();
    wait_until("it has lowered its limits", || read("limits").contains("Max file size             0")).await;
    wait_until("it has read its input", || read("stat").contains(") R") || read("stat").contains(") S"))
        .await;
    let files = std::fs::read_dir(proc.join("fd"))
        .unwrap()
        .map(|file| std::fs::read_link(file.unwrap().path()).unwrap());
    let files: Vec<String> = files.map(|file| file.display().to_string()).collect();
    assert!(files.len() == 3 && files.iter().all(|file| file.starts_with("pipe:")), "{files:?}");
    let environment = read("environ");
    assert!(
        environment.starts_with("RAYON_NUM_THREADS=") && !environment.contains("CANARY"),
        "{environment:?}"
    );
    assert_eq!(std::fs::read_link(proc.join("cwd")).unwrap(), Path::new("/"));
    assert_eq!(read("oom_score_adj").trim(), "1000");
    assert!(read("status").contains("NoNewPrivs:\t1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_takes_its_compiler_along_and_the_next_one_starts() {
    let plugins = folder(&["polite"]);
    write(plugins.path(), "bomb", &hostile_files::many_functions(90_000));
    let mut server = RawServer::start(plugins.path(), "");
    let compilers = server.wait_for_compiler().await;
    server.signal("-KILL").await;
    assert_eq!(server.child.wait().await.unwrap().signal(), Some(9));
    wait_until("the compiler has ended", || !compilers.iter().any(|pid| is_running(*pid))).await;
    std::fs::remove_file(plugins.path().join("bomb.wasm")).unwrap();
    RawServer::start(plugins.path(), "").wait_for_log("published polite").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_at_any_moment_does_not_harm_the_next() {
    let plugins = folder(&["polite", "version_a"]);
    let mut random = seeded(7);
    for _ in 0..12 {
        let mut server = RawServer::start(plugins.path(), "");
        let mut wait = Duration::from_millis(random(400) as u64);
        if random(2) == 0 {
            // Around the time when the cache is written.
            wait_until("something is compiled or there", || {
                server.log().contains("serving") || !children(server.pid()).is_empty()
            })
            .await;
            wait *= 2;
        }
        tokio::time::sleep(wait).await;
        server.child.kill().await.unwrap();
        for code in std::fs::read_dir(code_cache(plugins.path())).into_iter().flatten() {
            let path = code.unwrap().path();
            if random(3) == 0 && path.extension().is_some() {
                std::fs::remove_file(path).unwrap();
            }
        }
    }
    let server = RawServer::start(plugins.path(), "");
    server.wait_for_log("loaded ").await;
    let said = server.log();
    assert!(said.contains("published polite") && said.contains("published version_a"), "{said}");
    assert!(!said.contains("failed its MAC check"), "a torn file had a name: {said}");
    assert_eq!(
        (cached_files(plugins.path(), ".code").len(), cached_files(plugins.path(), "").len()),
        (2, 3),
        "leftovers"
    );
}

/// With 1 ms for compiling, only cached code can be published.
const CACHED_ONLY: &str = "[limits]\ncompile_ms = 1\n";

async fn publishes(plugins: &Path, config: &str) -> String {
    let server = RawServer::start(plugins, config);
    server.wait_for_log("loaded ").await;
    server.log()
}

#[tokio::test(flavor = "multi_thread")]
async fn compiled_code_is_cached_and_tampered_code_is_not_used() {
    let plugins = folder(&["polite", "version_a"]);
    let path = plugins.path();
    assert!(publishes(path, CACHED_ONLY).await.contains("loaded 0 plugins"));
    publishes(path, "").await;
    let said = publishes(path, CACHED_ONLY).await;
    assert!(said.contains("published polite") && said.contains("published version_a"), "{said}");

    let codes = cached_files(path, ".code");
    let mut bytes = std::fs::read(&codes[0]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&codes[0], bytes).unwrap();
    let said = publishes(path, CACHED_ONLY).await;
    assert_eq!(said.matches("failed its MAC check").count(), 1, "{said}");
    assert_eq!(said.matches("published ").count(), 1, "{said}");
    publishes(path, "").await;

    let [one, two] = [0, 1].map(|at| std::fs::read(&codes[at]).unwrap());
    std::fs::write(&codes[0], two).unwrap();
    std::fs::write(&codes[1], one).unwrap();
    let said = publishes(path, CACHED_ONLY).await;
    assert!(said.contains("loaded 0 plugins"), "swapped files: {said}");
    publishes(path, "").await;

    std::fs::write(code_cache(path).join("secret"), [7; 32]).unwrap();
    let said = publishes(path, CACHED_ONLY).await;
    assert!(said.contains("loaded 0 plugins"), "another's secret: {said}");
    let said = publishes(path, "").await;
    assert!(said.contains("published polite") && said.contains("published version_a"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_start_together_share_what_they_compile() {
    let cache = TempDir::new().unwrap();
    let config = format!("[server]\ncompiled_cache_dir = {:?}\n", cache.path());
    let folders = [folder(&["polite", "version_a"]), folder(&["polite", "version_a"])];
    let servers = folders.each_ref().map(|plugins| RawServer::start(plugins.path(), &config));
    for server in &servers {
        server.wait_for_log("loaded ").await;
        assert_eq!(server.log().matches("published ").count(), 2, "{}", server.log());
    }
    let third = folder(&["polite", "version_a"]);
    let said = publishes(third.path(), &(config + CACHED_ONLY)).await;
    assert_eq!(said.matches("published ").count(), 2, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_compiler_of_a_stopped_server_delays_other_plugins_for_seconds_only() {
    let state = TempDir::new().unwrap();
    let config = format!("[server]\nstate_dir = {:?}\n[limits]\ncompile_ms = 600000\n", state.path());
    let folders = [folder(&[]), folder(&[])];
    for name in ["one", "two"] {
        let slow = hostile_files::labelled(&hostile_files::many_functions(4_000), name);
        folders.iter().for_each(|plugins| write(plugins.path(), name, &slow));
    }
    let [stopped, plugins] = &folders;
    let first = RawServer::start(stopped.path(), &config);
    wait_until("it compiles both", || children(first.pid()).len() == 2).await;
    first.signal("-STOP").await;
    let second = RawServer::start(plugins.path(), &config);
    second.url().await;
    // Both permits are in use by then.
    tokio::time::sleep(Duration::from_secs(2)).await;
    write(plugins.path(), "polite", &std::fs::read(guest("polite")).unwrap());
    second.wait_for_log("published polite").await;
}

/// The time for a compiler to read its input from its server. Without its whole input a compiler gives up.
const READING: Duration = Duration::from_millis(500);

/// Clients that stay only briefly get compiled code in the end, since compilers outlive their servers.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_start_leaves_its_compiled_code_to_the_next() {
    let plugins = folder(&[]);
    let slow = hostile_files::burdened(&std::fs::read(guest("version_a")).unwrap(), 10_000);
    write(plugins.path(), "slow", &slow);
    let mut server = RawServer::start(plugins.path(), "");
    let compilers = server.wait_for_compiler().await;
    tokio::time::sleep(READING).await;
    server.signal("-TERM").await;
    let begun = Instant::now();
    assert!(server.child.wait().await.unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(
        cached_files(plugins.path(), ".code"),
        [""; 0].map(PathBuf::from),
        "it was compiled too soon to try anything"
    );
    wait_until("the compiler has ended", || !compilers.iter().any(|pid| is_running(*pid))).await;
    wait_until("what it made is kept", || cached_files(plugins.path(), ".code").len() == 1).await;
    assert!(publishes(plugins.path(), CACHED_ONLY).await.contains("published slow"));
}

/// A compiler that takes too long ends, also when its server has ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_compiler_that_is_left_behind_keeps_its_time_limit() {
    let plugins = folder(&[]);
    write(plugins.path(), "bomb", &hostile_files::many_functions(90_000));
    let mut server = RawServer::start(plugins.path(), "[limits]\ncompile_ms = 3000\n");
    let compilers = server.wait_for_compiler().await;
    tokio::time::sleep(READING).await;
    server.signal("-TERM").await;
    assert!(server.child.wait().await.unwrap().success());
    assert!(compilers.iter().any(|pid| is_running(*pid)), "it was not left to anyone");
    let begun = Instant::now();
    wait_until("the compiler has ended", || !compilers.iter().any(|pid| is_running(*pid))).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_code_cache_the_server_says_so_and_serves() {
    let plugins = folder(&["polite"]);
    std::fs::create_dir_all(code_cache(plugins.path()).parent().unwrap()).unwrap();
    std::fs::write(code_cache(plugins.path()), b"not a folder").unwrap();
    let said = publishes(plugins.path(), "").await;
    assert!(said.contains("cannot use the code cache") && said.contains("published polite"), "{said}");
    let other = folder(&["polite"]);
    publishes(other.path(), "[server]\ncompiled_cache_mib = 0\n").await;
    assert!(!code_cache(other.path()).exists());
}

/// H30: a damaged file is invalid and has no other effect.
#[tokio::test(flavor = "multi_thread")]
async fn damaged_files_are_invalid_and_never_make_the_compiler_fail() {
    let good = std::fs::read(guest("version_a")).unwrap();
    let mut damaged: Vec<Vec<u8>> =
        (0..48).map(|part| good[..8 + (good.len() - 8) * part / 48].to_vec()).collect();
    let mut random = seeded(30);
    damaged.extend((0..32).map(|_| flipped(&good, &mut random)));
    damaged.extend((1..16).map(|length| {
        let noise = (0..length * 64).map(|_| u8::try_from(random(256)).unwrap());
        EMPTY.iter().copied().chain(noise).collect()
    }));
    survive(damaged).await;
}

/// H30 at length: run with `--ignored`, for about an hour.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes an hour"]
async fn soak_damaged_files() {
    let good = std::fs::read(guest("version_a")).unwrap();
    let mut random = seeded(31);
    for _ in 0..100 {
        survive((0..100).map(|_| flipped(&good, &mut random)).collect()).await;
    }
}

fn flipped(good: &[u8], random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    let mut bytes = good.to_vec();
    let at = 8 + random(bytes.len() - 8);
    bytes[at] ^= 1 << random(8);
    bytes
}

async fn survive(files: Vec<Vec<u8>>) {
    let loader = Arc::new(loader());
    let loads = files.into_iter().map(|bytes| {
        let loader = Arc::clone(&loader);
        tokio::spawn(async move { load(&loader, bytes, Limits::default()).await })
    });
    for (at, load) in loads.collect::<Vec<_>>().into_iter().enumerate() {
        if let Err(LoadError::Compile(error)) = load.await.unwrap() {
            assert!(matches!(error, CompileError::Invalid(_)), "file {at}: {error:?}");
        }
    }
}

#[tokio::test]
async fn plugport_call_uses_the_code_cache_of_a_server_and_makes_no_state() {
    let (plugins, own) = (folder(&["polite"]), TempDir::new().unwrap());
    let call = async |config: &str| {
        let file = plugins.path().join("plugport.toml");
        std::fs::write(&file, config).unwrap();
        let mut command = Command::from(program());
        // With an empty cache.
        command.env(
            "XDG_CACHE_HOME",
            own.path().join(if config.contains("compile_ms") { "other" } else { "first" }),
        );
        command
            .args(["call", "polite", "echo", "--args", r#"{"message":"x"}"#, "--plugins"])
            .arg(plugins.path());
        command.arg("--config").arg(file).output().await.unwrap().status.success()
    };
    let state = "[server]\nstate_dir = \"state\"\n";
    assert!(call(state).await);
    assert!(!plugins.path().join("state").exists());
    assert!(!call(&format!("{state}{CACHED_ONLY}")).await);
    publishes(plugins.path(), state).await;
    assert!(call(&format!("{state}{CACHED_ONLY}")).await);
}

/// Prints the time of loading with and without cached code, with `--nocapture`.
#[tokio::test]
async fn cached_code_loads_at_once() {
    let plugins = folder(&["polite"]);
    let state = plugins.path().join("state");
    let load = async || {
        let cache = plugport::sandbox::CodeCache::open(&state, 64).unwrap();
        let loader = loader_with(Compiler::with_program(binary()).with_caches(cache));
        let bytes = std::fs::read(guest("polite")).unwrap();
        let begun = Instant::now();
        load(&loader, bytes, Limits::default()).await.unwrap();
        begun.elapsed()
    };
    let anew = load().await;
    let mut again = Vec::new();
    for _ in 0..9 {
        again.push(load().await);
    }
    again.sort();
    println!("compiled {anew:?}; kept {:?}", again[4]);
    assert!(again[4] < anew / 2, "compiled {anew:?}; kept {again:?}");
}
