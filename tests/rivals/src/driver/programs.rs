//! The programs of the servers, and how each is started.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::rival::{Rival, ToolSet};

/// Where everything that is started lies.
pub struct Programs {
    /// `target/release`.
    release: PathBuf,
    root: PathBuf,
}

impl Programs {
    /// Beside the program that runs.
    pub fn here() -> anyhow::Result<Self> {
        let program = std::env::current_exe()?;
        let release = program.parent().unwrap_or(Path::new(".")).to_owned();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        Ok(Self { release, root })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn load(&self) -> Command {
        Command::new(self.release.join("rivals-load"))
    }

    pub fn guest(&self) -> PathBuf {
        self.root.join("target/guests/rivals.wasm")
    }

    /// The guest of hyper-mcp. Those of the other servers are compiled.
    pub fn extism_guest(&self) -> PathBuf {
        self.root.join("tests/rivals/guests/hyper-mcp.wat")
    }

    /// Whether the server is there: those of other people need an installation.
    pub fn has(&self, rival: Rival) -> bool {
        match rival {
            Rival::FastMcp => self.is_installed("fastmcp"),
            Rival::TypeScript => self.is_installed("typescript"),
            Rival::Act => self.is_installed("act"),
            Rival::Wassette => self.is_installed("wassette"),
            Rival::HyperMcp => self.is_installed("hyper-mcp"),
            Rival::Bare | Rival::Rmcp | Rival::Fresh | Rival::Reused => true,
        }
    }

    fn is_installed(&self, name: &str) -> bool {
        self.installed(name).join("installed").is_file()
    }

    fn installed(&self, name: &str) -> PathBuf {
        self.root.join("target/rivals").join(name)
    }

    /// The command of a server over HTTP. `file` holds the result of `tools/list`.
    pub fn http(&self, rival: Rival, tool_set: ToolSet, port: u16, file: Option<&Path>) -> Vec<String> {
        let (port, count) = (port.to_string(), tool_set.count().to_string());
        match rival {
            Rival::Bare => {
                let mut words = vec![shown(&self.release.join("rivals-bare")), port];
                words.extend(file.map(shown));
                words
            }
            Rival::Rmcp => vec![shown(&self.release.join("rivals-rmcp")), port, count],
            Rival::Fresh | Rival::Reused => {
                let listen = format!("127.0.0.1:{port}");
                let mut words = self.plugport();
                words.extend(["--listen".to_owned(), listen]);
                words
            }
            Rival::FastMcp => self.python(port, count),
            Rival::TypeScript => self.node(port, count),
            Rival::Act => self.act(&["--http", "--listen", &format!("127.0.0.1:{port}")]),
            Rival::Wassette => {
                let listen = format!("127.0.0.1:{port}");
                self.wassette(&["serve", "--streamable-http", "--json-response", "--bind-address", &listen])
            }
            Rival::HyperMcp => Vec::new(),
        }
    }

    /// The command of a server over stdio.
    pub fn stdio(&self, rival: Rival) -> Vec<String> {
        let (how, count) = ("stdio".to_owned(), "0".to_owned());
        match rival {
            Rival::Bare => Vec::new(),
            Rival::Rmcp => vec![shown(&self.release.join("rivals-rmcp")), how, count],
            Rival::Fresh | Rival::Reused => {
                let mut words = self.plugport();
                words.push("--stdio".to_owned());
                words
            }
            Rival::FastMcp => self.python(how, count),
            Rival::TypeScript => self.node(how, count),
            Rival::Act => self.act(&[]),
            Rival::Wassette => self.wassette(&["run"]),
            Rival::HyperMcp => {
                let folder = self.installed("hyper-mcp");
                let mut words = with_home(&folder);
                words.push(shown(&folder.join("bin/hyper-mcp")));
                words.extend(["--config-file", "config.json"].map(str::to_owned));
                words
            }
        }
    }

    fn plugport(&self) -> Vec<String> {
        let words = [shown(&self.release.join("plugport")), "serve".to_owned()];
        words.into_iter().chain(["--log".to_owned(), "warn".to_owned()]).collect()
    }

    fn python(&self, how: String, count: String) -> Vec<String> {
        let folder = self.root.join("tests/rivals/servers/fastmcp/server.py");
        vec![shown(&self.installed("fastmcp").join("bin/python")), shown(&folder), how, count]
    }

    /// The script lies beside its packages, where node finds them.
    fn node(&self, how: String, count: String) -> Vec<String> {
        vec!["node".to_owned(), shown(&self.installed("typescript").join("server.mjs")), how, count]
    }

    fn act(&self, options: &[&str]) -> Vec<String> {
        let folder = self.installed("act");
        let mut words = with_home(&folder);
        words.push(shown(&folder.join("bin/act")));
        words.extend(["run", "--mcp"].iter().chain(options).map(|word| (*word).to_owned()));
        words.push(shown(&folder.join("guest.wasm")));
        words
    }

    fn wassette(&self, options: &[&str]) -> Vec<String> {
        let folder = self.installed("wassette");
        let mut words = with_home(&folder);
        // There is one where that of the machine is too old.
        let libraries = folder.join("libc/usr/lib/x86_64-linux-gnu");
        if libraries.is_dir() {
            let loader = shown(&libraries.join("ld-linux-x86-64.so.2"));
            words.extend([loader, "--library-path".to_owned(), shown(&libraries)]);
        }
        words.push(shown(&folder.join("program")));
        words.extend(options.iter().map(|word| (*word).to_owned()));
        words.extend(["--disable-builtin-tools".to_owned(), "--component-dir".to_owned()]);
        words.push(shown(&folder.join("components")));
        words
    }
}

/// The command `env`, which starts a program with its home and caches in a folder. It logs warnings only, as Plugport.
fn with_home(folder: &Path) -> Vec<String> {
    vec!["env".to_owned(), format!("HOME={}", shown(folder)), "RUST_LOG=warn".to_owned()]
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
