//! What a plugin may use outside the sandbox: a folder for each capability, and their table.
//!
//! A folder has the capability's grant (`grant`: what the operator writes in `plugport.toml`), its policy (`policy`:
//! pure functions that say what is allowed, where there is more to say than "granted or not") and its host functions
//! (`host`). Host functions are thin: they charge the guest, use their own small state and pass on.
//!
//! A capability has three lifetimes (`capability_trait`): linked once, per plugin, per instance. This file has the
//! table and all that has a field or a step for each of its lines: the state of a plugin (`PluginCtx`) and of an
//! instance (`InstanceCtx`). Host functions are functions of `InstanceCtx`, so every module here uses this file, and
//! the modules form no circle among themselves:
//!
//! | Modules | What they are |
//! |---|---|
//! | `inputs`, `instance_ctx` | what joins several capabilities, or all parts of an instance |
//! | a folder for each line | the capability; `roots` uses `filesystem` |
//! | `client_requests`, `always_granted` | what sampling, elicitation and roots share; functions that need no grant |
//! | `capability_trait`, `host_support` | what a capability is; the parts of an instance |
//!
//! Grants and policies are a layer of their own, `grants`, below `config`, which reads `plugport.toml` through the same
//! table. The layer has `grant` and `policy` of each folder, below them the module `grant_trait` with what they share,
//! and above them `plugin_grants` with all that one plugin is granted. Nothing in the layer may know wasmtime, or
//! anything else of this folder.

/// The table of capabilities: the folder of each, and the type that implements it. Everything that lists capabilities
/// has this order.
macro_rules! capabilities {
    ($make:ident) => {
        $make! {
            /// Directories, each under a guest path of its own.
            filesystem Filesystem;
            /// Requests to hosts.
            http Http;
            /// Nothing: sockets are never granted.
            sockets Sockets;
            /// How much it may store between calls.
            keyvalue KeyValue;
            /// Settings and secrets that it may read.
            config Config;
            /// Variables of its environment.
            env Env;
            /// How many requests it may send to the client's model.
            sampling Sampling;
            /// Whether it may send requests to the user at the client.
            elicitation Elicitation;
            /// Whether it may see the client's roots, and which of them it may read.
            roots Roots;
            /// What its apps may reach in the client's host.
            ui Ui;
        }
    };
}

mod always_granted;
mod capability_trait;
mod client_requests;
mod config;
mod elicitation;
mod env;
mod filesystem;
pub mod grant_trait;
mod host_support;
mod http;
mod inputs;
mod instance_ctx;
mod keyvalue;
pub mod plugin_grants;
mod roots;
mod sampling;
mod sockets;
mod ui;

use std::any::Any;
use std::sync::{Arc, OnceLock};

use wasmtime::component::{Instance, Linker, Resource, ResourceTable, TypedFunc};
use wasmtime_wasi::{WasiCtxBuilder, WasiCtxView, WasiView};

use crate::bindings::exports::plugport::plugin::tools::ToolResult;
use crate::bindings::plugport::plugin::types::Error;
use crate::call_env::{Caller, GrantHint, GuestLog, HintAudience};
use crate::config::{Grants, PluginConfig};
use crate::observe::Audit;
use crate::observe::metrics::CountsByName;
use crate::observe::trace::SpanScope;
use crate::sandbox::{GuestMemory, HostFuel, KvDatabase, LargeWork, PluginMemory, StoreLimiter, Suspension};
use crate::token_bucket::TokenBucket;
use capability_trait::{Capability, PluginParts};
use client_requests::RequestBudget;
use host_support::current_call::CurrentCall;
use host_support::denial_log::DenialLog;
use host_support::handle_memory::HandleMemory;
use host_support::wasi_ctx::LazyWasiCtx;

pub use always_granted::{PendingChanges, PluginChanges};
pub use host_support::current_call::Call;
pub(crate) use host_support::current_call::StaleCallHandle;
pub use host_support::host_error::HostCallError;
pub(crate) use host_support::host_error::LimitTrap;
pub use http::SentRequest;
pub use keyvalue::{Bucket, Cas};
pub(crate) use sampling::{SamplingBudgets, tokens as sampling_tokens};

