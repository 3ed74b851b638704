//! From bytes to a plugin: verify who signed them, compile, link, find the exports, run once to list.
//!
//! All that can be wrong with a component is found here, on one trial instance and within the time for starting, so
//! that a published tool is one that has been seen to work. The compiler works elsewhere, and the rest that takes a while is
//! kept off the async threads.

use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre, Linker};

use super::admission::Admission;
use super::artifact::{file_name, signature_path};
use super::exports::FEATURES;
use super::kept::{Keeper, Kept};
use super::plain::{Docs, Plain};
use super::refusals::Refusals;
use super::retirement::Retirement;
use super::signature::{self, Signed};
use super::surface::Foreign;
use super::{Artifact, CallFailure, Exports, LoadError, Offer, Plugin, Surface};
use crate::config::{self, Limits, PluginConfig};
use crate::host::{self, Advice, Caller, ChangeBoard, Common, Shared, State};
use crate::observe::Audit;
use crate::sandbox::{
    self, Callers, Compiler, EngineError, EpochTicker, GuestMemory, Permits, PollSlots, Store,
};

/// Lines of the log about functions that one plugin leaves out.
const LINES: usize = 8;

/// Makes plugins. One per process; it owns the engine and what all plugins share.
pub struct Loader {
    engine: Engine,
    ticker: Arc<EpochTicker>,
    compiler: Compiler,
    linker: Arc<Linker<State>>,
    places: Arc<Semaphore>,
    callers: Arc<Callers<Caller>>,
    keeper: Arc<Keeper>,
    common: Common,
}

/// What is known of a component before it is linked.
struct Origin {
    digest: String,
    signed: Option<Signed>,
    docs: Docs,
}

/// A plugin and what it says of itself, not yet vetted.
#[derive(Debug)]
pub struct Loaded {
    /// Ready to be called.
    pub plugin: Arc<Plugin>,
    /// What it imports and exports.
    pub surface: Surface,
    /// What it says it has.
    pub offer: Offer,
}

impl Loader {
    /// Sets up the engine, with room for the calls that run and that wait for their clients, and links every interface
    /// once.
    ///
    /// # Errors
    /// When the machine cannot provide the engine.
    pub fn new(
        settings: &config::Server,
        store: Arc<Store>,
        audit: Audit,
        compiler: Compiler,
    ) -> Result<Self, EngineError> {
        Self::over(sandbox::engine(settings)?, settings, store, audit, compiler)
    }

    /// The same with instances whose memory comes from no pool: for benchmarks.
    ///
    /// # Errors
    /// When the machine cannot provide the engine.
    pub fn without_pool(
        settings: &config::Server,
        store: Arc<Store>,
        audit: Audit,
        compiler: Compiler,
    ) -> Result<Self, EngineError> {
        Self::over(sandbox::engine_without_pool(settings)?, settings, store, audit, compiler)
    }

    fn over(
        engine: Engine,
        settings: &config::Server,
        store: Arc<Store>,
        audit: Audit,
        compiler: Compiler,
    ) -> Result<Self, EngineError> {
        let mut linker = Linker::new(&engine);
        host::link(&mut linker).map_err(|error| EngineError::new(settings, error))?;
        let ticker = EpochTicker::start(&engine, Arc::new(PollSlots::new()))
            .map_err(|error| EngineError::new(settings, error.into()))?;
        Ok(Self {
            engine,
            ticker: Arc::new(ticker),
            compiler,
            linker: Arc::new(linker),
            places: Arc::new(Semaphore::new(settings.concurrent_calls)),
            callers: Arc::new(Callers::new(settings.caller_calls_per_second)),
            keeper: Keeper::new(settings),
            common: Common {
                changes: Arc::default(),
                store,
                audit,
                advice: Advice::Operator,
                budgets: Arc::default(),
                memory: GuestMemory::new(settings),
            },
        })
    }

    /// The same for a command that calls one tool: whoever typed it is told what to add to it.
    #[must_use]
    pub fn for_a_command(mut self) -> Self {
        self.common.advice = Advice::Caller;
        self
    }

    /// Where the plugins that it loads say that something changed.
    #[must_use]
    pub fn changes(&self) -> &Arc<ChangeBoard> {
        &self.common.changes
    }

