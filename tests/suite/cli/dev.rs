//! `plugport dev` builds and serves every saved change, keeps the last good version when a build fails, and leaves no
//! process behind.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use plugport_tests::guests::guest;
use plugport_tests::http_client::Client;
use plugport_tests::server::program;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// An unoptimised build compiles every component, which takes long.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A project called `versions`, whose source says which guest its build makes, and the loop that serves it.
struct Dev {
    child: Child,
    said: Arc<Mutex<String>>,
    dir: TempDir,
}

/// A build that does what its source says.
const BUILD: &str = "case $(cat source.txt) in a|b) ;; *) echo 'this is no version' >&2; exit 3;; esac\n\
                     mkdir -p out && cp ../version_$(cat source.txt).wasm out/plugin.wasm\n";

impl Dev {
    fn start(source: &str, build: &str, args: &[&str]) -> Self {
        Self::prepared(source, build, args, |_, _| {})
    }

    /// With changes to the folder above the project, or to the command.
    fn prepared(source: &str, build: &str, args: &[&str], prepare: impl Fn(&Path, &mut Command)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("versions")).unwrap();
        for version in ["version_a", "version_b"] {
            let file = dir.path().join(version).with_extension("wasm");
            std::fs::copy(guest(version), file).unwrap();
        }
        let mut command = Command::from(program());
        command.args(["dev", "versions", "--listen", "127.0.0.1:0"]).args(args).current_dir(dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let said = Arc::new(Mutex::new(String::new()));
        std::fs::write(dir.path().join("versions/source.txt"), source).unwrap();
        std::fs::write(dir.path().join("versions/build.sh"), build).unwrap();
        prepare(dir.path(), &mut command);
        let mut child = command.spawn().unwrap();
        // A test that redirects this to a file reads the file.
        if let Some(stderr) = child.stderr.take() {
            let mut lines = BufReader::new(stderr).lines();
            let hearing = Arc::clone(&said);
            tokio::spawn(async move {
                while let Ok(Some(line)) = lines.next_line().await {
                    let mut said = hearing.lock().unwrap();
                    said.push_str(&line);
                    said.push('\n');
                }
            });
        }
        Self { child, said, dir }
    }

    /// With a program of this name that comes before the real one in `PATH`.
    fn with_program(name: &str, script: &str, files: &[(&str, &str)]) -> Self {
        Self::prepared("a", BUILD, &[], |dir, command| {
            let program = dir.join("bin").join(name);
            std::fs::create_dir(dir.join("bin")).unwrap();
            std::fs::write(&program, format!("#!/bin/sh\n{script}")).unwrap();
            std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
            for (file, text) in files {
                std::fs::write(dir.join("versions").join(file), text).unwrap();
            }
            command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", dir.join("bin").display()));
        })
    }

