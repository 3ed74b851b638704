//! `wasi:keyvalue/batch`. A batch is one transaction here: all of it happens, or nothing.

use wasmtime::component::Resource;

use super::{Bucket, COMMIT, KEY, State, unfit};
use crate::bindings::keyvalue::wasi::keyvalue::batch::Host;
use crate::bindings::keyvalue::wasi::keyvalue::store::Error;
use crate::sandbox::Found;

impl Host for State {
    async fn get_many(
        &mut self,
        bucket: Resource<Bucket>,
        keys: Vec<String>,
    ) -> wasmtime::Result<Result<Found, Error>> {
        let size = keys.iter().map(String::len).sum::<usize>();
        self.meter.charge_work(size + keys.len() * KEY, size).await?;
        if let Some(error) = unfit(&keys) {
            return Ok(Err(error));
        }
        let most = self.transfer;
        let found =
            self.on(self.table.get(&bucket)?.clone(), move |bucket| bucket.get_many(&keys, most)).await?;
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
        self.meter.charge_work(COMMIT + size + entries.len() * KEY, size).await?;
        if let Some(error) = unfit(entries.iter().map(|(key, _)| key)) {
            return Ok(Err(error));
        }
        self.on(self.table.get(&bucket)?.clone(), move |bucket| bucket.set_many(&entries)).await
    }

    async fn delete_many(
        &mut self,
        bucket: Resource<Bucket>,
        keys: Vec<String>,
    ) -> wasmtime::Result<Result<(), Error>> {
        let size: usize = keys.iter().map(String::len).sum();
        self.meter.charge_work(COMMIT + size + keys.len() * KEY, size).await?;
        if let Some(error) = unfit(&keys) {
            return Ok(Err(error));
        }
        self.on(self.table.get(&bucket)?.clone(), move |bucket| bucket.delete_many(&keys)).await
    }
}
