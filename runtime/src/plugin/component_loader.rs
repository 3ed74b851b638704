//! Makes a plugin from a file: verifies the signature, compiles, links, finds the exports, and lists once.
//!
//! Listing runs a trial instance within the time for starting, so that a plugin whose guest does not start is rejected
//! here. Compiling runs in another process, and other long work on threads for blocking work.

mod linking;

use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use super::call_log::{CallLog, CallTotals};
use super::component_file::{file_name, signature_path};
use super::drain::Drain;
use super::file_signature::{self, Signer};
use super::function_tools::DocsSection;
use super::instance_pool::{InstancePool, PluginPool};
use super::other_host::OtherHost;
use super::rate_gate::RateGate;
use super::{CallError, ComponentFile, Interfaces, Listing, LoadError, Plugin, ShippedFile};
use crate::call_env::{Caller, HintAudience};
use crate::capability::{self, InstanceCtx, PendingChanges, PluginCtx, ServerCtx};
use crate::config::{self, PluginConfig};
use crate::observe::Audit;
use crate::sandbox::{
    self, CallPermits, CompilePermit, Compiler, EngineError, EpochTicker, GuestMemory, KvDatabase,
    PollPermits,
};
use crate::token_bucket::CallerRates;
use linking::{for_other_host, link};

/// Log lines about rejected functions of one plugin.
const MAX_LINES: usize = 8;

/// Makes plugins. One per process; it owns the engine and what all plugins share.
pub struct Loader {
    engine: Engine,
    ticker: Arc<EpochTicker>,
    compiler: Compiler,
    linker: Arc<Linker<InstanceCtx>>,
    call_permits: Arc<Semaphore>,
    callers: Arc<CallerRates<Caller>>,
    instance_pool: Arc<InstancePool>,
    call_totals: Arc<CallTotals>,
    common: ServerCtx,
}

/// What is known of a component before it is linked.
#[derive(Debug)]
struct ComponentInfo {
    digest: String,
    signer: Option<Signer>,
    docs: DocsSection,
    files: Arc<[ShippedFile]>,
    other_host: Option<OtherHost>,
}

/// A file that was verified and has to be compiled.
#[derive(Debug)]
pub struct UncompiledFile {
    name: String,
    bytes: Vec<u8>,
    info: ComponentInfo,
    config: PluginConfig,
}

/// The result of loading a file without compiling it.
#[derive(Debug)]
pub enum CachedLoad {
    /// The code cache had its code.
    Loaded(Box<LoadedPlugin>),
    /// It has to be compiled.
    Uncompiled(Box<UncompiledFile>),
}

/// A plugin and its listing, not validated yet.
#[derive(Debug)]
pub struct LoadedPlugin {
    /// Ready to be called.
    pub plugin: Arc<Plugin>,
    /// What it imports and exports.
    pub interfaces: Interfaces,
    /// Its listing.
    pub listing: Listing,
}

impl Loader {
    /// Makes the engine, with instances for running and suspended calls, and links every interface once.
    ///
    /// # Errors
    /// When the machine cannot provide the engine.
    pub fn new(
        settings: &config::ServerConfig,
        store: Arc<KvDatabase>,
        audit: Audit,
        compiler: Compiler,
    ) -> Result<Self, EngineError> {
        Self::over(sandbox::engine(settings)?, settings, store, audit, compiler)
    }

    /// The same without the pooling allocator: for benchmarks.
    ///
    /// # Errors
    /// When the machine cannot provide the engine.
    pub fn without_pooling_allocator(
        settings: &config::ServerConfig,
        store: Arc<KvDatabase>,
        audit: Audit,
        compiler: Compiler,
    ) -> Result<Self, EngineError> {
        Self::over(sandbox::engine_without_pool(settings)?, settings, store, audit, compiler)
    }

