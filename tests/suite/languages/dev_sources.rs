//! `plugport dev` gives new sources to a component of an interpreter as data: it neither builds nor compiles another
//! one.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use plugport_tests::build::shared_cache_home;
use plugport_tests::http_client::Client;
use plugport_tests::server::program;
use plugport_tests::toolchain::{self, Lang};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// How long a server of the test's build may compile an interpreter.
const TIMEOUT: Duration = Duration::from_secs(300);

/// How long anything may take that compiles nothing, on a machine with much else to do.
const SOON: Duration = Duration::from_secs(60);

const CONFIG: &str = "[limits]\ncompile_ms = 600_000\nwall_ms = 60_000\n";

/// A new project from a template, and the loop that serves it.
struct Dev {
    child: Child,
    said: Arc<Mutex<String>>,
    dir: TempDir,
    source: &'static str,
}

impl Dev {
    /// `None` if the language is not installed. `source`: the file with the plugin.
    async fn start(
        template: &'static str,
        lang: Lang,
        source: &'static str,
        install: &[&str],
    ) -> Option<Self> {
        let path = tokio::task::spawn_blocking(move || toolchain::require(lang)).await.unwrap()?;
        let dir = tempfile::tempdir().unwrap();
        let new = ["new", "my-tool", "--lang", template];
        assert!(Command::from(program()).args(new).current_dir(dir.path()).status().await.unwrap().success());
        let project = dir.path().join("my-tool");
        std::fs::write(project.join("plugport.toml"), CONFIG).unwrap();
        if let [program, args @ ..] = install {
            let mut command = Command::new(program);
            command.args(args).current_dir(&project).env("PATH", &path).stdout(Stdio::null());
            assert!(command.status().await.unwrap().success());
        }
        let mut command = Command::from(program());
        command.args(["dev", ".", "--listen", "127.0.0.1:0"]).current_dir(&project).env("PATH", &path);
        command.env("XDG_CACHE_HOME", shared_cache_home());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let hearing = Arc::clone(&said);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                *hearing.lock().unwrap() += &format!("{line}\n");
            }
        });
        Some(Self { child, said, dir, source })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join("my-tool").join(name)
    }

    /// Saves the plugin with this text instead of another.
    fn replace(&self, old: &str, new: &str) {
        let file = self.file(self.source);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(old), "{old:?} is not in\n{text}");
        std::fs::write(file, text.replace(old, new)).unwrap();
    }

    fn component(&self) -> Vec<u8> {
        std::fs::read(self.file(".plugport-dev/plugins/my-tool.wasm")).unwrap()
    }

    fn log(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    async fn wait_for_log(&self, text: &str, within: Duration) {
        let deadline = Instant::now() + within;
        while !self.log().contains(text) {
            assert!(Instant::now() < deadline, "it never said {text:?}; it said:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn client(&self) -> Client {
        self.wait_for_log("published my-tool: my-tool-hello", TIMEOUT).await;
        let said = self.log();
        Client::new(said.split("serving MCP at ").last().unwrap().lines().next().unwrap())
    }

    async fn wait_for_answer(&self, client: &Client, expected: &str, within: Duration) {
        let deadline = Instant::now() + within;
        loop {
            let reply = client.call("my-tool-hello", json!({ "name": "Ada" })).await;
            let text = reply.response()["result"]["content"][0]["text"].as_str().map(str::to_owned);
            if text.as_deref() == Some(expected) {
                return;
            }
            assert!(Instant::now() < deadline, "{expected:?} was expected: {reply:?}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn terminate(mut self) {
        let pid = self.child.id().unwrap().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().await.unwrap();
        let ended = tokio::time::timeout(SOON, self.child.wait()).await;
        assert_eq!(ended.expect("it ends").unwrap().code(), Some(0));
    }
}

fn write(file: &Path, text: &str) {
    std::fs::write(file, text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_in_python_is_served_by_the_same_component() {
    let Some(dev) = Dev::start("python", Lang::Python, "plugin.py", &[]).await else { return };
    let client = dev.client().await;
    dev.wait_for_answer(&client, "Hello, Ada!", SOON).await;
    let component = dev.component();
    write(&dev.file("words.py"), "GREETING = 'Servus'\n");
    dev.replace("from plugport_sdk", "from words import GREETING\nfrom plugport_sdk");
    dev.replace("f\"Hello,", "f\"{GREETING},");
    dev.wait_for_answer(&client, "Servus, Ada!", SOON).await;
    // A module that another one imports.
    write(&dev.file("words.py"), "GREETING = 'Salve'\n");
    dev.wait_for_answer(&client, "Salve, Ada!", SOON).await;
    dev.replace("def hello(", "def hello((");
    dev.wait_for_log("SyntaxError: ", SOON).await;
    dev.wait_for_log("the version before it is still served", SOON).await;
    let log = dev.log();
    assert!(log.contains("File \"plugin.py\", line 1") && !log.contains("dev_sources.py"), "{log}");
    dev.wait_for_answer(&client, "Salve, Ada!", SOON).await;
    assert!(component == dev.component(), "nothing was compiled");
    // Nothing in the component has imported this module.
    dev.replace("def hello((", "def hello(");
    dev.replace("from words import GREETING", "import colorsys\nGREETING = f'Ave {colorsys.ONE_THIRD:.1f}'");
    dev.wait_for_log("No module named 'colorsys'\n", SOON).await;
    dev.wait_for_answer(&client, "Ave 0.3, Ada!", TIMEOUT).await;
    assert!(component != dev.component(), "it was built again");
    dev.terminate().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_in_typescript_is_served_by_the_same_component() {
    let install = ["npm", "install", "--no-audit", "--no-fund"];
    let started = Dev::start("typescript", Lang::TypeScript, "src/plugin.ts", &install).await;
    let Some(dev) = started else { return };
    let client = dev.client().await;
    dev.wait_for_answer(&client, "Hello, Ada!", SOON).await;
    let component = dev.component();
    write(&dev.file("src/words.ts"), "export const word: string = 'Servus';\n");
    dev.replace("from \"plugport-sdk\";", "from \"plugport-sdk\";\nimport { word } from \"./words.js\";");
    dev.replace("`Hello, ${known}!`", "`${word}, ${known}!`");
    dev.wait_for_answer(&client, "Servus, Ada!", SOON).await;
    dev.replace("export const hello", "export const const hello");
    dev.wait_for_log("src/plugin.ts:", SOON).await;
    dev.wait_for_log("the version before it is still served", SOON).await;
    dev.replace("export const const hello", "missing();\nexport const hello");
    dev.wait_for_log("ReferenceError: ", SOON).await;
    dev.wait_for_answer(&client, "Servus, Ada!", SOON).await;
    dev.replace("missing();\n", "");
    dev.replace("${word}, ", "Salve, ");
    dev.wait_for_answer(&client, "Salve, Ada!", SOON).await;
    assert!(component == dev.component(), "nothing was compiled");
    dev.terminate().await;
}
