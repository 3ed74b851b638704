//! `PluginCtx`: what all instances of one plugin share on the host's side; `ServerCtx`: what all plugins share. Each
//! instance has an `Arc` of its plugin's context, and an [`InstanceCtx`](super::InstanceCtx) of its own.

use std::sync::Arc;

use super::filesystem::FileIo;
use super::grant_hint::HintAudience;
use super::keyvalue;
use super::sampling_budget::{HourlyBudget, PluginBudgets};
use super::{GrantedDir, GuestLog, PendingChanges};
use crate::config::PluginConfig;
use crate::observe::Audit;
use crate::sandbox::{Egress, GuestMemory, KvDatabase, LargeWork, PluginMemory, SharedPermits, TokenBucket};

/// One plugin, as host functions know it.
#[derive(Debug)]
pub(crate) struct PluginCtx {
    /// The stem of its file.
    pub(crate) name: Arc<str>,
    /// SHA-256 of the file, as lower-case hex.
    pub(crate) digest: String,
    /// What the operator says of it.
    pub(crate) config: PluginConfig,
    /// Where it says that something changed.
    pub(crate) changes: Arc<PendingChanges>,
    /// What it keeps between calls is in here.
    pub(crate) store: Arc<KvDatabase>,
    /// How much of that it may have done at the same time.
    pub(super) operations: SharedPermits,
    /// How much it may have done with files at the same time.
    pub(super) file_io: FileIo,
    /// Where large work of the server for it is done.
    pub(crate) offload: Arc<LargeWork>,
    /// The memory of its instances.
    pub(crate) memory: Arc<PluginMemory>,
    /// Its way to other hosts.
    pub(crate) egress: Egress,
    /// What lies behind each granted directory, in the order of the grants.
    pub(crate) dirs: Vec<Arc<GrantedDir>>,
    /// Where it is noted what it did.
    pub(crate) audit: Audit,
    /// Who reads what would allow what it was refused.
    pub(super) audience: HintAudience,
    /// What its calls write together.
    pub(super) log_rate: Arc<TokenBucket>,
    /// What its calls may still ask the client's model; `None` when that is not granted.
    pub(super) sampling: Option<Arc<HourlyBudget>>,
}

impl PluginCtx {
    /// A plugin of this name and digest, of which the operator says `config`.
    pub(crate) fn new(name: &str, digest: String, config: PluginConfig, common: ServerCtx) -> Self {
        let ServerCtx { changes, store, audit, audience, budgets, memory } = common;
        Self {
            name: name.into(),
            digest,
            log_rate: Arc::new(GuestLog::rate(&config.limits)),
            sampling: config.grants.sampling.map(|grant| budgets.for_plugin(name, grant)),
            dirs: config.grants.filesystem.iter().map(GrantedDir::from_grant).collect(),
            egress: Egress::new(usize::try_from(config.limits.http_parallel).unwrap_or(1)),
            config,
            changes,
            store,
            memory: memory.of_plugin(),
            operations: keyvalue::operations(),
            file_io: FileIo::new(),
            offload: Arc::new(LargeWork::new()),
            audit,
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
    pub(crate) budgets: Arc<PluginBudgets>,
    pub(crate) memory: Arc<GuestMemory>,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::config::{Config, ServerConfig};

    /// A plugin without any grant.
    pub(in super::super) fn plugin() -> PluginCtx {
        let (changes, audience, budgets) = (Arc::default(), HintAudience::default(), Arc::default());
        let memory = GuestMemory::new(&ServerConfig::default());
        let (store, audit) = (KvDatabase::new("state".into()), Audit::disabled());
        let common = ServerCtx { changes, store, audit, audience, budgets, memory };
        PluginCtx::new("p", String::new(), Config::new("plugins".into()).plugin("p"), common)
    }
}
