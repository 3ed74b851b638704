//! The server's side of a compiling process: starts it, writes its input, reads its reply, and classifies how it ended.
//!
//! Only a separate process can bound memory and time and contain a crash. It runs the very file that this process runs,
//! and not the file that has its name now. So a server whose file was replaced keeps the compiler of its own version.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::CompileError;
use super::deserialize::MachineCode;
use super::ipc::{HEAD, ReplyHeader, ReplyKind};
use super::orphaned_compile::DetachedCompile;
use crate::config::Limits;
use crate::observe::Escaped;
use crate::sandbox::compile_effort::CompileEffort;

/// The file that this process runs, even if it was renamed or removed.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// How many bytes of the compiler's stderr are read, and of its message about an invalid component.
const MAX_MESSAGE: u64 = 4 << 10;

/// How long a process may take to end after its reply, or after it was killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of threads of one compiling process. More would hardly speed up compiling one component.
const MAX_THREADS: usize = 4;

/// The texts that Rust and the compiler's own allocator write when memory runs out.
const NO_MEMORY: [&str; 2] = ["memory allocation of ", "out of memory"];

/// The path of the program that compiles.
pub(super) fn this_program() -> PathBuf {
    match Path::new(THIS_PROGRAM) {
        path if path.exists() => path.to_owned(),
        _ => std::env::current_exe().unwrap_or_else(|_| "plugport".into()),
    }
}

/// Compiles a component in a separate process. If this future is dropped, the process that `detached` describes takes
/// over, reads the reply, and holds `lock` until then; without `detached`, the compiling process is killed.
pub(super) async fn compile(
    program: &Path,
    effort: CompileEffort,
    component: Vec<u8>,
    limits: &Limits,
    detached: Option<DetachedCompile>,
    lock: Option<File>,
) -> Result<MachineCode, CompileError> {
    let child = start(program, effort, component.len(), limits).map_err(CompileError::Unavailable)?;
    let mut running = CompileProcess {
        child,
        program: program.to_owned(),
        begun: Instant::now(),
        pipes: None,
        detached,
        lock,
    };
    let communication = communicate(&mut running, component, limits);
    let Ok(outcome) = tokio::time::timeout(limits.compile_time(), communication).await else {
        running.detached = None;
        kill(&mut running.child).await;
        return Err(CompileError::Slow(limits.compile_ms));
    };
    let status = wait_for_exit(&mut running.child).await;
    match outcome {
        (Ok(code), _) => Ok(code),
        (Err(ReplyError::Compile(error)), _) => Err(error),
        (Err(ReplyError::None), stderr) => Err(exit_error(status, &stderr, limits)),
    }
}

fn start(program: &Path, effort: CompileEffort, bytes: usize, limits: &Limits) -> io::Result<Child> {
    let threads = threads();
    let cpu_s = limits.compile_time().as_secs().saturating_add(1).saturating_mul(threads as u64);
    Command::new(program)
        .arg0("plugport")
        .arg("compile-worker")
        .args(["--bytes", &bytes.to_string()])
        .args(["--memory-mib", &limits.compile_mib.to_string()])
        .args(["--cpu-s", &cpu_s.to_string()])
        .args((effort == CompileEffort::Quick).then_some("--quick"))
        .env_clear()
        .env("RAYON_NUM_THREADS", threads.to_string())
        .current_dir("/")
        // In its own process group, because an interrupt from the terminal is meant for the server.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// A compiling process. When this is dropped, it is killed or taken over by another process.
struct CompileProcess {
    child: Child,
    program: PathBuf,
    begun: Instant,
    /// The pipes, while the process has its whole input and has not replied.
    pipes: Option<(ChildStdin, ChildStdout)>,
    detached: Option<DetachedCompile>,
    lock: Option<File>,
}

impl CompileProcess {
    /// Starts the process that takes over, if the reply is still to come and a cache can store the code.
    fn detach(&mut self) -> Option<()> {
        let (detached, (stdin, stdout)) = (self.detached.take()?, self.pipes.take()?);
        let spent = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let detached = DetachedCompile { within_ms: detached.within_ms.checked_sub(spent)?, ..detached };
        let (stdin, stdout) = (stdin.into_owned_fd().ok()?, stdout.into_owned_fd().ok()?);
        detached
            .start(&self.program, stdin, stdout, self.lock.take())
            .inspect_err(|error| tracing::debug!(%error, "running compilations are cancelled"))
            .ok()
    }
}

impl Drop for CompileProcess {
    fn drop(&mut self) {
        if self.detach().is_none() {
            // Killing a process that has already ended does nothing.
            let _ = self.child.start_kill();
        }
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_THREADS))
}

