//! The compiling process from outside: start it, feed it, take its answer, and say what became of it.
//!
//! A process of its own is the only bound that holds for all of memory, time and a crash. It is this very program,
//! found as the file that runs and not by its name, so that a server whose file was replaced goes on with the compiler
//! that fits it.

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
use super::detached::DetachedCompile;
use super::ipc::{HEAD, ReplyHeader, ReplyKind};
use crate::config::Limits;
use crate::observe::Escaped;

/// The program that runs, even when its file has another name by now or none.
const THIS: &str = "/proc/self/exe";

/// What is kept of a compiler's last words, and of its reason why something is not a component.
const MOST_WORDS: u64 = 4 << 10;

/// How long a process may take to end, after its last word or when it was killed.
const END: Duration = Duration::from_secs(5);

/// Threads of one compiling process; more are of little use to one component.
const MOST_THREADS: usize = 4;

/// What Rust, and what the compiler's own allocator, say for want of memory.
const NO_MEMORY: [&str; 2] = ["memory allocation of ", "out of memory"];

/// Where the program is that compiles.
pub(super) fn this_program() -> PathBuf {
    match Path::new(THIS) {
        path if path.exists() => path.to_owned(),
        _ => std::env::current_exe().unwrap_or_else(|_| "plugport".into()),
    }
}

/// Compiles a component in a process of its own. Dropped, it leaves the answer to another process, which does as
/// `detached` says and has `lock` until then, or else kills the one that compiles.
pub(super) async fn compile(
    program: &Path,
    component: Vec<u8>,
    limits: &Limits,
    detached: Option<DetachedCompile>,
    lock: Option<File>,
) -> Result<MachineCode, CompileError> {
    let child = start(program, component.len(), limits).map_err(CompileError::Unavailable)?;
    let mut running = CompileProcess {
        child,
        program: program.to_owned(),
        begun: Instant::now(),
        awaited: None,
        detached,
        lock,
    };
    let exchange = exchange(&mut running, component, limits);
    let Ok(outcome) = tokio::time::timeout(limits.compile_time(), exchange).await else {
        running.detached = None;
        kill(&mut running.child).await;
        return Err(CompileError::Slow(limits.compile_ms));
    };
    let status = wait_for_exit(&mut running.child).await;
    match outcome {
        (Ok(answer), _) => Ok(answer),
        (Err(ReplyError::Error(error)), _) => Err(error),
        (Err(ReplyError::Silence), words) => Err(exit_error(status, &words, limits)),
    }
}

fn start(program: &Path, bytes: usize, limits: &Limits) -> io::Result<Child> {
    let threads = threads();
    let cpu_s = limits.compile_time().as_secs().saturating_add(1).saturating_mul(threads as u64);
    Command::new(program)
        .arg0("plugport")
        .arg("compile-worker")
        .args(["--bytes", &bytes.to_string()])
        .args(["--memory-mib", &limits.compile_mib.to_string()])
        .args(["--cpu-s", &cpu_s.to_string()])
        .env_clear()
        .env("RAYON_NUM_THREADS", threads.to_string())
        .current_dir("/")
        // An interrupt from the terminal is for the server.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// A compiling process, which is ended or left to another one when this is dropped.
struct CompileProcess {
    child: Child,
    program: PathBuf,
    begun: Instant,
    /// Its pipes, while it has all that it needs and has said nothing.
    awaited: Option<(ChildStdin, ChildStdout)>,
    detached: Option<DetachedCompile>,
    lock: Option<File>,
}

impl CompileProcess {
    /// Leaves its answer to another process, if there is one to come and a place for it.
    fn detach(&mut self) -> Option<()> {
        let (detached, (stdin, stdout)) = (self.detached.take()?, self.awaited.take()?);
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
            // One that has ended already is left alone by this.
            let _ = self.child.start_kill();
        }
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_THREADS))
}

/// Why an answer was not heard.
enum ReplyError {
    /// We know why.
    Error(CompileError),
    /// The process ended, or wrote something else.
    Silence,
}

