//! `wasi:keyvalue`: values that a plugin stores between calls. A plugin has a share of the operations that block, an
//! instance its bucket.

pub mod grant;
mod host;

use std::any::Any;
use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker};

use super::capability_trait::{Capability, InstanceParts, PluginParts};
use super::{InstanceCtx, PluginCtx};
use crate::bindings::keyvalue::Keyvalue as World;
use crate::sandbox::{KvBucket, SharedPermits};
use grant::KvGrant;
pub use host::{Bucket, Cas};

/// The key-value store.
pub(super) struct KeyValue;

impl Capability for KeyValue {
    type Granted = grant::Granted;
    /// Permits for operations that block.
    type PerPlugin = SharedPermits;
    /// The plugin's bucket; `None` when the store is not granted.
    type PerInstance = Option<Arc<KvBucket>>;

    fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
        World::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)
    }

    fn for_plugin(_: &Self::Granted, _: &PluginParts<'_>) -> SharedPermits {
        host::operations()
    }

    fn for_instance(plugin: &Arc<PluginCtx>, _: &InstanceParts<'_>) -> Self::PerInstance {
        let bucket = |KvGrant { quota_mib }| {
            Arc::new(KvBucket::new(Arc::clone(&plugin.store), Arc::clone(&plugin.name), quota_mib))
        };
        plugin.config.grants.keyvalue.map(bucket)
    }

    fn begin_call(_: &mut Self::PerInstance, _: &Arc<PluginCtx>, _: &InstanceParts<'_>) {}

    fn handle_size(entry: &(dyn Any + Send)) -> Option<usize> {
        entry.downcast_ref::<Cas>().map(Cas::size)
    }
}
