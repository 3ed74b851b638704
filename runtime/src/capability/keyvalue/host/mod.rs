//! `wasi:keyvalue`: values that a plugin stores between calls. One file per interface of the package.
//!
//! The store blocks, so every operation runs on a blocking thread. The guest is charged first for the bytes that the
//! operation moves, and for the work of the disk if it writes. A call has one bucket: its plugin's, or its caller's.

mod atomics;
mod batch;
mod store;

use std::sync::{Arc, LazyLock};

use tokio::sync::Semaphore;

pub use atomics::Cas;

use crate::bindings::keyvalue::wasi::keyvalue::store::Error;
use crate::capability::InstanceCtx;
use crate::sandbox::{self, KvError, LONGEST_KEY, SharedPermits};

/// An opened bucket.
#[derive(Debug, Clone)]
pub struct Bucket(Arc<sandbox::KvBucket>);

/// Bytes that a transaction is charged beside those that it moves: a commit waits for the disk.
const COMMIT_CHARGE: usize = 200_000;

/// Bytes that finding or changing one key is charged beside those that it moves: about a microsecond.
const KEY_CHARGE: usize = 10_000;

/// Operations of one plugin that block at the same time. At most one of them writes.
const PLUGIN_OPERATIONS: usize = 2;

/// Operations of all plugins that block at the same time. Threads that block are shared with the compiler, and
/// cancelled calls leave theirs at work.
static ALL_OPERATIONS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(16)));

/// The error that a guest gets when the disk takes no writes.
const FULL: &str =
    "nothing can be changed for now, since the server's disk takes no writes; values can be read";

/// The permits of one plugin for operations on the store.
pub(super) fn operation_permits() -> SharedPermits {
    SharedPermits::new("operation on the store", PLUGIN_OPERATIONS, Arc::clone(&ALL_OPERATIONS))
}

/// The error if one of these keys is too long. Checked before anything is done, so that such a key takes no thread and
/// no handle keeps it.
fn key_error<'k>(keys: impl IntoIterator<Item = &'k String>) -> Option<Error> {
    let has_long = keys.into_iter().any(|key| key.len() > LONGEST_KEY);
    has_long.then(|| Error::Other(KvError::Key.to_string()))
}

impl InstanceCtx {
    /// Runs an operation on a blocking thread.
    async fn run_blocking<T: Send + 'static>(
        &mut self,
        bucket: Bucket,
        work: impl FnOnce(&sandbox::KvBucket) -> Result<T, KvError> + Send + 'static,
    ) -> wasmtime::Result<Result<T, Error>> {
        let permit = self.plugin.capabilities.keyvalue.acquire().await?;
        let host_fuel = self.host_fuel.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            host_fuel.timed(|| work(&bucket.0))
        });
        Ok(done.await?.map_err(|error| self.store_error(&error)))
    }

    /// The error that the guest gets. Paths and causes are in the log, where the store itself writes them.
    fn store_error(&mut self, error: &KvError) -> Error {
        match error {
            KvError::OverQuota(_) | KvError::OverTotal(_) | KvError::TooMuch(_) => {
                let why = error.to_string();
                self.limit_reached(&why);
                Error::Other(why)
            }
            KvError::Key | KvError::NotANumber => Error::Other(error.to_string()),
            KvError::Full { .. } => Error::Other(FULL.to_owned()),
            KvError::InUse(_) | KvError::Nowhere | KvError::Unusable { .. } | KvError::Failed(_) => {
                Error::Other("the store cannot be used; the server's log has the details".to_owned())
            }
        }
    }
}
