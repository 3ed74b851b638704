//! From a component to machine code, outside the process that serves.
//!
//! How much work, memory and luck a compiler needs is up to whoever wrote its input, and the engine's authors promise
//! nothing about it. So a process of its own compiles each file, inside limits that the system holds; what it makes is
//! kept, so that this happens once for each file. A server has one [`Compiler`]; benchmarks have one that compiles in
//! their own process.

mod cache;
mod compile_lock;
mod declarations;
mod deserialize;
mod detached;
mod ipc;
mod process;
mod rlimits;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use wasmtime::Engine;
use wasmtime::component::Component;

pub use cache::{CacheError, CodeCache};
pub use detached::DetachedCompile;
pub use worker::{CompileRequest, WorkerError, compile_for_server};

use crate::config::Limits;
use crate::observe::truncate;
use cache::{CompileLock, Key};
use deserialize::MachineCode;

/// Longest account of what is wrong with a component, bytes.
const WORDS: usize = 4 << 10;

/// Files that are compiled at the same time; each may take `compile_mib`.
const AT_ONCE: usize = 2;

/// Makes components callable.
#[derive(Debug)]
pub struct Compiler {
    location: Location,
    /// Looked into one after the other. The first takes what is new.
    caches: Arc<[CodeCache]>,
    permits: Arc<Semaphore>,
}

/// The right to have one file compiled, given back when dropped. Without it nothing is compiled, so there is one bound
/// on that.
#[derive(Debug)]
pub struct CompilePermit {
    _held: OwnedSemaphorePermit,
}

/// Where the compiler runs.
#[derive(Debug)]
enum Location {
    ThisProcess,
    /// In a process of this program.
    ChildProcess(PathBuf),
}

/// Why a component could not be compiled. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The bytes do not make a component.
    #[error(
        "is damaged or truncated, or uses a WebAssembly feature that is off here; build or copy it again"
    )]
    Invalid(#[source] CompilerMessage),
    /// It needs what the engine has no support for, and its toolchain may build it without.
    #[error(
        "needs asynchronous components, which are off here; build it without them: componentize-qjs has `--sync` for that, and \
         functions of its WIT must not be `async`"
    )]
    Async(#[source] CompilerMessage),
    /// It compiles, but no slot of this server's pools is large enough for it.
    #[error("declares more memories, tables or instances than any plugin may have here")]
    Beyond(#[source] CompilerMessage),
    /// Beyond `compile_ms`.
    #[error(
        "took longer than {0} ms to compile (limit `compile_ms`); use a smaller build, or raise the limit"
    )]
    Slow(u64),
    /// Beyond `compile_mib`.
    #[error(
        "took more than {0} MiB of memory to compile (limit `compile_mib`); use a smaller build, or raise the limit"
    )]
    Memory(u64),
    /// Beyond `code_mib`.
    #[error(
        "compiles to more than {0} MiB of machine code (limit `code_mib`); use a smaller build, or raise the limit"
    )]
    Large(u64),
    /// Somebody killed the compiler, and it was not this server.
    #[error("could not be compiled, since the system ended its compiler; the machine is short of memory")]
    Killed,
    /// The compiler ended without an answer.
    #[error("made the compiler fail; please report it with the file")]
    Crashed,
    /// There is no compiler.
    #[error(
        "could not be compiled, since no process could be started for it; the machine may be out of memory or processes"
    )]
    Unavailable(#[source] std::io::Error),
}

/// What the compiler says of its input.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CompilerMessage(String);

impl CompileError {
    /// For bytes of which the compiler says this.
    fn from_message(words: String) -> Self {
        // `task.cancel` requires the component model async feature; `stream.read` ... more async builtins feature
        let is_async = ["component model", "async", "feature"].iter().all(|word| words.contains(word));
        if is_async { Self::Async(CompilerMessage(words)) } else { Self::Invalid(CompilerMessage(words)) }
    }
}

impl Compiler {
    /// Compiles in processes of the program that runs.
    #[must_use]
    pub fn in_child_process() -> Self {
        Self::with_program(process::this_program())
    }

    /// Compiles in processes of this program, which is a `plugport`.
    #[must_use]
    pub fn with_program(program: PathBuf) -> Self {
        Self::new(Location::ChildProcess(program))
    }

    /// Compiles in this process: for files that are trusted, where only time is bounded.
    #[must_use]
    pub fn in_process() -> Self {
        Self::new(Location::ThisProcess)
    }

