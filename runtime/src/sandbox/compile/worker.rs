//! The compiling process from inside: bytes from stdin, code to stdout, and an end when nobody waits any more.
//!
//! It learns from its stdin that the server has gone, since that end closes however a server dies. The system's signal
//! for a parent's death would come when the *thread* ends that started the process, and those threads come and go.

use std::io;

use wasmtime::Engine;

use rustix::process::{Signal, getpid, kill_process};

use super::ipc::{self, ReplyKind};
use super::rlimits::Rlimits;
use super::{WORDS, declarations};
use crate::config::mib;
use crate::observe::truncate;
use crate::sandbox::engine::compiler;

/// What a server asks of a compiling process.
#[derive(Debug, Clone, Copy)]
pub struct CompileRequest {
    /// Size of the component, bytes.
    pub bytes: usize,
    /// Memory for compiling it, MiB.
    pub memory_mib: u64,
    /// Processor time for compiling it, seconds.
    pub cpu_s: u64,
}

/// Why there is no answer. Nobody but a server's log reads it.
#[derive(Debug, thiserror::Error)]
#[error("could not compile")]
pub struct WorkerError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl WorkerError {
    pub(super) fn of(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into())
    }
}

/// Compiles one component from stdin to stdout, in this process and for a server that waits. Cannot be undone: the
/// process is bounded afterwards.
///
/// # Errors
/// When the process cannot be bounded, or its server has gone.
pub fn compile_for_server(request: CompileRequest) -> Result<(), WorkerError> {
    let memory = mib(request.memory_mib) as u64;
    Rlimits { memory, cpu: request.cpu_s }.apply().map_err(WorkerError::of)?;
    let component = read(request.bytes).map_err(WorkerError::of)?;
    std::thread::Builder::new().spawn(end_with_server).map_err(WorkerError::of)?;
    let engine = compiler().map_err(WorkerError::of)?;
    let stdout = io::stdout().lock();
    match compiled(&engine, &component) {
        Ok(code) => ipc::write(stdout, ReplyKind::Code, &code),
        Err(why) => ipc::write(stdout, ReplyKind::Invalid, why.as_bytes()),
    }
    .map_err(WorkerError::of)
}

/// The machine code of a component, or what is wrong with it.
pub(super) fn compiled(engine: &Engine, component: &[u8]) -> Result<Vec<u8>, String> {
    declarations::check(component)?;
    engine.precompile_component(component).map_err(|error| truncate(WORDS, format_args!("{error:#}")))
}

/// Reads this many bytes from stdin, without a buffer that would take more.
fn read(bytes: usize) -> io::Result<Vec<u8>> {
    let mut component = vec![0; bytes];
    let mut at = 0;
    while let Some(rest) = component.get_mut(at..).filter(|rest| !rest.is_empty()) {
        match rustix::io::read(io::stdin(), rest)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => at += count,
        }
    }
    Ok(component)
}

/// The server says nothing more, so whatever comes is its end.
fn end_with_server() {
    let _ = rustix::io::read(io::stdin(), &mut [0_u8; 1]);
    let _ = kill_process(getpid(), Signal::KILL);
}
