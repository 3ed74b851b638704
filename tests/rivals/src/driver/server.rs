//! A running server, and the folder that it runs in.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;
use tempfile::TempDir;

use super::programs::Programs;
use super::rival::{Rival, ToolSet};

const START: Duration = Duration::from_secs(60);
const MARK: &[u8] = b"hostile-variant:";

/// The settings of Plugport that a benchmark needs: no rate stops the load, and a list has one page.
const SETTINGS: &str = "\
[server]
caller_calls_per_second = 1000000000
concurrent_calls = 900
idle_instances = 100
max_connections = 2000
page_size = 5000
ping_interval_s = 0
state_dir = \"state\"

[limits]
client_requests = 1000
concurrent_calls = 900
tool_calls_per_second = 1000000000
tools = 5000

[plugins.rivals]
";

/// A folder to run a server in. Plugport and hyper-mcp find their configuration there, and Plugport its plugin.
pub struct Home(TempDir);

impl Home {
    pub fn new(programs: &Programs, rival: Rival, tool_set: ToolSet) -> Result<Self> {
        let home = tempfile::tempdir()?;
        if rival.is_plugport() {
            let instances = if rival == Rival::Reused { "reuse" } else { "fresh" };
            // The most that can be granted.
            let sampling = "{ calls_per_hour = 1000000, tokens_per_hour = 10000000000 }";
            let settings = format!(
                "{SETTINGS}instances = \"{instances}\"\n[plugins.rivals.grants]\nsampling = {sampling}\n"
            );
            std::fs::write(home.path().join("plugport.toml"), settings)?;
            std::fs::create_dir(home.path().join("plugins"))?;
            std::fs::write(home.path().join("plugins/rivals.wasm"), guest(&programs.guest(), tool_set)?)?;
        }
        if rival == Rival::HyperMcp {
            let guest = json!({ "url": format!("file://{}", programs.extism_guest().display()) });
            let settings = json!({ "plugins": { "rivals": guest } });
            std::fs::write(home.path().join("config.json"), settings.to_string())?;
        }
        Ok(Self(home))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Keeps a text in the folder.
    pub fn file(&self, name: &str, text: &str) -> Result<PathBuf> {
        let file = self.path().join(name);
        std::fs::write(&file, text)?;
        Ok(file)
    }
}

/// The guest with the digit that says which tools it lists.
fn guest(file: &Path, tool_set: ToolSet) -> Result<Vec<u8>> {
    let mut bytes =
        std::fs::read(file).with_context(|| format!("`cargo measure rivals` builds {}", file.display()))?;
    let found = bytes.windows(MARK.len()).position(|window| window == MARK);
    let at = found.context("the guest has no variants")? + MARK.len();
    bytes[at] = match tool_set {
        ToolSet::Tasks => b'0',
        ToolSet::Echoes(1) => b'1',
        ToolSet::Echoes(100) => b'2',
        ToolSet::Echoes(5_000) => b'3',
        ToolSet::Echoes(other) => bail!("the guest has no list of {other} tools"),
    };
    Ok(bytes)
}

/// A server over HTTP. Killed when dropped.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    _home: Home,
}

impl Server {
    /// Starts a server and waits until it accepts connections.
    pub fn start(programs: &Programs, rival: Rival, tool_set: ToolSet, list: Option<&str>) -> Result<Self> {
        let home = Home::new(programs, rival, tool_set)?;
        let file = list.map(|list| home.file("list.json", list)).transpose()?;
        // Free a moment ago; nothing else on this machine takes ports in a row.
        let address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
        let words = programs.http(rival, tool_set, address.port(), file.as_deref());
        let (program, arguments) = words.split_first().context("there is no command")?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(home.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("cannot start {program}"))?;
        let mut server = Self { child, address, _home: home };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            ensure!(begun.elapsed() < START, "{} does not listen", rival.title());
            if let Some(status) = server.child.try_wait()? {
                bail!("{} ended with {status}; its command was {}", rival.title(), words.join(" "));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