    fn over(
        engine: Engine,
        settings: &config::ServerConfig,
        store: Arc<KvDatabase>,
        audit: Audit,
        compiler: Compiler,
    ) -> Result<Self, EngineError> {
        let mut linker = Linker::new(&engine);
        capability::add_to_linker(&mut linker).map_err(|error| EngineError::new(settings, error))?;
        let ticker = EpochTicker::start(&engine, Arc::new(PollPermits::new()))
            .map_err(|error| EngineError::new(settings, error.into()))?;
        Ok(Self {
            engine,
            ticker: Arc::new(ticker),
            compiler,
            linker: Arc::new(linker),
            call_permits: Arc::new(Semaphore::new(settings.concurrent_calls)),
            callers: Arc::new(CallerRates::per_second(settings.caller_calls_per_second)),
            instance_pool: InstancePool::new(settings),
            call_totals: Arc::default(),
            common: ServerCtx {
                changes: Arc::default(),
                store,
                audit,
                audience: HintAudience::Operator,
                sampling_budgets: Arc::default(),
                memory: GuestMemory::new(settings),
            },
        })
    }

    /// The same for a command that calls one tool: hints about missing grants name options of the command line.
    #[must_use]
    pub fn for_cli(mut self) -> Self {
        self.common.audience = HintAudience::CommandLine;
        self
    }

    /// The changes that its plugins announce.
    #[must_use]
    pub fn changes(&self) -> &Arc<PendingChanges> {
        &self.common.changes
    }

    /// The counts of calls of all its plugins.
    #[must_use]
    pub fn call_totals(&self) -> &Arc<CallTotals> {
        &self.call_totals
    }

    /// The memory of all instances.
    pub(crate) fn guest_memory(&self) -> &Arc<GuestMemory> {
        &self.common.memory
    }

    /// The audit.
    #[must_use]
    pub fn audit(&self) -> &Audit {
        &self.common.audit
    }

    /// Loads a component as the plugin `name` with the operator's settings for it.
    ///
    /// # Errors
    /// When its signature is rejected, it is not a component or not a plugin, or it does not start.
    pub async fn load(
        &self,
        name: &str,
        file: ComponentFile,
        config: PluginConfig,
    ) -> Result<LoadedPlugin, LoadError> {
        match self.load_cached(name, file, config).await? {
            CachedLoad::Loaded(loaded) => Ok(*loaded),
            CachedLoad::Uncompiled(file) => {
                let permit = self.compiler.permit().await?;
                self.compile(*file, &permit).await
            }
        }
    }

    /// The same, unless the file has to be compiled.
    ///
    /// # Errors
    /// When its signature is rejected, it is not a plugin, or it does not start.
    pub async fn load_cached(
        &self,
        name: &str,
        file: ComponentFile,
        config: PluginConfig,
    ) -> Result<CachedLoad, LoadError> {
        // Before anything else, so that a file with a rejected signature is neither compiled nor started.
        let (ComponentFile { digest, bytes, .. }, signer) = verify(file, &config).await?;
        let (docs, other_host) = (DocsSection::of(&bytes), OtherHost::of_component(&bytes));
        let (bytes, files) = read_files(bytes).await?;
        let info = ComponentInfo { digest, signer, docs, files, other_host };
        match self.compiler.load_cached(&self.engine, &info.digest, &config.limits).await {
            Some(component) => {
                // A plugin may take long to list its items.
                drop(bytes);
                self.start(name, info, component, config).await.map(Box::new).map(CachedLoad::Loaded)
            }
            None => {
                let name = name.to_owned();
                Ok(CachedLoad::Uncompiled(Box::new(UncompiledFile { name, bytes, info, config })))
            }
        }
    }

    /// Waits for the right to compile a file. `None`: never again.
    pub async fn compile_permit(&self) -> Option<CompilePermit> {
        self.compiler.permit().await.ok()
    }

    /// Compiles and loads a file.
    ///
    /// # Errors
    /// When it is not a component, not a plugin, or does not start.
    pub async fn compile(
        &self,
        UncompiledFile { name, bytes, info, config }: UncompiledFile,
        permit: &CompilePermit,
    ) -> Result<LoadedPlugin, LoadError> {
        let (digest, limits) = (&info.digest, &config.limits);
        let compiled = self.compiler.compile_uncached(&self.engine, bytes, digest, limits, permit).await;
        let component = compiled.map_err(|error| for_other_host(error.into(), info.other_host.as_ref()))?;
        self.start(&name, info, component, config).await
    }

