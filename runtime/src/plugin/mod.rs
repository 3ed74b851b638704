//! Plugins: loading a component, and calling it.
//!
//! [`Loader`] compiles and links a component once and finds its exports, so that a call only takes a permit, makes a
//! fresh instance, runs and is dropped. No instance outlives its call unless the operator says `instances = "reuse"`:
//! what a guest did to its memory is gone before the next call. One file per WIT interface has its calls. This layer
//! knows no JSON-RPC, and a plugin knows no other plugin.

mod argument_validation;
mod bench_api;
mod call_bounds;
mod call_error;
mod call_log;
mod completions;
mod component_file;
mod component_loader;
mod drain;
mod exports;
mod file_signature;
mod function_tools;
mod guest_call;
mod instance_pool;
mod interface_names;
mod invoke;
mod listing;
mod load_error;
mod other_host;
mod prompts;
mod quarantine;
mod rate_gate;
mod resources;
mod result_size;
mod served_calls;
mod shipped_files;
mod tools;

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::InstancePre;

pub use crate::bindings::exports::plugport::plugin::completions::{Completion, Target as CompletionTarget};
pub use crate::bindings::exports::plugport::plugin::prompts::{
    Prompt, PromptArgument, PromptMessage, PromptResult,
};
pub use crate::bindings::exports::plugport::plugin::resources::{MatchedTemplate, ResourceTemplate};
pub use crate::bindings::exports::plugport::plugin::tools::{Tool, ToolAnnotations, ToolResult};
pub use crate::bindings::plugport::plugin::types::{
    Annotations, Content, ContentData, Error as GuestError, Media, ResourceContents, ResourceData,
    ResourceDescriptor, Role, RpcError as GuestRpcError,
};
pub use crate::capability::{PendingChanges, PluginChanges};
pub use crate::config::ItemKind;
pub use crate::safe_open::OpenError;
pub use crate::sandbox::CompilePermit;
pub(crate) use argument_validation::AdmittedCall;
pub use call_error::{CallError, LimitHit};
pub use call_log::{AuditRecord, CallTotals, CounterSnapshot};
pub(crate) use call_log::{ForbiddenCall, ForbiddenReason, OverQuotaCall};
pub use completions::PartialArgument;
pub use component_file::{ComponentFile, ComponentFileError, signature_path};
pub use component_loader::{CachedLoad, LoadedPlugin, Loader, UncompiledFile};
pub use file_signature::{SignatureError, Signer, check as check_signature, claimed_key};
pub use function_tools::RejectedFunction;
pub(crate) use guest_call::CallKind;
pub use guest_call::CallUsage;
pub use interface_names::{Interfaces, WIT_VERSION};
pub use invoke::FinishedCall;
pub use listing::Listing;
pub use load_error::LoadError;
pub use other_host::OtherHost;
pub use shipped_files::{FileContents, ShippedFile};

use crate::capability::{InstanceCtx, PluginCtx};
use crate::config::PluginConfig;
use crate::observe::Redactor;
use crate::sandbox::{CallPermits, CountedSemaphore, EpochTicker, LargeWork};
use call_log::CallLog;
use drain::Drain;
use exports::Exports;
use instance_pool::PluginPool;
use rate_gate::RateGate;

/// A loaded component, ready to be called from many tasks at once.
pub struct Plugin {
    shared: Arc<PluginCtx>,
    pre: InstancePre<InstanceCtx>,
    exports: Exports,
    permits: Arc<CallPermits>,
    /// Makes its guests yield; ends when the last plugin of the process is dropped.
    ticker: Arc<EpochTicker>,
    /// How many of its calls may be polled at once.
    poll_share: CountedSemaphore,
    rate_gate: RateGate,
    call_log: Arc<CallLog>,
    drain: Drain,
    /// Where idle instances are; `None`: each call has a fresh one.
    pool: Option<PluginPool>,
    signer: Option<Signer>,
    /// The files in its component, by path.
    files: Arc<[ShippedFile]>,
}

impl Plugin {
    /// The stem of its file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The same, for those that keep it.
    pub(crate) fn shared_name(&self) -> &Arc<str> {
        &self.shared.name
    }

    /// SHA-256 of the file, as lower-case hex.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.shared.digest
    }

    /// Who signed the file, if its signature was verified.
    #[must_use]
    pub fn signer(&self) -> Option<&Signer> {
        self.signer.as_ref()
    }

    /// The files in its component, by path.
    #[must_use]
    pub fn shipped_files(&self) -> &[ShippedFile] {
        &self.files
    }

    /// Redacts its secrets in text that people read.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        self.config().grants.config.secrets.redactor()
    }

    /// The operator's settings for it.
    #[must_use]
    pub fn config(&self) -> &PluginConfig {
        &self.shared.config
    }

    /// Runs large work that the server does for it.
    pub(crate) fn offload(&self) -> &Arc<LargeWork> {
        &self.shared.offload
    }

    /// Whether its tools are function tools.
    #[must_use]
    pub fn has_function_tools(&self) -> bool {
        self.exports.functions.is_some()
    }

    /// Whether its guest chooses when a call becomes a task.
    pub(crate) fn detaches(&self) -> bool {
        self.exports.detaches
    }

    /// Exported functions that cannot be function tools.
    #[must_use]
    pub fn rejected_functions(&self) -> &[RejectedFunction] {
        self.exports.functions.as_ref().map_or(&[], |functions| functions.rejected())
    }

    /// The counters of its calls since it was loaded.
    #[must_use]
    pub fn counters(&self) -> CounterSnapshot {
        self.call_log.counters()
    }

    /// Counts and audits a call that its caller may not make.
    pub(crate) fn record_forbidden(&self, call: ForbiddenCall<'_>) {
        self.call_log.record_forbidden(call);
    }

    /// Counts and audits a call whose caller is over quota.
    pub(crate) fn record_over_quota(&self, call: &OverQuotaCall<'_>) {
        self.call_log.record_over_quota(call);
    }

    /// Calls that have begun and not ended.
    #[must_use]
    pub fn running(&self) -> u64 {
        self.call_log.running()
    }

    /// Calls that wait for a permit.
    #[must_use]
    pub fn queued(&self) -> u64 {
        self.permits.queued()
    }

    /// For how much longer it is quarantined because its calls keep failing, if it is.
    #[must_use]
    pub fn quarantined(&self) -> Option<Duration> {
        self.rate_gate.quarantine.admit(Instant::now()).err()
    }
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin")
            .field("name", &self.shared.name)
            .field("digest", &self.shared.digest)
            .finish_non_exhaustive()
    }
}
