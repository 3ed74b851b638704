//! `wasi:keyvalue/atomics`.

use wasmtime::component::Resource;

use super::{Bucket, COMMIT, State, blocking};
use crate::bindings::keyvalue::wasi::keyvalue::atomics::{CasError, Host, HostCas};
use crate::bindings::keyvalue::wasi::keyvalue::store::Error;

/// A key and the value that it had, to be replaced if nobody else was quicker.
#[derive(Debug)]
pub struct Cas {
    bucket: Bucket,
    key: String,
    current: Option<Vec<u8>>,
}

impl Host for State {
    async fn increment(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
        delta: i64,
    ) -> wasmtime::Result<Result<i64, Error>> {
        self.meter.charge(COMMIT + key.len()).await?;
        blocking(self.table.get(&bucket)?, move |bucket| bucket.increment(&key, delta)).await
    }

    async fn swap(&mut self, cas: Resource<Cas>, value: Vec<u8>) -> wasmtime::Result<Result<(), CasError>> {
        let Cas { bucket, key, current } = self.table.delete(cas)?;
        self.meter.charge(COMMIT + key.len() + value.len()).await?;
        let name = key.clone();
        let swapped = blocking(&bucket, move |bucket| bucket.swap(&name, current.as_deref(), &value)).await?;
        Ok(match swapped {
            Ok(Ok(())) => Ok(()),
            Ok(Err(current)) => {
                let again = self.table.push(Cas { bucket, key, current })?;
                Err(CasError::CasFailed(again))
            }
            Err(error) => Err(CasError::StoreError(error)),
        })
    }
}

impl HostCas for State {
    async fn new(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
    ) -> wasmtime::Result<Result<Resource<Cas>, Error>> {
        self.meter.charge(key.len()).await?;
        let bucket = self.table.get(&bucket)?.clone();
        let name = key.clone();
        match blocking(&bucket, move |bucket| bucket.get(&name)).await? {
            Ok(current) => Ok(Ok(self.table.push(Cas { bucket, key, current })?)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn current(&mut self, cas: Resource<Cas>) -> wasmtime::Result<Result<Option<Vec<u8>>, Error>> {
        let current = self.table.get(&cas)?.current.clone();
        self.meter.charge(current.as_ref().map_or(0, Vec::len)).await?;
        Ok(Ok(current))
    }

    async fn drop(&mut self, cas: Resource<Cas>) -> wasmtime::Result<()> {
        self.table.delete(cas)?;
        Ok(())
    }
}