/// Why there is no machine code.
enum ReplyError {
    /// The reply is an error, or the code is too large.
    Compile(CompileError),
    /// The process ended without a reply, or wrote something that is not a reply.
    None,
}

/// Writes the input, and reads stdout and stderr to their ends. Returns the reply and the text of stderr.
async fn communicate(
    running: &mut CompileProcess,
    component: Vec<u8>,
    limits: &Limits,
) -> (Result<MachineCode, ReplyError>, String) {
    let child = &mut running.child;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return (Err(ReplyError::None), String::new());
    };
    let pipes = &mut running.pipes;
    tokio::join!(read_reply(stdin, stdout, component, limits, pipes), read_stderr(stderr))
}

/// Writes the input, waits for the reply and reads it. During the wait, `pipes` contains the pipes, so that another
/// process can take over.
async fn read_reply(
    mut stdin: ChildStdin,
    stdout: ChildStdout,
    component: Vec<u8>,
    limits: &Limits,
    pipes: &mut Option<(ChildStdin, ChildStdout)>,
) -> Result<MachineCode, ReplyError> {
    write_input(&mut stdin, component).await;
    let (_, stdout) = pipes.insert((stdin, stdout));
    let mut head = [0; HEAD];
    let read = stdout.read_exact(&mut head).await;
    // Stdin stays open until the reply has been read, because the process takes the end of stdin for the end of the
    // server.
    let Some((_stdin, stdout)) = pipes.take() else { return Err(ReplyError::None) };
    read.map_err(|_| ReplyError::None)?;
    read_body(head, stdout, limits).await
}

/// Writes the input. A failure is ignored, because the exit status says more than a broken pipe.
async fn write_input(stdin: &mut ChildStdin, component: Vec<u8>) {
    let _ = stdin.write_all(&component).await;
}

async fn read_body(
    head: [u8; HEAD],
    stdout: ChildStdout,
    limits: &Limits,
) -> Result<MachineCode, ReplyError> {
    let ReplyHeader { kind, length } = ReplyHeader::parse(&head).ok_or(ReplyError::None)?;
    let max = match kind {
        ReplyKind::Code => limits.code_mib << 20,
        ReplyKind::Invalid => MAX_MESSAGE,
    };
    if kind == ReplyKind::Code && length > max {
        return Err(ReplyError::Compile(CompileError::Large(limits.code_mib)));
    }
    let length = length.min(max);
    let mut body = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    stdout.take(length).read_to_end(&mut body).await.map_err(|_| ReplyError::None)?;
    if body.len() as u64 != length {
        return Err(ReplyError::None);
    }
    match kind {
        ReplyKind::Code => Ok(MachineCode::Compiled(body)),
        ReplyKind::Invalid => {
            let message = String::from_utf8_lossy(&body).into_owned();
            Err(ReplyError::Compile(CompileError::from_message(message)))
        }
    }
}

/// Reads all of stderr, so that the process never blocks on it, and returns its beginning.
async fn read_stderr(mut stderr: ChildStderr) -> String {
    let mut beginning = Vec::new();
    let _ = (&mut stderr).take(MAX_MESSAGE).read_to_end(&mut beginning).await;
    let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&beginning).into_owned()
}

/// Waits for the end of a process that has closed its pipes, and kills it after [`EXIT_TIMEOUT`]. The exit status is
/// most informative if the process ends by itself.
async fn wait_for_exit(child: &mut Child) -> Option<ExitStatus> {
    match tokio::time::timeout(EXIT_TIMEOUT, child.wait()).await {
        Ok(status) => status.ok(),
        Err(_) => kill(child).await,
    }
}

/// Kills a process and waits for its end.
async fn kill(child: &mut Child) -> Option<ExitStatus> {
    let _ = child.start_kill();
    tokio::time::timeout(EXIT_TIMEOUT, child.wait()).await.ok()?.ok()
}

/// Returns the error for a process that ended without a reply.
fn exit_error(status: Option<ExitStatus>, stderr: &str, limits: &Limits) -> CompileError {
    let signal = status.and_then(|status| status.signal());
    if signal == Some(rustix::process::Signal::XCPU.as_raw()) {
        return CompileError::Slow(limits.compile_ms);
    }
    if NO_MEMORY.iter().any(|sign| stderr.contains(sign)) {
        return CompileError::Memory(limits.compile_mib);
    }
    if signal == Some(rustix::process::Signal::KILL.as_raw()) {
        return CompileError::Killed;
    }
    let status = status.map_or_else(|| "unknown".to_owned(), |status| status.to_string());
    tracing::warn!(status, stderr = %Escaped(stderr), "the compiler failed");
    CompileError::Crashed
}
