//! `wasi:keyvalue/atomics`.

use wasmtime::component::Resource;

use super::{Bucket, COMMIT_CHARGE, InstanceCtx, KEY_CHARGE, key_error};
use crate::bindings::keyvalue::wasi::keyvalue::atomics::{CasError, Host, HostCas};
use crate::bindings::keyvalue::wasi::keyvalue::store::Error;
use crate::sandbox::ValueVersion;

/// A key and the version of its value, for a compare-and-swap. The value itself is not kept: a guest may have a
/// thousand of these.
#[derive(Debug)]
pub struct Cas {
    bucket: Bucket,
    key: String,
    version: ValueVersion,
}

impl Cas {
    /// The guest's text that it holds, bytes.
    pub(in crate::capability) fn size(&self) -> usize {
        self.key.len()
    }
}

impl Host for InstanceCtx {
    async fn increment(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
        delta: i64,
    ) -> wasmtime::Result<Result<i64, Error>> {
        self.host_fuel.charge_work(COMMIT_CHARGE + key.len(), key.len()).await?;
        if let Some(error) = key_error([&key]) {
            return Ok(Err(error));
        }
        self.run_blocking(self.table.get(&bucket)?.clone(), move |bucket| bucket.increment(&key, delta)).await
    }

    async fn swap(&mut self, cas: Resource<Cas>, value: Vec<u8>) -> wasmtime::Result<Result<(), CasError>> {
        let Cas { bucket, key, version } = self.table.delete(cas)?;
        self.host_fuel.charge_work(COMMIT_CHARGE + key.len() + value.len(), key.len() + value.len()).await?;
        let name = key.clone();
        let swapped =
            self.run_blocking(bucket.clone(), move |bucket| bucket.swap(&name, version, &value)).await?;
        Ok(match swapped {
            Ok(Ok(())) => Ok(()),
            Ok(Err(version)) => {
                let again = self.table.push(Cas { bucket, key, version })?;
                Err(CasError::CasFailed(again))
            }
            Err(error) => Err(CasError::StoreError(error)),
        })
    }
}

impl HostCas for InstanceCtx {
    async fn new(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
    ) -> wasmtime::Result<Result<Resource<Cas>, Error>> {
        self.host_fuel.charge(KEY_CHARGE + key.len()).await?;
        if let Some(error) = key_error([&key]) {
            return Ok(Err(error));
        }
        self.reserve_handle_memory(key.len())?;
        let bucket = self.table.get(&bucket)?.clone();
        let name = key.clone();
        match self.run_blocking(bucket.clone(), move |bucket| bucket.version(&name)).await? {
            Ok(version) => Ok(Ok(self.table.push(Cas { bucket, key, version })?)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn current(&mut self, cas: Resource<Cas>) -> wasmtime::Result<Result<Option<Vec<u8>>, Error>> {
        let Cas { bucket, key, .. } = self.table.get(&cas)?;
        let (bucket, key) = (bucket.clone(), key.clone());
        self.host_fuel.charge(KEY_CHARGE + key.len()).await?;
        let current = match self.run_blocking(bucket.clone(), move |bucket| bucket.get(&key)).await? {
            Ok(current) => current,
            Err(error) => return Ok(Err(error)),
        };
        self.host_fuel.charge(current.as_ref().map_or(0, Vec::len)).await?;
        // A swap compares with the value that the guest sees now.
        self.table.get_mut(&cas)?.version = ValueVersion::of(current.as_deref());
        Ok(Ok(current))
    }

    async fn drop(&mut self, cas: Resource<Cas>) -> wasmtime::Result<()> {
        self.table.delete(cas)?;
        Ok(())
    }
}
