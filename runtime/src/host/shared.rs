//! What all calls of one plugin have in common on the host's side: who it is, what the operator says of it, and where its
//! words go. A call has an `Arc` of it and a [`State`](super::State) of its own.

use std::sync::Arc;

use super::allow::Advice;
use super::budget::{Budgets, Hourly};
use super::filesystem::FileWork;
use super::keyvalue;
use super::{ChangeBoard, Logs, Reach};
use crate::config::PluginConfig;
use crate::observe::Audit;
use crate::sandbox::{Egress, GuestMemory, Offload, Places, PluginMemory, Rate, Store};

/// One plugin, as host functions know it.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The stem of its file.
    pub(crate) name: Arc<str>,
    /// SHA-256 of the file, as lower-case hex.
    pub(crate) digest: String,
    /// What the operator says of it.
    pub(crate) config: PluginConfig,
    /// Where it says that something changed.
    pub(crate) changes: Arc<ChangeBoard>,
    /// What it keeps between calls is in here.
    pub(crate) store: Arc<Store>,
    /// How much of that it may have done at the same time.
    pub(super) operations: Places,
    /// How much it may have done with files at the same time.
    pub(super) file_work: FileWork,
    /// Where large work of the server for it is done.
    pub(crate) offload: Arc<Offload>,
    /// The memory of its instances.
    pub(crate) memory: Arc<PluginMemory>,
    /// Its way to other hosts.
    pub(crate) egress: Egress,
    /// What lies behind each granted directory, in the order of the grants.
    pub(crate) dirs: Vec<Arc<Reach>>,
    /// Where it is noted what it did.
    pub(crate) audit: Audit,
    /// Who reads what would allow what it was refused.
    pub(super) advice: Advice,
    /// What its calls write together.
    pub(super) log_rate: Arc<Rate>,
    /// What its calls may still ask the client's model; `None` when that is not granted.
    pub(super) sampling: Option<Arc<Hourly>>,
}

impl Shared {
    /// A plugin of this name and digest, of which the operator says `config`.
    pub(crate) fn new(name: &str, digest: String, config: PluginConfig, common: Common) -> Self {
        let Common { changes, store, audit, advice, budgets, memory } = common;
        Self {
            name: name.into(),
            digest,
            log_rate: Arc::new(Logs::rate(&config.limits)),
            sampling: config.grants.sampling.map(|grant| budgets.of(name, grant)),
            dirs: config.grants.dirs.iter().map(Reach::of).collect(),
            egress: Egress::new(usize::try_from(config.limits.http_parallel).unwrap_or(1)),
            config,
            changes,
            store,
            memory: memory.of_plugin(),
            operations: keyvalue::operations(),
            file_work: FileWork::new(),
            offload: Arc::new(Offload::new()),
            audit,
            advice,
        }
    }
}

/// What all plugins of a server share.
#[derive(Debug, Clone)]
pub(crate) struct Common {
    pub(crate) changes: Arc<ChangeBoard>,
    pub(crate) store: Arc<Store>,
    pub(crate) audit: Audit,
    pub(crate) advice: Advice,
    pub(crate) budgets: Arc<Budgets>,
    pub(crate) memory: Arc<GuestMemory>,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::config::{Config, Server};

    /// A plugin without any grant.
    pub(in super::super) fn shared() -> Shared {
        let (changes, advice, budgets) = (Arc::default(), Advice::default(), Arc::default());
        let memory = GuestMemory::new(&Server::default());
        let (store, audit) = (Store::new("state".into()), Audit::none());
        let common = Common { changes, store, audit, advice, budgets, memory };
        Shared::new("p", String::new(), Config::new("plugins".into()).plugin("p"), common)
    }
}
