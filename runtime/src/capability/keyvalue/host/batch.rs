//! `wasi:keyvalue/batch`. A batch is one transaction here: all of it happens, or nothing.

use wasmtime::component::Resource;

use super::{Bucket, COMMIT_CHARGE, InstanceCtx, KEY_CHARGE, key_error};
use crate::bindings::keyvalue::wasi::keyvalue::batch::Host;
use crate::bindings::keyvalue::wasi::keyvalue::store::Error;
use crate::sandbox::KeyValues;

/// Most keys of one batch: two pages of a listing. A guest may hand over one buffer as very many keys, each of which
/// takes fifty times its text while the batch waits for its permit. This many keys take no more, beside their text,
/// than the memory that is counted for every instance.
const MAX_KEYS: usize = 1_000;

impl Host for InstanceCtx {
    async fn get_many(
        &mut self,
        bucket: Resource<Bucket>,
        keys: Vec<String>,
    ) -> wasmtime::Result<Result<KeyValues, Error>> {
        let size = keys.iter().map(String::len).sum::<usize>();
        let work = size + keys.len() * KEY_CHARGE;
        let Some(keys) = within_max(keys) else { return self.too_many(work).await };
        self.host_fuel.charge_work(work, size).await?;
        if let Some(error) = key_error(&keys) {
            return Ok(Err(error));
        }
        let max = self.transfer;
        let values = self
            .run_blocking(self.table.get(&bucket)?.clone(), move |bucket| bucket.get_many(&keys, max))
            .await?;
        let sizes = values.iter().flatten().flatten().map(|(key, value)| key.len() + value.len());
        self.host_fuel.charge(sizes.sum()).await?;
        Ok(values)
    }

    async fn set_many(
        &mut self,
        bucket: Resource<Bucket>,
        entries: Vec<(String, Vec<u8>)>,
    ) -> wasmtime::Result<Result<(), Error>> {
        let size: usize = entries.iter().map(|(key, value)| key.len() + value.len()).sum();
        let work = COMMIT_CHARGE + size + entries.len() * KEY_CHARGE;
        let Some(entries) = within_max(entries) else { return self.too_many(work).await };
        self.host_fuel.charge_work(work, size).await?;
        if let Some(error) = key_error(entries.iter().map(|(key, _)| key)) {
            return Ok(Err(error));
        }
        self.run_blocking(self.table.get(&bucket)?.clone(), move |bucket| bucket.set_many(&entries)).await
    }

    async fn delete_many(
        &mut self,
        bucket: Resource<Bucket>,
        keys: Vec<String>,
    ) -> wasmtime::Result<Result<(), Error>> {
        let size: usize = keys.iter().map(String::len).sum();
        let work = COMMIT_CHARGE + size + keys.len() * KEY_CHARGE;
        let Some(keys) = within_max(keys) else { return self.too_many(work).await };
        self.host_fuel.charge_work(work, size).await?;
        if let Some(error) = key_error(&keys) {
            return Ok(Err(error));
        }
        self.run_blocking(self.table.get(&bucket)?.clone(), move |bucket| bucket.delete_many(&keys)).await
    }
}

/// The batch; `None` if it has too many keys, and then it is dropped before anything waits.
fn within_max<T>(batch: Vec<T>) -> Option<Vec<T>> {
    (batch.len() <= MAX_KEYS).then_some(batch)
}

impl InstanceCtx {
    /// The error for a batch of too many keys, which is charged like any batch.
    async fn too_many<T>(&mut self, work: usize) -> wasmtime::Result<Result<T, Error>> {
        self.host_fuel.charge_work(work, 0).await?;
        Ok(Err(Error::Other(format!("a batch has at most {MAX_KEYS} keys; do it in several batches"))))
    }
}