    async fn start(
        &self,
        name: &str,
        ComponentInfo { digest, signer, docs, files, other_host }: ComponentInfo,
        component: Component,
        config: PluginConfig,
    ) -> Result<LoadedPlugin, LoadError> {
        let (linker, limits) = (Arc::clone(&self.linker), config.limits.clone());
        // Reading all imports and exports may take long, so it runs on a thread for blocking work.
        let linking = tokio::task::spawn_blocking(move || link(&linker, &component, &docs, &limits));
        let linked = linking.await.map_err(|_| LoadError::Unexamined)?;
        let (interfaces, pre, exports) =
            linked.map_err(|error| for_other_host(error, other_host.as_ref()))?;
        let permits = Arc::new(CallPermits::new(&config.limits, Arc::clone(&self.call_permits)));
        let shared = Arc::new(PluginCtx::new(name, digest, config, self.common.clone()));
        let rate_gate = RateGate::new(&shared.config.limits, Arc::clone(&self.callers));
        let (call_log, drain) = (CallLog::new(&shared, &self.call_totals), Drain::default());
        let pool = PluginPool::of(&shared, &self.instance_pool);
        let (ticker, poll_share) = (Arc::clone(&self.ticker), self.ticker.poll_permits().share());
        let plugin = Plugin {
            shared,
            pre,
            exports,
            permits,
            ticker,
            poll_share,
            rate_gate,
            call_log,
            signer,
            drain,
            pool,
            files,
        };
        // A command that calls one tool says so if it is one of these.
        if self.common.audience == HintAudience::Operator {
            log_rejected_functions(&plugin);
        }
        let in_use = self.common.store.times_locked_out();
        let listing = plugin.list().await.map_err(|failure| match failure {
            failure if self.common.store.times_locked_out() > in_use => LoadError::StoreInUse(failure),
            CallError::Guest(error) => LoadError::ListingFailed(error),
            failure => LoadError::Start(failure),
        })?;
        Ok(LoadedPlugin { plugin: Arc::new(plugin), interfaces, listing })
    }
}

/// Verifies the signature, on a thread for blocking work since hashing a large file takes a while.
async fn verify(
    file: ComponentFile,
    config: &PluginConfig,
) -> Result<(ComponentFile, Option<Signer>), LoadError> {
    let (keys, required) = (Arc::clone(&config.trusted_keys), config.require_signature);
    if keys.is_empty() && !required {
        return Ok((file, None));
    }
    let verifying = tokio::task::spawn_blocking(move || -> Result<_, LoadError> {
        let ComponentFile { path, bytes, signature, .. } = &file;
        let signer =
            file_signature::check(bytes, signature.as_deref(), &keys, required, SystemTime::now())
                .map_err(|source| LoadError::Signature { file: file_name(&signature_path(path)), source })?;
        Ok((file, signer))
    });
    verifying.await.map_err(|_| LoadError::Unexamined)?
}

/// Reads the files in a component, on a thread for blocking work since digests of large ones take a while.
async fn read_files(bytes: Vec<u8>) -> Result<(Vec<u8>, Arc<[ShippedFile]>), LoadError> {
    let reading =
        tokio::task::spawn_blocking(move || ShippedFile::all_of(&bytes).map(|files| (bytes, files)));
    Ok(reading.await.map_err(|_| LoadError::Unexamined)??)
}

/// Logs rejected functions, one line each, up to [`MAX_LINES`].
fn log_rejected_functions(plugin: &Plugin) {
    let (plugin, rejected) = (plugin.name(), plugin.rejected_functions());
    for function in rejected.iter().take(MAX_LINES) {
        tracing::warn!(target: "plugin", plugin, "the function {} is rejected: {}", function.shown(), function.why);
    }
    if let Some(more) = rejected.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
        tracing::warn!(target: "plugin", plugin, "{more} more functions are rejected; `plugport inspect` lists them");
    }
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").finish_non_exhaustive()
    }
}
