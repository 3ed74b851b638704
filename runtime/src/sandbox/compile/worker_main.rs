//! The compiling process itself: reads the component from stdin, writes the code to stdout, and ends when its server
//! ends.
//!
//! The end of stdin tells the process that the server has ended, however that happened. The system's parent-death
//! signal cannot be used: it comes when the *thread* that started the process ends, and the server's threads come and
//! go.

use std::io;

use wasmtime::Engine;

use rustix::process::{Signal, getpid, kill_process};

use super::ipc::{self, ReplyKind};
use super::rlimits::Rlimits;
use super::{MAX_MESSAGE, declaration_limits};
use crate::config::mib;
use crate::observe::truncate;
use crate::sandbox::compile_effort::CompileEffort;
use crate::sandbox::engine::compiler;

/// The command-line arguments of a compiling process.
#[derive(Debug, Clone, Copy)]
pub struct CompileRequest {
    /// The size of the component, in bytes.
    pub bytes: usize,
    /// The memory for compiling it, in MiB.
    pub memory_mib: u64,
    /// The processor time for compiling it, in seconds.
    pub cpu_s: u64,
    /// How much time to take for good code.
    pub effort: CompileEffort,
}

/// Why the process has no reply. The message appears only in the server's log.
#[derive(Debug, thiserror::Error)]
#[error("could not compile")]
pub struct WorkerError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl WorkerError {
    pub(super) fn of(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into())
    }
}

/// Compiles one component from stdin to stdout for a waiting server. The limits stay set for this process.
///
/// # Errors
/// When the limits cannot be set, or the server has ended.
pub fn compile_for_server(request: CompileRequest) -> Result<(), WorkerError> {
    let memory = mib(request.memory_mib) as u64;
    Rlimits { memory, cpu: request.cpu_s }.apply().map_err(WorkerError::of)?;
    let component = read(request.bytes).map_err(WorkerError::of)?;
    std::thread::Builder::new().spawn(end_with_server).map_err(WorkerError::of)?;
    let engine = compiler(request.effort).map_err(WorkerError::of)?;
    let stdout = io::stdout().lock();
    match compiled(&engine, &component) {
        Ok(code) => ipc::write(stdout, ReplyKind::Code, &code),
        Err(message) => ipc::write(stdout, ReplyKind::Invalid, message.as_bytes()),
    }
    .map_err(WorkerError::of)
}

/// Returns the machine code of a component, or what is wrong with the component.
pub(super) fn compiled(engine: &Engine, component: &[u8]) -> Result<Vec<u8>, String> {
    declaration_limits::check(component)?;
    engine.precompile_component(component).map_err(|error| truncate(MAX_MESSAGE, format_args!("{error:#}")))
}

/// Reads this many bytes from stdin, without a buffer, which could read more.
fn read(bytes: usize) -> io::Result<Vec<u8>> {
    let mut component = vec![0; bytes];
    let mut at = 0;
    while let Some(unread) = component.get_mut(at..).filter(|unread| !unread.is_empty()) {
        match rustix::io::read(io::stdin(), unread)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => at += count,
        }
    }
    Ok(component)
}

/// Starts a thread that ends this process at the end of stdin: the server writes nothing after the component.
fn end_with_server() {
    let _ = rustix::io::read(io::stdin(), &mut [0_u8; 1]);
    let _ = kill_process(getpid(), Signal::KILL);
}
