//! The servers, how each is started, and what each cannot do.

use std::path::{Path, PathBuf};

use super::cell::{Cell, Transport};
use crate::plan::{Era, Task};

/// Which tools a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// echo, work, narrate and sample.
    Tools,
    /// This many echoes.
    List(usize),
}

impl Offer {
    /// As the servers' last argument; 0 means the four tools.
    fn count(self) -> usize {
        match self {
            Self::Tools => 0,
            Self::List(count) => count,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rival {
    Bare,
    Rmcp,
    Fresh,
    Reused,
    FastMcp,
    TypeScript,
}

pub const RIVALS: [Rival; 6] =
    [Rival::Bare, Rival::Rmcp, Rival::Fresh, Rival::Reused, Rival::FastMcp, Rival::TypeScript];

impl Rival {
    pub fn title(self) -> &'static str {
        match self {
            Self::Bare => "bare axum",
            Self::Rmcp => "rmcp native",
            Self::Fresh => "Plugport",
            Self::Reused => "Plugport, reused",
            Self::FastMcp => "fastmcp",
            Self::TypeScript => "TypeScript SDK",
        }
    }

    pub fn is_plugport(self) -> bool {
        matches!(self, Self::Fresh | Self::Reused)
    }

    /// Why a cell has no figure of this server.
    pub fn cannot(self, cell: Cell) -> Option<&'static str> {
        match (self, cell.task, cell.era, cell.transport) {
            (Self::Bare, _, _, Transport::Stdio) => Some("the bare handler serves HTTP only"),
            (Self::Bare, Task::Sample, Era::Session, _) => Some("the bare handler sends no requests"),
            (Self::Reused, Task::List(_), ..) => Some("listing never reuses an instance"),
            (Self::FastMcp, Task::Work, ..) => Some("the loop takes half a second in Python"),
            (Self::FastMcp, Task::Narrate, ..) | (Self::TypeScript, Task::Narrate, Era::Session, _) => {
                Some("answers in JSON, and then sends no notifications")
            }
            (Self::FastMcp | Self::TypeScript, Task::Sample, ..) => {
                Some("the script of this server does not sample")
            }
            _ => None,
        }
    }
}

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

    pub fn load(&self) -> PathBuf {
        self.release.join("rivals-load")
    }

    pub fn guest(&self) -> PathBuf {
        self.root.join("target/guests/rivals.wasm")
    }

    /// Whether the server is there: those in other languages need an installation.
    pub fn has(&self, rival: Rival) -> bool {
        match rival {
            Rival::FastMcp => self.installed("fastmcp").join("installed").is_file(),
            Rival::TypeScript => self.installed("typescript").join("installed").is_file(),
            _ => true,
        }
    }

    fn installed(&self, name: &str) -> PathBuf {
        self.root.join("target/rivals").join(name)
    }

    /// The command of a server over HTTP. `file` holds the result of `tools/list`.
    pub fn http(&self, rival: Rival, offer: Offer, port: u16, file: Option<&Path>) -> Vec<String> {
        let (port, count) = (port.to_string(), offer.count().to_string());
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
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
