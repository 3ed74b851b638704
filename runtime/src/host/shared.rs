//! What all calls of one plugin have in common on the host's side: who it is, what the operator says of it, and where its
//! words go. A call has an `Arc` of it and a [`State`](super::State) of its own.

use std::sync::Arc;

use super::{ChangeBoard, Reach};
use crate::config::PluginConfig;
use crate::observe::Audit;
use crate::sandbox::Store;

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
    /// What lies behind each granted directory, in the order of the grants.
    pub(crate) dirs: Vec<Arc<Reach>>,
    /// Where it is noted what it did.
    pub(crate) audit: Audit,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::config::Config;

    /// A plugin without any grant.
    pub(in super::super) fn shared() -> Shared {
        Shared {
            name: "p".into(),
            digest: String::new(),
            config: Config::new("plugins".into()).plugin("p"),
            changes: Arc::default(),
            store: Store::new("state".into()),
            dirs: Vec::new(),
            audit: Audit::none(),
        }
    }
}
