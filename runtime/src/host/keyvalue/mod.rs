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

use super::State;
use crate::bindings::keyvalue::wasi::keyvalue::store::Error;
use crate::sandbox::{self, LONGEST_KEY, Places, StoreError};

/// An opened bucket.
#[derive(Debug, Clone)]
pub struct Bucket(Arc<sandbox::Bucket>);

/// What a transaction costs beside its bytes, as if it moved this many: a commit waits for the disk.
const COMMIT: usize = 200_000;

/// What finding or changing one key costs beside its bytes: about a microsecond.
const KEY: usize = 10_000;

/// Operations of one plugin that block at the same time. One of them at most writes.
const OF_ONE: usize = 2;

/// Operations of all plugins that block at the same time. Threads that block are shared with the compiler, and cancelled
/// calls leave theirs at work.
static OF_ALL: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(16)));

/// What a guest hears whose write was refused by the disk.
const FULL: &str =
    "nothing can be changed for now, since the server's disk takes no writes; what is kept can be read";

/// The operations of one plugin.
pub(super) fn operations() -> Places {
    Places::new("operation on the store", OF_ONE, Arc::clone(&OF_ALL))
}

/// Why nothing is done with these keys: one of them is longer than any key is. Asked before anything is done, so that no thread
/// is taken for it and no handle keeps it.
fn unfit<'k>(keys: impl IntoIterator<Item = &'k String>) -> Option<Error> {
    let has_long = keys.into_iter().any(|key| key.len() > LONGEST_KEY);
    has_long.then(|| Error::Other(StoreError::Key.to_string()))
}

impl State {
    /// Runs an operation where it may block.
    async fn on<T: Send + 'static>(
        &mut self,
        bucket: Bucket,
        work: impl FnOnce(&sandbox::Bucket) -> Result<T, StoreError> + Send + 'static,
    ) -> wasmtime::Result<Result<T, Error>> {
        let place = self.shared.operations.take().await?;
        let meter = self.meter.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            meter.timed(|| work(&bucket.0))
        });
        Ok(done.await?.map_err(|error| self.refused(&error)))
    }

    /// What a guest hears of it. Paths and causes are in the log, where the store itself puts them.
    fn refused(&mut self, error: &StoreError) -> Error {
        match error {
            StoreError::OverQuota(_) | StoreError::TooMuch(_) => {
                let why = error.to_string();
                self.reached(&why);
                Error::Other(why)
            }
            StoreError::Key | StoreError::NotANumber => Error::Other(error.to_string()),
            StoreError::Full { .. } => Error::Other(FULL.to_owned()),
            StoreError::InUse(_)
            | StoreError::Nowhere
            | StoreError::Unusable { .. }
            | StoreError::Failed(_) => {
                Error::Other("the store cannot be used; the server's log has the details".to_owned())
            }
        }
    }
}
