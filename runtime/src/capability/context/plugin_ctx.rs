//! `PluginCtx`: what all instances of one plugin share on the host's side; `ServerCtx`: what all plugins share. Each
//! instance has an `Arc` of its plugin's context, and an [`InstanceCtx`](super::instance_ctx::InstanceCtx) of its own.

use std::sync::Arc;

use crate::capability::lifetimes::{PerPlugin, PluginParts};
use crate::capability::{PendingChanges, PluginBudgets};
use crate::config::PluginConfig;
use crate::host::{GuestLog, HintAudience};
use crate::observe::Audit;
use crate::sandbox::{GuestMemory, KvDatabase, LargeWork, PluginMemory, TokenBucket};

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
    /// Where large work of the server for it is done.
    pub(crate) offload: Arc<LargeWork>,
    /// The memory of its instances.
    pub(crate) memory: Arc<PluginMemory>,
    /// Where it is noted what it did.
    pub(crate) audit: Audit,
    /// Who reads what would allow what it was refused.
    pub(in crate::capability) audience: HintAudience,
    /// What its calls write together.
    pub(in crate::capability) log_rate: Arc<TokenBucket>,
    /// What each capability keeps for it.
    pub(in crate::capability) capabilities: PerPlugin,
}

impl PluginCtx {
    /// A plugin of this name and digest, of which the operator says `config`.
    pub(crate) fn new(name: &str, digest: String, config: PluginConfig, common: ServerCtx) -> Self {
        let capabilities = PerPlugin::new(&PluginParts { name, config: &config, server: &common });
        let ServerCtx { changes, store, audit, audience, memory, .. } = common;
        Self {
            name: name.into(),
            digest,
            log_rate: Arc::new(GuestLog::rate(&config.limits)),
            capabilities,
            config,
            changes,
            store,
            memory: memory.of_plugin(),
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
pub(in crate::capability) mod tests {
    use super::*;
    use crate::config::{Config, ServerConfig};

    /// A plugin without any grant.
    pub(in crate::capability) fn plugin() -> PluginCtx {
        let (changes, audience, budgets) = (Arc::default(), HintAudience::default(), Arc::default());
        let memory = GuestMemory::new(&ServerConfig::default());
        let (store, audit) = (KvDatabase::new("state".into()), Audit::disabled());
        let common = ServerCtx { changes, store, audit, audience, budgets, memory };
        PluginCtx::new("p", String::new(), Config::new("plugins".into()).plugin("p"), common)
    }
}
