//! `wasi:keyvalue/batch`. A batch is one transaction here: all of it happens, or nothing.

use wasmtime::component::Resource;

use super::{Bucket, COMMIT, InstanceCtx, KEY, key_error};
use crate::bindings::keyvalue::wasi::keyvalue::batch::Host;
use crate::bindings::keyvalue::wasi::keyvalue::store::Error;
use crate::sandbox::KeyValues;

/// Keys of one batch: two pages of a listing. A guest may hand over one buffer as very many keys, each of which takes
/// fifty times its text while the batch waits for its place. So many take no more beside their text than every instance
/// is counted with.
const MOST: usize = 1_000;

impl Host for InstanceCtx {
    async fn get_many(
        &mut self,
        bucket: Resource<Bucket>,
        keys: Vec<String>,
    ) -> wasmtime::Result<Result<KeyValues, Error>> {
        let size = keys.iter().map(String::len).sum::<usize>();
        let price = size + keys.len() * KEY;
        let Some(keys) = few(keys) else { return self.too_many(price).await };
        self.meter.charge_work(price, size).await?;
        if let Some(error) = key_error(&keys) {
            return Ok(Err(error));
        }
        let most = self.transfer;
        let found = self
            .run_blocking(self.table.get(&bucket)?.clone(), move |bucket| bucket.get_many(&keys, most))
            .await?;
        let sizes = found.iter().flatten().flatten().map(|(key, value)| key.len() + value.len());
        self.meter.charge(sizes.sum()).await?;
        Ok(found)
    }

    async fn set_many(
        &mut self,
        bucket: Resource<Bucket>,
        entries: Vec<(String, Vec<u8>)>,
    ) -> wasmtime::Result<Result<(), Error>> {
        let size: usize = entries.iter().map(|(key, value)| key.len() + value.len()).sum();
        let price = COMMIT + size + entries.len() * KEY;
        let Some(entries) = few(entries) else { return self.too_many(price).await };
        self.meter.charge_work(price, size).await?;
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
        let price = COMMIT + size + keys.len() * KEY;
        let Some(keys) = few(keys) else { return self.too_many(price).await };
        self.meter.charge_work(price, size).await?;
        if let Some(error) = key_error(&keys) {
            return Ok(Err(error));
        }
        self.run_blocking(self.table.get(&bucket)?.clone(), move |bucket| bucket.delete_many(&keys)).await
    }
}

/// The batch, unless it has more keys than one may have: then it is gone before anything waits.
fn few<T>(batch: Vec<T>) -> Option<Vec<T>> {
    (batch.len() <= MOST).then_some(batch)
}

impl InstanceCtx {
    /// What a guest hears of a batch of too many keys, at the price of it.
    async fn too_many<T>(&mut self, price: usize) -> wasmtime::Result<Result<T, Error>> {
        self.meter.charge_work(price, 0).await?;
        Ok(Err(Error::Other(format!("a batch has at most {MOST} keys; do it in several batches"))))
    }
}
