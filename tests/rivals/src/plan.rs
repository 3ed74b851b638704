//! What one run of the load generator is told, and what it reports. Both are one line of JSON between two processes.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How the client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Revision {
    /// 2026-07-28: each request stands alone.
    Stateless,
    /// 2025-11-25: each connection has a session.
    Session,
}

impl Revision {
    pub fn name(self) -> &'static str {
        match self {
            Self::Stateless => "2026-07-28",
            Self::Session => "2025-11-25",
        }
    }
}

/// What the client asks for, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Task {
    /// A text of this many bytes, there and back.
    Echo(usize),
    /// 10 ms of computing.
    Work,
    /// A log message and a progress notification before the result.
    Narrate,
    /// A sampling request, which the client answers at once.
    Sample,
    /// The list of this many tools.
    List(usize),
}

impl Task {
    /// The tool that is called, if one is.
    pub fn tool(self) -> Option<&'static str> {
        match self {
            Self::Echo(_) => Some("rivals-echo"),
            Self::Work => Some("rivals-work"),
            Self::Narrate => Some("rivals-narrate"),
            Self::Sample => Some("rivals-sample"),
            Self::List(_) => None,
        }
    }

    pub fn method(self) -> &'static str {
        if self.tool().is_some() { "tools/call" } else { "tools/list" }
    }

    /// A reply with fewer bytes is wrong.
    pub fn min_reply_bytes(self) -> usize {
        match self {
            Self::Echo(bytes) => bytes,
            Self::List(tools) => 100 * tools,
            Self::Work | Self::Narrate | Self::Sample => 16,
        }
    }
}

/// Where the server is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Target {
    Http {
        address: SocketAddr,
        pid: u32,
    },
    /// The load generator starts the server.
    Stdio {
        command: Vec<String>,
        folder: PathBuf,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    pub revision: Revision,
    pub task: Task,
    pub connections: usize,
    pub millis: u64,
    pub target: Target,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub calls: u64,
    pub per_second: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    /// Processor time of the server per call.
    pub cpu_us: f64,
    pub memory: Memory,
}

/// Memory of the server right after the load, KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub resident: u64,
    pub peak: u64,
    pub private: u64,
}