/// Feeds the process and hears it to its end; the answer, and what it said beside.
async fn exchange(
    running: &mut CompileProcess,
    component: Vec<u8>,
    limits: &Limits,
) -> (Result<MachineCode, ReplyError>, String) {
    let child = &mut running.child;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return (Err(ReplyError::Silence), String::new());
    };
    let awaited = &mut running.awaited;
    tokio::join!(read_reply(stdin, stdout, component, limits, awaited), read_stderr(stderr))
}

/// Feeds the process, waits for its answer, which somebody else can do as well, and reads it.
async fn read_reply(
    mut stdin: ChildStdin,
    stdout: ChildStdout,
    component: Vec<u8>,
    limits: &Limits,
    awaited: &mut Option<(ChildStdin, ChildStdout)>,
) -> Result<MachineCode, ReplyError> {
    write_input(&mut stdin, component).await;
    let (_, stdout) = awaited.insert((stdin, stdout));
    let mut head = [0; HEAD];
    let read = stdout.read_exact(&mut head).await;
    // The input ends only when all has been read: the process takes that for the end of the server.
    let Some((_stdin, stdout)) = awaited.take() else { return Err(ReplyError::Silence) };
    read.map_err(|_| ReplyError::Silence)?;
    answer(head, stdout, limits).await
}

/// A process that is gone takes nothing; what it was says more than that it is.
async fn write_input(stdin: &mut ChildStdin, component: Vec<u8>) {
    let _ = stdin.write_all(&component).await;
}

async fn answer(head: [u8; HEAD], stdout: ChildStdout, limits: &Limits) -> Result<MachineCode, ReplyError> {
    let ReplyHeader { kind, length } = ReplyHeader::parse(&head).ok_or(ReplyError::Silence)?;
    let most = match kind {
        ReplyKind::Code => limits.code_mib << 20,
        ReplyKind::Invalid => MOST_WORDS,
    };
    if kind == ReplyKind::Code && length > most {
        return Err(ReplyError::Error(CompileError::Large(limits.code_mib)));
    }
    let wanted = length.min(most);
    let mut body = Vec::with_capacity(usize::try_from(wanted).unwrap_or_default());
    stdout.take(wanted).read_to_end(&mut body).await.map_err(|_| ReplyError::Silence)?;
    if body.len() as u64 != wanted {
        return Err(ReplyError::Silence);
    }
    match kind {
        ReplyKind::Code => Ok(MachineCode::Compiled(body)),
        ReplyKind::Invalid => {
            let words = String::from_utf8_lossy(&body).into_owned();
            Err(ReplyError::Error(CompileError::from_message(words)))
        }
    }
}

/// Hears everything, so that nobody waits to be heard, and keeps the beginning.
async fn read_stderr(mut stderr: ChildStderr) -> String {
    let mut words = Vec::new();
    let _ = (&mut stderr).take(MOST_WORDS).read_to_end(&mut words).await;
    let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&words).into_owned()
}

/// Waits for the end of a process that has said everything, and makes sure of it. How it ends by itself tells the most.
async fn wait_for_exit(child: &mut Child) -> Option<ExitStatus> {
    match tokio::time::timeout(END, child.wait()).await {
        Ok(status) => status.ok(),
        Err(_) => kill(child).await,
    }
}

/// Kills a process and leaves nothing of it.
async fn kill(child: &mut Child) -> Option<ExitStatus> {
    let _ = child.start_kill();
    tokio::time::timeout(END, child.wait()).await.ok()?.ok()
}

/// What became of a process that did not answer.
fn exit_error(status: Option<ExitStatus>, words: &str, limits: &Limits) -> CompileError {
    let signal = status.and_then(|status| status.signal());
    if signal == Some(rustix::process::Signal::XCPU.as_raw()) {
        return CompileError::Slow(limits.compile_ms);
    }
    if NO_MEMORY.iter().any(|sign| words.contains(sign)) {
        return CompileError::Memory(limits.compile_mib);
    }
    if signal == Some(rustix::process::Signal::KILL.as_raw()) {
        return CompileError::Killed;
    }
    let status = status.map_or_else(|| "unknown".to_owned(), |status| status.to_string());
    tracing::warn!(status, words = %Escaped(words), "the compiler failed");
    CompileError::Crashed
}