/// One plugin, as host functions know it: what all its instances share. Each has an `Arc` of it.
#[derive(Debug)]
pub(crate) struct PluginCtx {
    /// The stem of its file.
    pub(crate) name: Arc<str>,
    /// SHA-256 of the file, as lower-case hex.
    pub(crate) digest: String,
    /// The same with the name of the algorithm, as the audit writes it.
    pub(crate) audit_digest: Arc<str>,
    /// The operator's settings for it.
    pub(crate) config: PluginConfig,
    /// Records the changes that it announces.
    pub(crate) changes: Arc<PendingChanges>,
    /// The key-value database.
    pub(crate) store: Arc<KvDatabase>,
    /// The threads for large work of the server for it.
    pub(crate) offload: Arc<LargeWork>,
    /// The memory of its instances.
    pub(crate) memory: Arc<PluginMemory>,
    /// The audit of its calls.
    pub(crate) audit: Audit,
    /// What its instances were denied, by the grant that would allow it.
    pub(crate) denials: Arc<CountsByName>,
    /// Who reads the hints about missing grants.
    audience: HintAudience,
    /// Bounds what its calls log together.
    log_bucket: Arc<TokenBucket>,
    /// The state of each capability.
    capabilities: PerPlugin,
}

impl PluginCtx {
    /// A plugin of this name and digest, with the operator's settings.
    pub(crate) fn new(name: &str, digest: String, config: PluginConfig, server: ServerCtx) -> Self {
        let capabilities = PerPlugin::new(&PluginParts { name, config: &config, server: &server });
        let ServerCtx { changes, store, audit, audience, memory, .. } = server;
        Self {
            name: name.into(),
            audit_digest: format!("sha256:{digest}").into(),
            digest,
            log_bucket: Arc::new(GuestLog::token_bucket(&config.limits)),
            capabilities,
            config,
            changes,
            store,
            memory: memory.of_plugin(),
            offload: Arc::new(LargeWork::new()),
            audit,
            denials: Arc::default(),
            audience,
        }
    }
}

/// What all plugins of a server share.
#[derive(Debug, Clone)]
pub(crate) struct ServerCtx {
    pub(crate) changes: Arc<PendingChanges>,
    pub(crate) store: Arc<KvDatabase>,
    pub(crate) audit: Audit,
    pub(crate) audience: HintAudience,
    pub(crate) sampling_budgets: Arc<SamplingBudgets>,
    pub(crate) memory: Arc<GuestMemory>,
}

/// The function `call-tool` of an instance. It takes strings that live shorter than `'static` too, because
/// `TypedFunc` is covariant in its parameters.
pub(crate) type CallToolFunc =
    TypedFunc<(Resource<Call>, &'static str, &'static str), (Result<ToolResult, Error>,)>;

/// What the host keeps for one instance: the `T` of its `Store<T>`. It is dropped with the store, so a call finds
/// nothing of the call before. Where the operator lets an instance serve several calls of one caller, the state of a
/// call begins anew with each call.
pub(crate) struct InstanceCtx {
    wasi: LazyWasiCtx,
    pub(crate) table: ResourceTable,
    pub(crate) current_call: CurrentCall,
    /// The instance that serves the calls of clients, once it is made.
    pub(crate) instance: Option<Instance>,
    /// Its function `call-tool`, whose type the engine has checked.
    pub(crate) call_tool: Option<CallToolFunc>,
    /// Calls that it has served or begun to serve.
    pub(crate) served: u32,
    pub(crate) limiter: StoreLimiter,
    pub(crate) host_fuel: HostFuel,
    /// Made when it is first needed; see [`guest_log`].
    pub(crate) logs: OnceLock<GuestLog>,
    /// Bytes that one host call may hand over.
    transfer: usize,
    /// The bytes behind its handles.
    handle_memory: HandleMemory,
    suspension: Suspension,
    request_budget: RequestBudget,
    /// Made with the first entry.
    denials: OnceLock<DenialLog>,
    /// The span of the call; `None`: it is not recorded.
    trace: Option<SpanScope>,
    /// The state of each capability.
    capabilities: PerInstance,
    /// What all instances of its plugin share.
    plugin: Arc<PluginCtx>,
    /// Whether changes that the guest announces are recorded.
    announces: bool,
}

