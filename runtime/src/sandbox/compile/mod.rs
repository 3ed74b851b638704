//! Compiles components to machine code, outside the process that serves.
//!
//! The author of a component determines how much work and memory the compiler needs for it, and the engine promises no
//! bound. So a separate process compiles each file within limits that the operating system enforces, and the code is
//! stored, so that each file is compiled only once. A server has one [`Compiler`]; benchmarks have one that compiles in
//! their own process.

mod cache;
mod compile_lock;
mod declaration_limits;
mod deserialize;
mod ipc;
mod orphaned_compile;
mod rlimits;
mod worker_main;
mod worker_process;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use wasmtime::Engine;
use wasmtime::component::Component;

pub use cache::{CacheError, CodeCache};
pub use orphaned_compile::DetachedCompile;
pub use worker_main::{CompileRequest, WorkerError, compile_for_server};

use crate::config::Limits;
use crate::observe::truncate;
use crate::sandbox::compile_effort::CompileEffort;
use cache::{CompileLock, Key};
use deserialize::MachineCode;

/// Maximum length of a message of the compiler, in bytes.
const MAX_MESSAGE: usize = 4 << 10;

/// How many files are compiled at the same time. Each may use `compile_mib`.
const MAX_COMPILING: usize = 2;

/// Compiles components and loads them, from the cache if possible.
#[derive(Debug)]
pub struct Compiler {
    location: Location,
    /// Searched in this order. New code is stored in the first.
    caches: Arc<[CodeCache]>,
    permits: Arc<Semaphore>,
    effort: CompileEffort,
}

/// The permit to compile one file. Dropping it returns it. Everything that compiles needs one, so there is a single
/// limit.
#[derive(Debug)]
pub struct CompilePermit {
    _permit: OwnedSemaphorePermit,
}

/// Where the compiler runs.
#[derive(Debug)]
enum Location {
    ThisProcess,
    /// In a child process that runs this program.
    ChildProcess(PathBuf),
}

/// Why a component could not be compiled. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The bytes are not a valid component.
    #[error(
        "is damaged or truncated, or uses a WebAssembly feature that is off here; build or copy it again"
    )]
    Invalid(#[source] CompilerMessage),
    /// The component needs asynchronous component features, which are off. Some toolchains can build it without them.
    #[error(
        "needs asynchronous components, which are off here; build it without them: componentize-qjs has `--sync` for that, and \
         functions of its WIT must not be `async`"
    )]
    Async(#[source] CompilerMessage),
    /// The component compiles, but no slot of the pooling allocator is large enough for it.
    #[error("declares more memories, tables or instances than any plugin may have here")]
    Beyond(#[source] CompilerMessage),
    /// Compiling took longer than `compile_ms`.
    #[error(
        "took longer than {0} ms to compile (limit `compile_ms`); use a smaller build, or raise the limit"
    )]
    Slow(u64),
    /// Compiling took more memory than `compile_mib`.
    #[error(
        "took more than {0} MiB of memory to compile (limit `compile_mib`); use a smaller build, or raise the limit"
    )]
    Memory(u64),
    /// The code is larger than `code_mib`.
    #[error(
        "compiles to more than {0} MiB of machine code (limit `code_mib`); use a smaller build, or raise the limit"
    )]
    Large(u64),
    /// The compiling process was killed, and not by this server.
    #[error("could not be compiled, since the system ended its compiler; the machine is short of memory")]
    Killed,
    /// The compiling process ended without a reply.
    #[error("made the compiler fail; please report it with the file")]
    Crashed,
    /// The compiling process could not be started.
    #[error(
        "could not be compiled, since no process could be started for it; the machine may be out of memory or processes"
    )]
    Unavailable(#[source] std::io::Error),
}

/// The compiler's message about its input.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CompilerMessage(String);

impl CompileError {
    /// The error for a component about which the compiler says `message`.
    fn from_message(message: String) -> Self {
        // `task.cancel` requires the component model async feature; `stream.read` ... more async builtins feature
        let is_async = ["component model", "async", "feature"].iter().all(|word| message.contains(word));
        if is_async { Self::Async(CompilerMessage(message)) } else { Self::Invalid(CompilerMessage(message)) }
    }
}

impl Compiler {
    /// Compiles in child processes that run this program's own file.
    #[must_use]
    pub fn in_child_process() -> Self {
        Self::with_program(worker_process::this_program())
    }

    /// Compiles in child processes that run `program`, which must be a `plugport`.
    #[must_use]
    pub fn with_program(program: PathBuf) -> Self {
        Self::new(Location::ChildProcess(program))
    }

    /// Compiles in this process. This is for trusted files only, because only the time is limited.
    #[must_use]
    pub fn in_process() -> Self {
        Self::new(Location::ThisProcess)
    }

    fn new(location: Location) -> Self {
        let permits = Arc::new(Semaphore::new(MAX_COMPILING));
        Self { location, caches: Arc::default(), permits, effort: CompileEffort::Full }
    }

    /// The same compiler with another effort.
    #[must_use]
    pub fn with_effort(self, effort: CompileEffort) -> Self {
        Self { effort, ..self }
    }

    /// The same compiler with code caches: all are searched, and new code is stored in the first.
    #[must_use]
    pub fn with_caches(self, caches: impl IntoIterator<Item = CodeCache>) -> Self {
        Self { caches: caches.into_iter().collect(), ..self }
    }

