//! From bytes to a plugin: compile, link, find the exports, run once to list.
//!
//! All that can be wrong with a component is found here, on one trial instance and within the time for starting, so
//! that a published tool is one that has been seen to work. Compiling runs off the async threads.

use std::sync::Arc;

use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre, Linker};

use super::exports::FEATURES;
use super::{Artifact, CallFailure, Exports, GuestError, Offer, Plugin, Surface};
use crate::config::{Limits, PluginConfig};
use crate::host::{self, ChangeBoard, Reach, Shared, State};
use crate::observe::Audit;
use crate::sandbox::{self, EngineError, Permits, Store};

/// Makes plugins. One per process; it owns the engine and what all plugins share.
pub struct Loader {
    engine: Engine,
    linker: Linker<State>,
    places: Arc<Semaphore>,
    store: Arc<Store>,
    changes: Arc<ChangeBoard>,
    audit: Audit,
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

/// Why a component is not a plugin. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The bytes do not make a component.
    #[error(
        "is damaged or truncated, or uses a WebAssembly feature that is off here; build or copy it again"
    )]
    Invalid(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It has none of our exports.
    #[error(
        "is a component of another world: it exports {found}; a plugin exports plugport:plugin/tools@{0}, \
         plugport:plugin/resources@{0} or plugport:plugin/prompts@{0}, so build it against this server's WIT",
        super::WIT_VERSION
    )]
    OtherWorld {
        /// What it exports instead.
        found: String,
    },
    /// It was built against another line of our WIT.
    #[error(
        "was built for plugport:plugin@{wanted}; this server speaks {}, so rebuild it with the matching SDK",
        super::WIT_VERSION
    )]
    OtherVersion {
        /// The version it exports.
        wanted: String,
    },
    /// An import that nothing here provides, or a function of another type.
    #[error(
        "does not fit this server's interfaces; rebuild it against plugport:plugin@{} and WASI 0.2",
        super::WIT_VERSION
    )]
    Unlinkable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It could not be started or did not list.
    #[error("could not be started")]
    Start(#[source] CallFailure),
    /// It answered the listing with an error.
    #[error("refused to list what it offers: {}", .0.in_words())]
    Refused(GuestError),
    /// Beyond `compile_ms`.
    #[error(
        "took longer than {0} ms to compile (limit `compile_ms`); use a smaller build, or raise the limit"
    )]
    Slow(u64),
    /// The compiler panicked.
    #[error("made the compiler fail; please report it with the file")]
    Compiler,
}

impl Loader {
    /// Sets up the engine, with room for this many calls that run and that wait for their clients, and links every
    /// interface once.
    ///
    /// # Errors
    /// When the machine cannot provide the engine.
    pub fn new(
        concurrent_calls: usize,
        parked_calls: usize,
        store: Arc<Store>,
        audit: Audit,
    ) -> Result<Self, EngineError> {
        let engine = sandbox::engine(concurrent_calls + parked_calls)?;
        let mut linker = Linker::new(&engine);
        host::link(&mut linker).map_err(|error| EngineError(error.into()))?;
        let places = Arc::new(Semaphore::new(concurrent_calls));
        Ok(Self { engine, linker, places, changes: Arc::default(), store, audit })
    }

    /// Where the plugins that it loads say that something changed.
    #[must_use]
    pub fn changes(&self) -> &Arc<ChangeBoard> {
        &self.changes
    }

    /// Loads a component under `name` with what the operator says of it.
    ///
    /// # Errors
    /// When it is not a component, not a plugin, or does not start.
    pub async fn load(
        &self,
        name: &str,
        artifact: Artifact,
        config: PluginConfig,
    ) -> Result<Loaded, LoadError> {
        let Artifact { digest, bytes, .. } = artifact;
        let component = self.compile(bytes, &config.limits).await?;
        let surface = Surface::of(&component, &self.engine);
        let (pre, exports) = self.link(&component, &surface)?;
        let permits = Arc::new(Permits::new(&config.limits, Arc::clone(&self.places)));
        let shared = Shared {
            name: name.into(),
            digest,
            dirs: config.grants.dirs.iter().map(Reach::of).collect(),
            config,
            changes: Arc::clone(&self.changes),
            store: Arc::clone(&self.store),
            audit: self.audit.clone(),
        };
        let plugin = Plugin { shared: Arc::new(shared), pre, exports, permits };
        let offer = plugin.list().await.map_err(|failure| match failure {
            CallFailure::Guest(error) => LoadError::Refused(error),
            failure => LoadError::Start(failure),
        })?;
        Ok(Loaded { plugin: Arc::new(plugin), surface, offer })
    }

    async fn compile(&self, bytes: Vec<u8>, limits: &Limits) -> Result<Component, LoadError> {
        let engine = self.engine.clone();
        let compiling = tokio::task::spawn_blocking(move || Component::new(&engine, &bytes));
        let compiled = tokio::time::timeout(limits.compile(), compiling).await;
        let compiled =
            compiled.map_err(|_| LoadError::Slow(limits.compile_ms))?.map_err(|_| LoadError::Compiler)?;
        compiled.map_err(|error| LoadError::Invalid(error.into()))
    }

    fn link(
        &self,
        component: &Component,
        surface: &Surface,
    ) -> Result<(InstancePre<State>, Exports), LoadError> {
        if let Some(wanted) = surface.foreign_versions().first() {
            return Err(LoadError::OtherVersion { wanted: (*wanted).to_owned() });
        }
        if !FEATURES.iter().any(|interface| surface.offers(interface)) {
            return Err(LoadError::OtherWorld { found: listed(&surface.exports) });
        }
        let unlinkable = |error: wasmtime::Error| LoadError::Unlinkable(error.into());
        let pre = self.linker.instantiate_pre(component).map_err(unlinkable)?;
        let exports = Exports::find(&pre, surface).map_err(unlinkable)?;
        Ok((pre, exports))
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
