//! Finishes a compilation whose server ends: another process waits for the compiler's reply and stores the code.
//!
//! A short-lived client starts a server, lists its tools and ends. If the compilation ended with the server, the next
//! server would start it again, and it would never finish. The server cannot wait for it either: the client waits for
//! the server's end, and kills it before long. So a new process of this program takes over both pipes of the compiler:
//! the one with the reply, and the one whose end would tell the compiler that its server has ended. It reads the reply
//! and stores the code. It also holds the server's compile lock, so that other servers wait for the code.

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
use crate::sandbox::compile_effort::CompileEffort;
use crate::sandbox::engine::compiler;

/// The code that is to be stored, and the cache for it.
#[derive(Debug, Clone)]
pub struct DetachedCompile {
    /// The folder of the code cache.
    pub folder: PathBuf,
    /// The maximum size of the cache, in MiB.
    pub mib: u64,
    /// The digest under which the code is stored.
    pub digest: String,
    /// The maximum size of the code, in MiB.
    pub code_mib: u64,
    /// How long to wait, in milliseconds.
    pub within_ms: u64,
}

impl DetachedCompile {
    /// Describes the code of the component with this digest, which is to be stored in this cache.
    pub(super) fn new(cache: &CodeCache, digest: &str, limits: &Limits) -> Self {
        let (folder, mib) = cache.location();
        let (digest, code_mib, within_ms) = (digest.to_owned(), limits.code_mib, limits.compile_ms);
        Self { folder, mib, digest, code_mib, within_ms }
    }

    /// Starts the process that waits for the reply. It holds the lock until it ends, and nothing waits for that.
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
            // In its own process group, so that a signal to the server's group does not end it.
            .process_group(0)
            .stdin(Stdio::from(stdout))
            .stdout(Stdio::from(stdin))
            // The process writes no messages, so stderr can be used to inherit the lock file.
            .stderr(lock.map_or_else(Stdio::null, Stdio::from))
            .spawn();
        child.map(drop)
    }

    /// Waits for the reply on stdin and stores its code. The process ends after `within_ms` at the latest.
    ///
    /// # Errors
    /// When there is no reply, or its code cannot be stored. No one reads the error.
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
        let engine = compiler(CompileEffort::Full).map_err(WorkerError::of)?;
        let cache = CodeCache::in_folder(&self.folder, self.mib).map_err(WorkerError::of)?;
        cache.insert(&Key::of(&engine, &self.digest), &code);
        Ok(())
    }
}