    /// Where it is noted what plugins do.
    #[must_use]
    pub fn audit(&self) -> &Audit {
        &self.common.audit
    }

    /// Loads a component under `name` with what the operator says of it.
    ///
    /// # Errors
    /// When it is not signed as it must be, not a component, not a plugin, or does not start.
    pub async fn load(
        &self,
        name: &str,
        artifact: Artifact,
        config: PluginConfig,
    ) -> Result<Loaded, LoadError> {
        // Before anything else: what is refused here reaches neither the compiler nor a start.
        let (artifact, signed) = verify(artifact, &config).await?;
        let Artifact { digest, bytes, .. } = artifact;
        let docs = Docs::of(&bytes);
        let component = self.compiler.compile(&self.engine, bytes, &digest, &config.limits).await?;
        self.start(name, Origin { digest, signed, docs }, component, config).await
    }

    /// The same, but only from code that was compiled before: `None` when there is none.
    ///
    /// # Errors
    /// When it is not signed as it must be, not a plugin, or does not start.
    pub async fn load_kept(
        &self,
        name: &str,
        artifact: Artifact,
        config: PluginConfig,
    ) -> Result<Option<Loaded>, LoadError> {
        let (Artifact { digest, bytes, .. }, signed) = verify(artifact, &config).await?;
        let Some(component) = self.compiler.recall(&self.engine, &digest, &config.limits).await else {
            return Ok(None);
        };
        let origin = Origin { digest, signed, docs: Docs::of(&bytes) };
        self.start(name, origin, component, config).await.map(Some)
    }

    async fn start(
        &self,
        name: &str,
        Origin { digest, signed, docs }: Origin,
        component: Component,
        config: PluginConfig,
    ) -> Result<Loaded, LoadError> {
        let (linker, limits) = (Arc::clone(&self.linker), config.limits.clone());
        // A component may import and export a lot; other tasks should not wait while it is looked at.
        let examining = tokio::task::spawn_blocking(move || link(&linker, &component, &docs, &limits));
        let (surface, pre, exports) = examining.await.map_err(|_| LoadError::Unexamined)??;
        let permits = Arc::new(Permits::new(&config.limits, Arc::clone(&self.places)));
        let shared = Arc::new(Shared::new(name, digest, config, self.common.clone()));
        let admission = Admission::new(&shared.config.limits, Arc::clone(&self.callers));
        let refusals = Refusals::new(Arc::clone(&shared));
        let (counts, retirement) = (Arc::default(), Retirement::default());
        let kept = Kept::of(&shared, &self.keeper);
        let (ticker, poll_share) = (Arc::clone(&self.ticker), self.ticker.slots().share());
        let plugin = Plugin {
            shared,
            pre,
            exports,
            permits,
            ticker,
            poll_share,
            admission,
            refusals,
            signed,
            counts,
            retirement,
            kept,
        };
        tell_left_out(&plugin);
        let in_use = self.common.store.times_in_use();
        let offer = plugin.list().await.map_err(|failure| match failure {
            failure if self.common.store.times_in_use() > in_use => LoadError::StoreInUse(failure),
            CallFailure::Guest(error) => LoadError::Refused(error),
            failure => LoadError::Start(failure),
        })?;
        Ok(Loaded { plugin: Arc::new(plugin), surface, offer })
    }
}

/// Finds out who signed the file. Hashing a large one takes a while.
async fn verify(artifact: Artifact, config: &PluginConfig) -> Result<(Artifact, Option<Signed>), LoadError> {
    let (keys, required) = (Arc::clone(&config.signature_keys), config.require_signature);
    if keys.is_empty() && !required {
        return Ok((artifact, None));
    }
    let verifying = tokio::task::spawn_blocking(move || -> Result<_, LoadError> {
        let Artifact { path, bytes, signature, .. } = &artifact;
        let signed = signature::check(bytes, signature.as_deref(), &keys, required, SystemTime::now())
            .map_err(|source| LoadError::Signature { file: file_name(&signature_path(path)), source })?;
        Ok((artifact, signed))
    });
    verifying.await.map_err(|_| LoadError::Unexamined)?
}

