//! `wasi:keyvalue`: values that a plugin stores between calls. A plugin has a share of the operations that block, an
//! instance its bucket.
//!
//! The bucket is the plugin's or that of the call's caller, and is chosen when the call begins, from what the transport
//! authenticated: nothing that a guest says or drops changes it. A reused instance may still have handles of the bucket
//! from earlier calls. The instance pool gives it calls of the same caller only, so these are handles of the same
//! store.

pub mod grant;
mod host;

use std::any::Any;
use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker};

use super::capability_trait::{Capability, PluginParts};
use super::{InstanceCtx, PluginCtx};
use crate::bindings::keyvalue::Keyvalue as World;
use crate::call_env::Caller;
use crate::sandbox::{CallerQuota, KvBucket, SharedPermits};
use grant::{KvGrant, KvPer};
pub use host::{Bucket, Cas};

/// The key-value store.
pub(super) struct KeyValue;

/// What an instance gets that opens its bucket.
#[derive(Debug, Clone)]
pub(in crate::capability) enum KvAccess {
    /// The store is not granted.
    NotGranted,
    /// Each caller has a store, and nobody knows who this caller is.
    UnknownCaller,
    /// The plugin's bucket, or that of its caller.
    Bucket(Arc<KvBucket>),
}

impl Capability for KeyValue {
    type Granted = grant::Granted;
    /// Permits for operations that block.
    type PerPlugin = SharedPermits;
    /// The bucket for the calls that the instance serves.
    type PerInstance = KvAccess;

    fn link(linker: &mut Linker<InstanceCtx>) -> wasmtime::Result<()> {
        World::add_to_linker::<InstanceCtx, HasSelf<InstanceCtx>>(linker, |state| state)
    }

    fn for_plugin(_: &Self::Granted, _: &PluginParts<'_>) -> SharedPermits {
        host::operation_permits()
    }

    fn for_instance(plugin: &Arc<PluginCtx>, caller: &Caller) -> KvAccess {
        let Some(grant) = plugin.config.grants.keyvalue else { return KvAccess::NotGranted };
        let (database, name) = (Arc::clone(&plugin.store), Arc::clone(&plugin.name));
        let KvGrant { quota_mib, per } = grant;
        let bucket = match per {
            KvPer::Plugin => KvBucket::new(database, name, quota_mib),
            KvPer::Caller => {
                let Some(caller) = caller.store_name() else { return KvAccess::UnknownCaller };
                let quota = CallerQuota { each_mib: quota_mib, all_mib: grant.all_callers_mib() };
                KvBucket::of_caller(database, name, caller, quota)
            }
        };
        KvAccess::Bucket(Arc::new(bucket))
    }

    fn handle_size(entry: &(dyn Any + Send)) -> Option<usize> {
        entry.downcast_ref::<Cas>().map(Cas::size)
    }
}