    fn new(location: Location) -> Self {
        Self { location, caches: Arc::default(), permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// The same, but looking for what was compiled before, and keeping what it compiles in the first of these.
    #[must_use]
    pub fn with_caches(self, caches: impl IntoIterator<Item = CodeCache>) -> Self {
        Self { caches: caches.into_iter().collect(), ..self }
    }

    /// Makes the component of these bytes callable, from what was kept or by compiling it. `digest` is that of the
    /// bytes.
    ///
    /// # Errors
    /// When it is not a component, or a limit or the compiler was in the way.
    pub async fn compile(
        &self,
        engine: &Engine,
        component: Vec<u8>,
        digest: &str,
        limits: &Limits,
    ) -> Result<Component, CompileError> {
        if let Some(component) = self.load_cached(engine, digest, limits).await {
            return Ok(component);
        }
        let permit = self.permit().await?;
        self.compile_uncached(engine, component, digest, limits, &permit).await
    }

    /// The right to have a file compiled, once fewer are being compiled than may be.
    ///
    /// # Errors
    /// Never while this compiler lives.
    pub async fn permit(&self) -> Result<CompilePermit, CompileError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        permit.map(|held| CompilePermit { _held: held }).map_err(|_| CompileError::Crashed)
    }

    /// Makes a component callable of which [`Self::load_cached`] has said that it was not compiled before.
    ///
    /// # Errors
    /// When it is not a component, or a limit or the compiler was in the way.
    pub async fn compile_uncached(
        &self,
        engine: &Engine,
        component: Vec<u8>,
        digest: &str,
        limits: &Limits,
        _permit: &CompilePermit,
    ) -> Result<Component, CompileError> {
        let key = Key::of(engine, digest);
        let lock = self.lock(key, limits).await;
        let compiling = async {
            // Another process that had the lock may have kept it.
            if let Some(component) = self.load_cached(engine, digest, limits).await {
                return Ok(component);
            }
            let code = self.code(engine, component, digest, limits, lock.as_ref()).await?;
            self.load(engine, key, code, limits).await
        };
        let compiled = compiling.await;
        self.unlock(lock).await;
        compiled
    }

    /// Has a component compiled.
    async fn code(
        &self,
        engine: &Engine,
        component: Vec<u8>,
        digest: &str,
        limits: &Limits,
        lock: Option<&CompileLock>,
    ) -> Result<MachineCode, CompileError> {
        match &self.location {
            Location::ChildProcess(program) => {
                let detached = self.caches.first().map(|cache| DetachedCompile::new(cache, digest, limits));
                let lock = lock.and_then(|lock| lock.share().ok());
                process::compile(program, component, limits, detached, lock).await
            }
            Location::ThisProcess => compile_in_process(engine.clone(), component, limits).await,
        }
    }

    /// Makes callable what was compiled, and keeps it.
    async fn load(
        &self,
        engine: &Engine,
        key: Key,
        code: MachineCode,
        limits: &Limits,
    ) -> Result<Component, CompileError> {
        let (caches, engine, most) = (Arc::clone(&self.caches), engine.clone(), limits.code_mib << 20);
        let loading = spawn_blocking(move || {
            let loaded = code.load(&engine)?;
            let (MachineCode::Compiled(bytes), Some(cache)) = (&code, caches.first()) else {
                return Ok(loaded);
            };
            cache.insert(&key, bytes);
            // Mapped from its file it takes less memory.
            let mapped = cache.get(&key, most).and_then(|code| code.load(&engine).ok());
            Ok(mapped.unwrap_or(loaded))
        });
        let loaded: wasmtime::Result<Component> = loading.await.map_err(|_| CompileError::Crashed)?;
        // The same program made it with the same settings, so what is left to reject is what the component asks for.
        loaded.map_err(|error| {
            CompileError::Beyond(CompilerMessage(truncate(WORDS, format_args!("{error:#}"))))
        })
    }

    /// The component that was compiled from bytes of this digest before, if its code was kept and still fits.
    pub async fn load_cached(&self, engine: &Engine, digest: &str, limits: &Limits) -> Option<Component> {
        if self.caches.is_empty() {
            return None;
        }
        let (caches, key) = (Arc::clone(&self.caches), Key::of(engine, digest));
        let (engine, most) = (engine.clone(), limits.code_mib << 20);
        let recalling = spawn_blocking(move || {
            let code = caches.iter().find_map(|cache| cache.get(&key, most))?;
            code.load(&engine)
                .map_err(|error| tracing::warn!(%error, "cached code is for another engine; the file is compiled again"))
                .ok()
        });
        recalling.await.ok().flatten()
    }
}

async fn compile_in_process(
    engine: Engine,
    component: Vec<u8>,
    limits: &Limits,
) -> Result<MachineCode, CompileError> {
    let compiling = spawn_blocking(move || worker::compiled(&engine, &component));
    let compiled = tokio::time::timeout(limits.compile_time(), compiling).await;
    let compiled = compiled.map_err(|_| CompileError::Slow(limits.compile_ms))?;
    let code = compiled.map_err(|_| CompileError::Crashed)?;
    code.map(MachineCode::Compiled).map_err(CompileError::from_message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::engine;

    #[test]
    fn what_a_compiling_process_makes_fits_the_engine_that_serves() {
        let (serves, compiles) =
            (engine::engine(&crate::config::ServerConfig::default()).unwrap(), engine::compiler().unwrap());
        assert_eq!(Key::of(&serves, "d"), Key::of(&compiles, "d"));
        assert_ne!(Key::of(&serves, "d"), Key::of(&serves, "e"));
        let code = MachineCode::Compiled(compiles.precompile_component(b"\0asm\x0d\0\x01\0").unwrap());
        code.load(&serves).unwrap();
    }

    #[tokio::test]
    async fn what_is_kept_anywhere_is_recalled_and_what_is_new_goes_to_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let folders = ["first", "second"].map(|name| dir.path().join(name));
        let open = |folder: &PathBuf| CodeCache::open(folder, 64).unwrap().unwrap();
        let both = Compiler::in_process().with_caches(folders.iter().map(open));
        let second = Compiler::in_process().with_caches([open(&folders[1])]);
        let engine = engine::engine(&crate::config::ServerConfig::default()).unwrap();
        let (component, limits) = (b"\0asm\x0d\0\x01\0".to_vec(), Limits::default());
        second.compile(&engine, component.clone(), "old", &limits).await.unwrap();
        both.compile(&engine, component, "new", &limits).await.unwrap();
        assert!(both.load_cached(&engine, "old", &limits).await.is_some());
        assert!(both.load_cached(&engine, "new", &limits).await.is_some());
        assert!(both.load_cached(&engine, "other", &limits).await.is_none());
        assert!(second.load_cached(&engine, "new", &limits).await.is_none());
    }

    #[tokio::test]
    async fn nonsense_is_invalid_and_its_reason_is_kept() {
        let engine = engine::engine(&crate::config::ServerConfig::default()).unwrap();
        let compiler = Compiler::in_process();
        let component = b"\0asm\x0d\0\x01\0\xff".to_vec();
        let compiled = compiler.compile(&engine, component, "", &Limits::default()).await;
        let Err(CompileError::Invalid(words)) = compiled else { panic!() };
        assert!(!words.to_string().is_empty());
    }

    #[tokio::test]
    async fn a_component_that_needs_tasks_is_told_how_to_do_without() {
        let engine = engine::engine(&crate::config::ServerConfig::default()).unwrap();
        for component in [
            "(component (core func (canon task.cancel)))",
            "(component (core func (canon backpressure.inc)))",
            "(component (core module $m (memory (export \"memory\") 1)) (core instance $i (instantiate $m))
               (core func (canon waitable-set.new)))",
        ] {
            let bytes = wat::parse_str(component).unwrap();
            let compiled = Compiler::in_process().compile(&engine, bytes, "", &Limits::default()).await;
            let Err(error) = compiled else { panic!("{component}") };
            assert!(matches!(error, CompileError::Async(_)), "{component}: {error:?}");
            assert!(error.to_string().contains("componentize-qjs has `--sync`"), "{error}");
        }
    }

    #[tokio::test]
    async fn what_no_slot_holds_is_the_files_fault() {
        let engine = engine::engine(&crate::config::ServerConfig::default()).unwrap();
        let component = "(component (core module $m (memory 65536)) (core instance (instantiate $m)))";
        let compiled = Compiler::in_process()
            .compile(&engine, wat::parse_str(component).unwrap(), "", &Limits::default())
            .await;
        let Err(CompileError::Beyond(words)) = compiled else { panic!() };
        assert!(words.to_string().contains("memory"), "{words}");
    }

    #[tokio::test]
    async fn a_program_that_is_no_compiler_fails_and_one_that_is_not_there_cannot_start() {
        let engine = engine::engine(&crate::config::ServerConfig::default()).unwrap();
        let component = || b"\0asm\x0d\0\x01\0".to_vec();
        for (program, expected) in
            [("/bin/true", "made the compiler fail"), ("/bin/none", "no process could")]
        {
            let compiler = Compiler::with_program(program.into());
            let compiled = compiler.compile(&engine, component(), "", &Limits::default()).await;
            let Err(error) = compiled else { panic!() };
            assert!(error.to_string().contains(expected), "{program}: {error}");
        }
    }
}