/// Finds out what a component is, and joins what it imports to what the host has.
fn link(
    linker: &Linker<State>,
    component: &Component,
    docs: &Docs,
    limits: &Limits,
) -> Result<(Surface, InstancePre<State>, Exports), LoadError> {
    let surface = Surface::of(component, component.engine());
    if let Some(Foreign { version, interface, way }) = surface.foreign() {
        let (wanted, interface) = (version.to_owned(), interface.to_owned());
        return Err(LoadError::OtherVersion { wanted, interface, way });
    }
    let is_feature = FEATURES.iter().any(|interface| surface.offers(interface));
    let functions = (!is_feature).then(|| functions(component, &surface, docs, limits)).transpose()?;
    let unlinkable = |error: wasmtime::Error| LoadError::Unlinkable(error.into());
    let pre = linker.instantiate_pre(component).map_err(unlinkable)?;
    let exports = match functions {
        Some(functions) => Exports::of(functions),
        None => Exports::find(&pre, &surface).map_err(unlinkable)?,
    };
    Ok((surface, pre, exports))
}

/// The functions of a component that knows nothing of MCP.
fn functions(
    component: &Component,
    surface: &Surface,
    docs: &Docs,
    limits: &Limits,
) -> Result<Plain, LoadError> {
    let other = || LoadError::OtherWorld { found: listed(&surface.exports), kind: surface.kind() };
    if surface.is_ours() {
        return Err(other());
    }
    let plain = Plain::find(component, docs, limits);
    match (plain.is_empty(), plain.left_out()) {
        (false, _) => Ok(plain),
        (true, []) => Err(other()),
        (true, left_out) => {
            let told: Vec<String> =
                left_out.iter().map(|left| format!("{} ({})", left.shown(), left.why)).collect();
            Err(LoadError::NoTools(listed(&told)))
        }
    }
}

/// Functions that are left out, one line each, as far as anyone would read them.
fn tell_left_out(plugin: &Plugin) {
    let (plugin, left_out) = (plugin.name(), plugin.left_out());
    for left in left_out.iter().take(LINES) {
        tracing::warn!(target: "plugin", plugin, "the function {} is no tool: {}", left.shown(), left.why);
    }
    if let Some(more) = left_out.len().checked_sub(LINES).filter(|more| *more > 0) {
        tracing::warn!(target: "plugin", plugin, "{more} more functions are no tools; `plugport inspect` lists them");
    }
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").finish_non_exhaustive()
    }
}

/// At most three names, since a stranger's component may export thousands.
fn listed(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        few if few.len() <= 3 => few.join(", "),
        [first, second, third, rest @ ..] => format!("{first}, {second}, {third} and {} more", rest.len()),
        few => few.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::engine;

    fn linked(component: &str) -> Result<(Surface, InstancePre<State>, Exports), LoadError> {
        let engine = engine(&config::Server::default()).unwrap();
        let mut linker = Linker::new(&engine);
        host::link(&mut linker).unwrap();
        let component = Component::new(&engine, wat::parse_str(component).unwrap()).unwrap();
        link(&linker, &component, &Docs::of(&[]), &Limits::default())
    }

    #[test]
    fn a_component_for_another_version_is_told_both_and_what_to_do() {
        let request = |version| format!("(import \"plugport:plugin/request@{version}\" (instance))");
        let tools = |version| {
            format!("(instance $tools) (export \"plugport:plugin/tools@{version}\" (instance $tools))")
        };
        for (component, expected) in [
            (
                request("0.1.0") + &tools("0.9.0"),
                "was built for plugport:plugin@0.9.0, whose tools it exports; this server",
            ),
            (
                request("0.9.0") + &tools("0.1.0"),
                "was built for plugport:plugin@0.9.0, whose request it imports; this server",
            ),
            (request("1.0.0"), "was built for plugport:plugin@1.0.0, whose request it imports; this server"),
        ] {
            let Err(error) = linked(&format!("(component {component})")) else { panic!("{component}") };
            let error = error.to_string();
            assert!(
                error.starts_with(expected) && error.contains("speaks plugport:plugin@0.1.0, so rebuild"),
                "{error}"
            );
        }
        let Err(error) = linked("(component)") else { panic!() };
        assert!(matches!(error, LoadError::OtherWorld { .. }), "{error}");
    }
}