    /// Waits until so many builds have begun.
    async fn wait_for_builds(&self, times: usize) {
        let file = self.project().join(".began");
        let deadline = Instant::now() + TIMEOUT;
        while std::fs::read_to_string(&file).unwrap_or_default().lines().count() < times {
            assert!(Instant::now() < deadline, "build {times} never began:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until so many builds have ended, and asserts that no other follows.
    async fn wait_until_idle_after(&self, builds: usize) {
        self.wait_for_log("built in ", builds).await;
        // Longer than the sources are left unseen.
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(self.times("built in "), builds, "{}", self.log());
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("versions")
    }

    fn save(&self, source: &str) {
        std::fs::write(self.project().join("source.txt"), source).unwrap();
    }

    fn log(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    fn times(&self, text: &str) -> usize {
        self.log().matches(text).count()
    }

    /// Waits until `text` was printed so many times.
    async fn wait_for_log(&self, text: &str, times: usize) {
        let deadline = Instant::now() + TIMEOUT;
        while self.times(text) < times {
            assert!(Instant::now() < deadline, "it never said {text:?}; it said:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn client(&self) -> Client {
        self.wait_for_log("serving MCP at http", 1).await;
        let said = self.log();
        let url = said.split("serving MCP at ").last().unwrap().lines().next().unwrap();
        Client::new(url)
    }

    fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Its server.
    fn server(&self) -> u32 {
        let stats = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let stat = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()?;
            Some((stat.split(' ').next()?.parse::<u32>().ok()?, parent))
        });
        let children: Vec<_> =
            stats.filter(|(_, parent)| *parent == self.pid()).map(|(pid, _)| pid).collect();
        assert_eq!(children.len(), 1, "{children:?}");
        children[0]
    }

    /// Stops it and returns the exit code.
    async fn terminate(mut self) -> Option<i32> {
        send("-TERM", self.pid()).await;
        let ended = tokio::time::timeout(Duration::from_secs(20), self.child.wait()).await;
        ended.unwrap().unwrap().code()
    }
}

async fn send(signal: &str, pid: u32) {
    Command::new("kill").args([signal, &pid.to_string()]).status().await.unwrap();
}

/// Whether a process runs; a zombie does not.
fn is_running(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z"))
}

async fn wait_until_gone(pid: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_running(pid) {
        assert!(Instant::now() < deadline, "process {pid} still runs");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn wait_for_version(client: &Client, expected: &str) {
    wait_for_tool_version(client, "versions-version", expected).await;
}

async fn wait_for_tool_version(client: &Client, tool: &str, expected: &str) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let reply = client.call(tool, json!({})).await;
        let version = reply.response().get("result").and_then(|result| result["content"][0]["text"].as_str());
        if version == Some(expected) {
            return;
        }
        assert!(Instant::now() < deadline, "{expected:?} was expected: {reply:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_saved_is_built_and_served() {
    let dev = Dev::start("a", BUILD, &["--build", "sh build.sh"]);
    let client = dev.client().await;
    dev.wait_for_log("published versions: versions-version", 1).await;
    dev.wait_for_log("status of the server: plugport status\n", 1).await;
    let workdir = dev.project().join(".plugport-dev");
    let status = Command::from(program()).arg("status").current_dir(workdir).output().await.unwrap();
    assert!(status.status.success() && String::from_utf8_lossy(&status.stdout).contains(" versions "));
    assert_eq!(dev.times("no tools are published"), 0, "{}", dev.log());
    wait_for_version(&client, "a").await;
    dev.wait_for_log("tools/call version  ok  ", 1).await;
    let line = dev.log().lines().find(|line| line.starts_with("tools/call version  ok")).unwrap().to_owned();
    assert!(line.contains(" ms  ") && line.ends_with(" fuel"), "{line}");
    dev.save("b");
    dev.wait_for_log("changed: source.txt; building", 1).await;
    wait_for_version(&client, "b").await;
    dev.save("c");
    dev.wait_for_log("this is no version", 1).await;
    dev.wait_for_log("; the version before it is still served\n  it ended with exit status: 3", 1).await;
    wait_for_version(&client, "b").await;
    dev.save("a");
    wait_for_version(&client, "a").await;
    let server = dev.server().to_string();
    assert!(is_running(&server));
    assert_eq!(std::fs::read_to_string(dev.project().join(".plugport-dev/.gitignore")).unwrap(), "*\n");
    assert_eq!(dev.terminate().await, Some(0));
    wait_until_gone(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_build_that_fails_waits_for_the_next() {
    let dev = Dev::start("c", BUILD, &["--build", "sh build.sh", "--output", "out/plugin.wasm"]);
    let client = dev.client().await;
    dev.wait_for_log("nothing is served yet", 1).await;
    dev.save("b");
    wait_for_version(&client, "b").await;
    assert_eq!(dev.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_is_ended_when_it_is_out_of_date() {
    let slow = format!("test $(cat source.txt) = slow && {{ echo $$ > .pid; sleep 600; }}\n{BUILD}");
    let dev = Dev::start("slow", &slow, &["--build", "sh build.sh"]);
    let client = dev.client().await;
    let file = dev.project().join(".pid");
    let deadline = Instant::now() + TIMEOUT;
    while !std::fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n')) {
        assert!(Instant::now() < deadline, "the build never began:\n{}", dev.log());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    dev.save("a");
    wait_for_version(&client, "a").await;
    wait_until_gone(&std::fs::read_to_string(&file).unwrap()).await;
    // The same when everything ends.
    std::fs::remove_file(&file).unwrap();
    dev.save("slow");
    while !std::fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n')) {
        assert!(Instant::now() < deadline, "the build never began:\n{}", dev.log());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let building = std::fs::read_to_string(&file).unwrap();
    assert_eq!(dev.terminate().await, Some(0));
    wait_until_gone(&building).await;
}

/// A project whose build script writes into its sources: it generates one file from another.
const CARGO: &str = r#"
    test "$*" = "build --release --target wasm32-wasip2 --message-format=json-render-diagnostics" || exit 9
    date +%N > Cargo.lock
    mkdir -p src target && cat source.txt source.txt > src/gen.rs && cp ../version_$(cat source.txt).wasm target/x.wasm
    here=$(pwd -P)
    echo '{"reason":"compiler-artifact","package_id":"path+file://'$here'#my-tool@0.1.0","manifest_path":"'$here'/Cargo.toml",
        "target":{"kind":["cdylib"]},"filenames":["'$here'/target/x.wasm"]}' | tr -d '\n'
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_cargo_project_whose_build_writes_into_its_source_is_built_and_comes_to_rest() {
    let dev = Dev::with_program("cargo", CARGO, &[("Cargo.toml", "")]);
    let client = dev.client().await;
    dev.wait_for_log("published my-tool: my-tool-version", 1).await;
    dev.wait_for_log("changed while it was built: src/gen.rs; building", 1).await;
    dev.wait_until_idle_after(2).await;
    dev.save("b");
    wait_for_tool_version(&client, "my-tool-version", "b").await;
    dev.wait_until_idle_after(4).await;
    assert_eq!(dev.times("taken for"), 0, "{}", dev.log());
    assert_eq!(dev.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_npm_project_is_built_with_its_script() {
    let script = "test \"$*\" = 'run build' && sh build.sh";
    let package = r#"{"name":"@me/versions","scripts":{"build":"x"}}"#;
    let dev = Dev::with_program("npm", script, &[("package.json", package)]);
    wait_for_version(&dev.client().await, "a").await;
    assert_eq!(dev.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_every_build_rewrites_are_ignored_and_named() {
    let writes = format!("date +%N > generated.txt\nmkdir -p old; date +%N >> old/$$.txt\n{BUILD}");
    let dev = Dev::start("a", &writes, &["--build", "sh build.sh"]);
    dev.wait_for_log("generated.txt: taken for what the build makes", 1).await;
    dev.wait_until_idle_after(4).await;
    dev.save("b");
    wait_for_version(&dev.client().await, "b").await;
    dev.wait_until_idle_after(8).await;
    assert_eq!(dev.times("generated.txt: taken"), 1, "{}", dev.log());
    assert_eq!(dev.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_saved_twice_while_builds_run_is_built() {
    let slow = format!("source=$(cat source.txt); echo x >> .began; sleep 3\n{BUILD}")
        .replace("$(cat source.txt).wasm", "$source.wasm");
    let dev = Dev::start("a", &slow, &["--build", "sh build.sh"]);
    dev.wait_for_builds(1).await;
    dev.save("b");
    dev.wait_for_builds(2).await;
    dev.save("a");
    dev.wait_for_log("changed while it was built: source.txt; building", 1).await;
    dev.wait_for_builds(3).await;
    dev.wait_until_idle_after(2).await;
    wait_for_version(&dev.client().await, "a").await;
    assert_eq!(dev.times("taken for"), 0, "{}", dev.log());
    // The first that was served was "b".
    assert!(dev.times("published versions") <= 2 && dev.times("changed: source.txt; building") == 1);
    assert_eq!(dev.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn output_of_dev_is_no_change_of_the_project() {
    let dev = Dev::prepared("a", BUILD, &["--build", "sh build.sh"], |dir, command| {
        command.stderr(File::create(dir.join("versions/dev.err")).unwrap());
    });
    let said = || std::fs::read_to_string(dev.project().join("dev.err")).unwrap();
    let deadline = Instant::now() + TIMEOUT;
    while !said().contains("built in ") {
        assert!(Instant::now() < deadline, "{}", said());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Longer than the sources are left unseen.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(!said().contains("changed:") && said().matches("built in ").count() == 1, "{}", said());
    assert_eq!(dev.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_plugin_logs_is_shown() {
    let build = "mkdir -p out && cp ../conformance.wasm out/plugin.wasm";
    let dev = Dev::prepared("a", build, &["--build", "sh build.sh"], |dir, _| {
        std::fs::copy(guest("conformance"), dir.join("conformance.wasm")).unwrap();
    });
    let client = dev.client().await;
    dev.wait_for_log("published versions: ", 1).await;
    client.call("versions-test_logging_tool", json!({})).await;
    dev.wait_for_log("test_logging_tool was called", 1).await;
    assert_eq!(dev.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_appears_later_is_used() {
    let dev = Dev::start("a", BUILD, &["--build", "sh build.sh"]);
    wait_for_version(&dev.client().await, "a").await;
    let file = dev.project().join("plugport.toml");
    std::fs::write(&file, "[plugins.versions]\nprefix = 7\n").unwrap();
    dev.wait_for_log("the server goes on without it", 1).await;
    wait_for_version(&dev.client().await, "a").await;
    std::fs::write(&file, "[plugins.versions]\nprefix = \"mine\"\n").unwrap();
    dev.wait_for_log("there is a plugport.toml now", 1).await;
    dev.wait_for_log("serving MCP at http", 2).await;
    wait_for_tool_version(&dev.client().await, "mine-version", "a").await;
    dev.wait_for_log("plugport status --config /", 1).await;
    assert_eq!(dev.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_makes_a_core_module_is_told_how_to_make_a_component() {
    let dev = Dev::start("a", "printf '\\000asm\\001\\000\\000\\000' > x.wasm", &["--build", "sh build.sh"]);
    dev.wait_for_log("a core module and no component: ", 1).await;
    dev.wait_for_log("x.wasm; build for the target wasm32-wasip2", 1).await;
    assert_eq!(dev.times("no tools are published"), 0, "{}", dev.log());
    assert_eq!(dev.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_ends_with_its_server() {
    let mut dev = Dev::start("a", BUILD, &["--build", "sh build.sh"]);
    dev.wait_for_log("built in ", 1).await;
    send("-KILL", dev.server()).await;
    let ended = tokio::time::timeout(Duration::from_secs(20), dev.child.wait()).await;
    assert_eq!(ended.expect("it ends").unwrap().code(), Some(1));
    dev.wait_for_log("the server has ended", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_nobody_can_build_is_told_what_to_write() {
    let mut dev = Dev::start("a", BUILD, &[]);
    dev.wait_for_log("the command that builds it with --build", 1).await;
    assert_eq!(dev.child.wait().await.unwrap().code(), Some(2));
}
