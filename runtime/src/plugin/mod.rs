//! One component's life and one call's life.
//!
//! A component is compiled and linked once ([`Loader`]); what it exports is found out there, so that a call does nothing
//! but take a place, make a fresh instance, run and be dropped. No instance outlives its call, unless the operator says so:
//! whatever a guest did to its memory is gone before the next caller comes. One file per WIT interface says how it is entered. Knows no JSON-RPC and no
//! other plugin.

mod admission;
mod argument_checks;
mod artifact;
mod call;
mod completions;
mod errand;
mod exports;
mod failure;
mod idle;
mod kept;
mod listing;
mod load;
mod load_error;
mod plain;
mod prompts;
mod quarantine;
mod record;
mod refusals;
mod regular;
mod resources;
mod retirement;
mod signature;
mod size;
mod surface;
mod tally;
mod tools;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use wasmtime::component::InstancePre;

pub use crate::bindings::exports::plugport::plugin::completions::{Completion, Target as CompletionTarget};
pub use crate::bindings::exports::plugport::plugin::prompts::{
    Prompt, PromptArgument, PromptMessage, PromptResult,
};
pub use crate::bindings::exports::plugport::plugin::resources::ResourceTemplate;
pub use crate::bindings::exports::plugport::plugin::tools::{Tool, ToolAnnotations, ToolResult};
pub use crate::bindings::plugport::plugin::types::{
    Annotations, Content, ContentData, Error as GuestError, Media, ResourceContents, ResourceData,
    ResourceDescriptor, Role, RpcError as GuestRpcError,
};
pub use crate::host::{ChangeBoard, Pending};
pub(crate) use argument_checks::Admitted;
pub use artifact::{Artifact, ArtifactError, signature_path};
pub use call::{Called, Usage};
pub use completions::Unfinished;
pub use failure::{CallFailure, Limit};
pub use listing::Offer;
pub use load::{Loaded, Loader};
pub use load_error::LoadError;
pub use plain::LeftOut;
pub use record::Record;
pub use regular::Irregular;
pub use signature::{SignatureError, Signed, check as check_signature, claimed_key};
pub use surface::{Surface, WIT_VERSION};
pub use tally::Tally;

use crate::config::PluginConfig;
use crate::host::{Shared, State};
use crate::observe::Mask;
use crate::sandbox::{EpochTicker, Offload, Permits};
use admission::Admission;
use exports::Exports;
use kept::Kept;
use refusals::Refusals;
use retirement::Retirement;
use tally::Counts;

/// A loaded component, ready to be called from many tasks at once.
pub struct Plugin {
    shared: Arc<Shared>,
    pre: InstancePre<State>,
    exports: Exports,
    permits: Arc<Permits>,
    /// Makes its guests pause; ends when the last plugin of the process has gone.
    ticker: Arc<EpochTicker>,
    /// How many of its calls may be polled at once.
    poll_share: Semaphore,
    admission: Admission,
    refusals: Arc<Refusals>,
    counts: Arc<Counts>,
    retirement: Retirement,
    /// Where instances rest between calls; `None`: each call has a fresh one.
    kept: Option<Kept>,
    signed: Option<Signed>,
}

impl Plugin {
    /// The stem of its file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// SHA-256 of the file, as lower-case hex.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.shared.digest
    }

    /// Who vouched for the file, if that was looked at.
    #[must_use]
    pub fn signed(&self) -> Option<&Signed> {
        self.signed.as_ref()
    }

    /// What hides its secrets in text that people read.
    #[must_use]
    pub fn mask(&self) -> &Mask {
        self.config().grants.secrets.mask()
    }

    /// What the operator says of it.
    #[must_use]
    pub fn config(&self) -> &PluginConfig {
        &self.shared.config
    }

    /// Where large work of the server for it is done.
    pub(crate) fn offload(&self) -> &Arc<Offload> {
        &self.shared.offload
    }

    /// Whether it is a component that knows nothing of MCP and whose functions are its tools.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.exports.plain.is_some()
    }

    /// Functions of such a component that no tool can be made of.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        self.exports.plain.as_ref().map_or(&[], |plain| plain.left_out())
    }

    /// For how much longer it is left alone because its calls keep failing, if it is.
    #[must_use]
    pub fn quarantined(&self) -> Option<Duration> {
        self.admission.quarantine.admit(Instant::now()).err()
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
