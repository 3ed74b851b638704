//! `wasi:keyvalue`: what a plugin keeps between calls. One file per interface of the package.
//!
//! The store blocks, so every operation runs on a thread that may; the guest is charged before for what it moves, and a
//! write for the work of a disk. The bucket is the plugin's own and there is only one.

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

/// What a transaction costs beside its bytes, as if it moved this many: a commit waits for the disk.
const COMMIT: usize = 200_000;

/// What finding or changing one key costs beside its bytes: about a microsecond.
const KEY: usize = 10_000;

/// Operations of one plugin that block at the same time. One of them at most writes.
const OF_ONE: usize = 2;

/// Operations of all plugins that block at the same time. Threads that block are shared with the compiler, and
/// cancelled calls leave theirs at work.
static OF_ALL: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(16)));

/// What a guest hears whose write was refused by the disk.
const FULL: &str =
    "nothing can be changed for now, since the server's disk takes no writes; values can be read";

/// The operations of one plugin.
pub(super) fn operations() -> SharedPermits {
    SharedPermits::new("operation on the store", OF_ONE, Arc::clone(&OF_ALL))
}

/// Why nothing is done with these keys: one of them is longer than any key is. Asked before anything is done, so that
/// no thread is taken for it and no handle keeps it.
fn key_error<'k>(keys: impl IntoIterator<Item = &'k String>) -> Option<Error> {
    let has_long = keys.into_iter().any(|key| key.len() > LONGEST_KEY);
    has_long.then(|| Error::Other(KvError::Key.to_string()))
}

impl InstanceCtx {
    /// Runs an operation where it may block.
    async fn run_blocking<T: Send + 'static>(
        &mut self,
        bucket: Bucket,
        work: impl FnOnce(&sandbox::KvBucket) -> Result<T, KvError> + Send + 'static,
    ) -> wasmtime::Result<Result<T, Error>> {
        let permit = self.plugin.capabilities.keyvalue.acquire().await?;
        let meter = self.meter.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            meter.timed(|| work(&bucket.0))
        });
        Ok(done.await?.map_err(|error| self.store_error(&error)))
    }

    /// What a guest hears of it. Paths and causes are in the log, where the store itself puts them.
    fn store_error(&mut self, error: &KvError) -> Error {
        match error {
            KvError::OverQuota(_) | KvError::TooMuch(_) => {
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
