//! What becomes of a compiling process whose server ends: another process waits for its answer and keeps it.
//!
//! Clients that are short-lived start a server, ask for its list and go. If what was being compiled went with the
//! server, the next one would begin anew, and none would ever come to the end. A server cannot stay for it either:
//! whoever started it waits for its end, and kills it before long. So a process of this program takes over the two
//! pipes, the one that the answer comes from and the one whose end would tell the compiler that nobody waits. It does
//! nothing but wait, read and keep. Whoever wants the same file compiled waits for it, since it has the server's lock
//! on that.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::cache::{CodeCache, Key};
use super::ipc::{self, HEAD, ReplyHeader, ReplyKind};
use super::worker::WorkerError;
use crate::config::Limits;
use crate::sandbox::engine::compiler;

/// Where an answer is to be kept, and which it is.
#[derive(Debug, Clone)]
pub struct DetachedCompile {
    /// The folder with compiled code.
    pub folder: PathBuf,
    /// Its room, MiB.
    pub mib: u64,
    /// Of the component.
    pub digest: String,
    /// Longest code, MiB.
    pub code_mib: u64,
    /// How long to wait, milliseconds.
    pub within_ms: u64,
}

impl DetachedCompile {
    /// For the code of a component of this digest, which belongs into this cache.
    pub(super) fn new(cache: &CodeCache, digest: &str, limits: &Limits) -> Self {
        let (folder, mib) = cache.location();
        let (digest, code_mib, within_ms) = (digest.to_owned(), limits.code_mib, limits.compile_ms);
        Self { folder, mib, digest, code_mib, within_ms }
    }

    /// Starts the process that waits for the answer, and has the lock until it ends. It belongs to nobody.
    pub(super) fn start(
        self,
        program: &Path,
        stdin: OwnedFd,
        stdout: OwnedFd,
        lock: Option<File>,
    ) -> io::Result<()> {
        let child = Command::new(program)
            .arg0("plugport")
            .arg("await-compile")
            .arg("--folder")
            .arg(self.folder)
            .args(["--mib", &self.mib.to_string()])
            .args(["--digest", &self.digest])
            .args(["--code-mib", &self.code_mib.to_string()])
            .args(["--within-ms", &self.within_ms.to_string()])
            .env_clear()
            .current_dir("/")
            // Whoever ends the server and all that it started does not mean this.
            .process_group(0)
            .stdin(Stdio::from(stdout))
            .stdout(Stdio::from(stdin))
            // It has nothing to say, and this is one more file that it inherits.
            .stderr(lock.map_or_else(Stdio::null, Stdio::from))
            .spawn();
        child.map(drop)
    }

    /// Waits for the answer on stdin and keeps it; this process ends in time whatever happens.
    ///
    /// # Errors
    /// When there is no answer, or it cannot be kept. Nobody reads that.
    pub fn wait(&self) -> Result<(), WorkerError> {
        let within = Duration::from_millis(self.within_ms);
        let ending = std::thread::Builder::new().spawn(move || {
            std::thread::sleep(within);
            std::process::exit(1);
        });
        ending.map_err(WorkerError::of)?;
        let mut stdin = io::stdin().lock();
        let mut head = [0; HEAD];
        io::Read::read_exact(&mut stdin, &mut head).map_err(WorkerError::of)?;
        let code = match ReplyHeader::parse(&head) {
            Some(ReplyHeader { kind: ReplyKind::Code, length }) if length <= self.code_mib << 20 => {
                ipc::body(stdin, length).map_err(WorkerError::of)?
            }
            // Whoever loads the file next hears what is wrong with it.
            _ => return Ok(()),
        };
        let engine = compiler().map_err(WorkerError::of)?;
        let cache = CodeCache::in_folder(&self.folder, self.mib).map_err(WorkerError::of)?;
        cache.insert(&Key::of(&engine, &self.digest), &code);
        Ok(())
    }
}