    /// Loads the component with these bytes, from a cache or by compiling it. `digest` is the digest of the bytes.
    ///
    /// # Errors
    /// When the bytes are not a component, a limit is reached, or the compiler fails.
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

    /// Waits for the permit to compile a file.
    ///
    /// # Errors
    /// Never while this compiler exists.
    pub async fn permit(&self) -> Result<CompilePermit, CompileError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        permit.map(|permit| CompilePermit { _permit: permit }).map_err(|_| CompileError::Crashed)
    }

    /// Compiles and loads a component that [`Self::load_cached`] did not find.
    ///
    /// # Errors
    /// When the bytes are not a component, a limit is reached, or the compiler fails.
    pub async fn compile_uncached(
        &self,
        engine: &Engine,
        component: Vec<u8>,
        digest: &str,
        limits: &Limits,
        _permit: &CompilePermit,
    ) -> Result<Component, CompileError> {
        let key = Key::of(engine, &self.effort.name(digest));
        let limits = &*self.effort.limits(limits);
        let lock = self.lock(key, limits).await;
        let compiling = async {
            // Another process that held the lock may have stored the code meanwhile.
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

    /// Compiles a component, in a child process or in this one.
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
                let name = self.effort.name(digest);
                let detached = self.caches.first().map(|cache| DetachedCompile::new(cache, &name, limits));
                let lock = lock.and_then(|lock| lock.share().ok());
                worker_process::compile(program, self.effort, component, limits, detached, lock).await
            }
            Location::ThisProcess => compile_in_process(engine.clone(), component, limits).await,
        }
    }

    /// Loads compiled code, and stores it in the first cache.
    async fn load(
        &self,
        engine: &Engine,
        key: Key,
        code: MachineCode,
        limits: &Limits,
    ) -> Result<Component, CompileError> {
        let (caches, engine, max_bytes) = (Arc::clone(&self.caches), engine.clone(), limits.code_mib << 20);
        let loading = spawn_blocking(move || {
            let loaded = code.load(&engine)?;
            let (MachineCode::Compiled(bytes), Some(cache)) = (&code, caches.first()) else {
                return Ok(loaded);
            };
            cache.insert(&key, bytes);
            // Code that is mapped from the cache's file takes less memory.
            let mapped = cache.load(&engine, &key, max_bytes).and_then(Result::ok);
            Ok(mapped.unwrap_or(loaded))
        });
        let loaded: wasmtime::Result<Component> = loading.await.map_err(|_| CompileError::Crashed)?;
        // The same program compiled the code with the same settings, so only the component's declarations can be the
        // reason.
        loaded.map_err(|error| {
            CompileError::Beyond(CompilerMessage(truncate(MAX_MESSAGE, format_args!("{error:#}"))))
        })
    }

    /// Loads the component with this digest from a cache, if a cache has its code for this engine, within `code_mib`.
    pub async fn load_cached(&self, engine: &Engine, digest: &str, limits: &Limits) -> Option<Component> {
        if self.caches.is_empty() {
            return None;
        }
        let caches = Arc::clone(&self.caches);
        let efforts = self.effort.sufficient().iter();
        let keys: Vec<Key> = efforts.map(|effort| Key::of(engine, &effort.name(digest))).collect();
        let (engine, max_bytes) = (engine.clone(), self.effort.limits(limits).code_mib << 20);
        let loading = spawn_blocking(move || {
            let load = |key| caches.iter().find_map(|cache| cache.load(&engine, key, max_bytes));
            let loaded = keys.iter().find_map(load)?;
            loaded
                .map_err(|error| tracing::warn!(%error, "cached code is for another engine; the file is compiled again"))
                .ok()
        });
        loading.await.ok().flatten()
    }
}

async fn compile_in_process(
    engine: Engine,
    component: Vec<u8>,
    limits: &Limits,
) -> Result<MachineCode, CompileError> {
    let compiling = spawn_blocking(move || worker_main::compiled(&engine, &component));
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
        let (serves, compiles) = (
            engine::engine(&crate::config::ServerConfig::default()).unwrap(),
            engine::compiler(CompileEffort::Full).unwrap(),
        );
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
    async fn quick_code_runs_in_the_engine_and_is_found_by_nobody_who_wants_better() {
        let dir = tempfile::tempdir().unwrap();
        let compiler = || Compiler::in_process().with_caches(CodeCache::open(dir.path(), 64).unwrap());
        let (full, quick) = (compiler(), compiler().with_effort(CompileEffort::Quick));
        let engine = engine::engine(&crate::config::ServerConfig::default()).unwrap();
        let component = wat::parse_str("(component (core module (func (export \"f\"))))").unwrap();
        let code = engine::compiler(CompileEffort::Quick).unwrap().precompile_component(&component).unwrap();
        MachineCode::Compiled(code).load(&engine).unwrap();
        let limits = Limits::default();
        quick.compile(&engine, component.clone(), "a", &limits).await.unwrap();
        assert!(full.load_cached(&engine, "a", &limits).await.is_none());
        assert!(quick.load_cached(&engine, "a", &limits).await.is_some());
        full.compile(&engine, component, "b", &limits).await.unwrap();
        assert!(quick.load_cached(&engine, "b", &limits).await.is_some());
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
