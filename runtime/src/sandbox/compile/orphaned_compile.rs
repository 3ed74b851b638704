//! Finishes a compilation whose server ends: another process waits for the compiler's reply and stores the code.
//!
//! A short-lived client starts a server, lists its tools and ends. If the compilation ended with the server, the next
//! server would begin it again, and none would ever finish. The server cannot wait for it either: the client waits for
//! the server's end and kills it before long. So a process of this program takes over the two pipes: the one with the
//! reply, and the one whose end would tell the compiler that nobody waits. It waits, reads the reply and stores it. It
//! also has the server's compile lock, so other servers wait for it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::cache::{CodeCache, Key};
use super::ipc::{self, HEAD, ReplyHeader, ReplyKind};
use super::worker_main::WorkerError;
use crate::config::Limits;
use crate::sandbox::engine::compiler;

/// Which code is to be stored, and where.
#[derive(Debug, Clone)]
pub struct DetachedCompile {
    /// The folder with compiled code.
    pub folder: PathBuf,
    /// Its size, MiB.
    pub mib: u64,
    /// Of the component.
    pub digest: String,
    /// Longest code, MiB.
    pub code_mib: u64,
    /// How long to wait, milliseconds.
    pub within_ms: u64,
}

impl DetachedCompile {
    /// For the code of a component with this digest, to be stored in this cache.
    pub(super) fn new(cache: &CodeCache, digest: &str, limits: &Limits) -> Self {
        let (folder, mib) = cache.location();
        let (digest, code_mib, within_ms) = (digest.to_owned(), limits.code_mib, limits.compile_ms);
        Self { folder, mib, digest, code_mib, within_ms }
    }

    /// Starts the process that waits for the reply and has the lock until it ends. Nothing waits for its end.
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
            // A signal to the process group of the server does not end this process.
            .process_group(0)
            .stdin(Stdio::from(stdout))
            .stdout(Stdio::from(stdin))
            // The process writes no messages, so stderr serves to inherit the lock's file.
            .stderr(lock.map_or_else(Stdio::null, Stdio::from))
            .spawn();
        child.map(drop)
    }

    /// Waits for the reply on stdin and stores its code. The process ends after `within_ms` at the latest.
    ///
    /// # Errors
    /// When there is no reply, or it cannot be stored. Nobody reads the error.
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
            // The next server that loads the file compiles it again and reports the error.
            _ => return Ok(()),
        };
        let engine = compiler().map_err(WorkerError::of)?;
        let cache = CodeCache::in_folder(&self.folder, self.mib).map_err(WorkerError::of)?;
        cache.insert(&Key::of(&engine, &self.digest), &code);
        Ok(())
    }
}