impl InstanceCtx {
    /// Records what the guest was denied, and what would grant it.
    fn deny(&mut self, requested: &str, hint: impl Into<GrantHint>) {
        self.denials().record_denied(&self.plugin, requested, hint);
    }

    /// Records that the guest reached a limit and may go on. `why` is the sentence that the guest got.
    fn limit_reached(&mut self, why: &str) {
        self.denials().record_limit(&self.plugin, why);
    }

    fn logs(&self) -> &GuestLog {
        guest_log(&self.logs, &self.plugin)
    }

    fn denials(&self) -> &DenialLog {
        self.denials.get_or_init(|| DenialLog::new(self.trace.clone()))
    }

    /// Reserves memory for a handle that the guest is about to get.
    ///
    /// # Errors
    /// When all its handles together would exceed the limit, or there is no memory for it.
    fn reserve_handle_memory(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.handle_memory.add(&mut self.table, self.limiter.instance_memory(), bytes)
    }
}

/// The log of an instance's call, which is made now if it is not yet. A function of the two fields, so that others can
/// be borrowed beside them.
fn guest_log<'l>(logs: &'l OnceLock<GuestLog>, plugin: &PluginCtx) -> &'l GuestLog {
    logs.get_or_init(|| {
        let PluginConfig { grants, limits, .. } = &plugin.config;
        let (bucket, redactor) = (Arc::clone(&plugin.log_bucket), grants.config.secrets.redactor().clone());
        GuestLog::new(Arc::clone(&plugin.name), bucket, limits, redactor)
    })
}

impl WasiView for InstanceCtx {
    // Every function of WASI calls this one, and none of them charges for itself.
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.host_fuel.charge_call();
        let logs = guest_log(&self.logs, &self.plugin);
        let ctx = self.wasi.get(&self.plugin.config.grants, logs, &self.host_fuel);
        WasiCtxView { ctx, table: &mut self.table }
    }
}

macro_rules! states {
    ($($(#[$doc:meta])* $folder:ident $capability:ident;)*) => {
        /// The state of each capability for one plugin.
        #[derive(Debug)]
        #[expect(dead_code, reason = "most capabilities keep nothing for a plugin")]
        struct PerPlugin {
            $($folder: <self::$folder::$capability as Capability>::PerPlugin,)*
        }

        impl PerPlugin {
            fn new(plugin: &PluginParts<'_>) -> Self {
                Self { $($folder: self::$folder::$capability::for_plugin(&plugin.config.grants.$folder, plugin),)* }
            }
        }

        /// The state of each capability for one instance.
        struct PerInstance {
            $($folder: <self::$folder::$capability as Capability>::PerInstance,)*
        }

        impl PerInstance {
            fn new(plugin: &Arc<PluginCtx>, caller: &Caller) -> Self {
                Self { $($folder: self::$folder::$capability::for_instance(plugin, caller),)* }
            }

            /// Begins another call in the same instance.
            fn begin_call(&mut self, plugin: &Arc<PluginCtx>, caller: &Caller) {
                $(self::$folder::$capability::begin_call(&mut self.$folder, plugin, caller);)*
            }

            /// Whether nothing of the call that ended goes on.
            fn is_quiet(&self) -> bool {
                $(self::$folder::$capability::is_quiet(&self.$folder))&&*
            }
        }

        /// Links every import that a guest can have: what needs no grant, and all capabilities, granted or not.
        ///
        /// # Errors
        /// Never for a fixed set of interfaces; wasmtime reports a name that is defined twice.
        pub(crate) fn add_to_linker(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
            always_granted::link(linker)?;
            inputs::link(linker)?;
            $(self::$folder::$capability::link(linker)?;)*
            Ok(())
        }

        /// Adds what is granted to a WASI context, except for directories.
        fn build_wasi(grants: &Grants, wasi: &mut WasiCtxBuilder) {
            $(self::$folder::$capability::build_wasi(&grants.$folder, wasi);)*
        }

        /// Size of what the host keeps behind a handle, as far as a guest decides it, bytes.
        fn handle_size(entry: &(dyn Any + Send)) -> usize {
            None$(.or_else(|| self::$folder::$capability::handle_size(entry)))*.unwrap_or(0)
        }
    };
}

capabilities!(states);

#[cfg(test)]
mod tests;
