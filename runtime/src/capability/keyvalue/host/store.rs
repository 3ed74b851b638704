//! `wasi:keyvalue/store`.

use wasmtime::component::Resource;

use super::{Bucket, COMMIT_CHARGE, InstanceCtx, KEY_CHARGE, key_error};
use crate::bindings::keyvalue::wasi::keyvalue::store::{Error, Host, HostBucket, KeyResponse};
use crate::call_env::GrantHint;
use crate::capability::keyvalue::KvAccess;

/// The names under which a plugin finds its bucket.
const NAMES: [&str; 2] = ["", "default"];

/// The line that gives a store also to callers without credentials.
fn shared(quota_mib: u64) -> String {
    format!("kv = {{ quota_mib = {quota_mib}, per = \"plugin\" }}   # one store for all callers")
}

impl Host for InstanceCtx {
    async fn open(&mut self, identifier: String) -> wasmtime::Result<Result<Resource<Bucket>, Error>> {
        self.host_fuel.charge(identifier.len()).await?;
        let bucket = match self.capabilities.keyvalue.clone() {
            KvAccess::Bucket(bucket) => bucket,
            KvAccess::NotGranted => {
                self.deny("the key-value store", GrantHint::new("kv = true", ["kv".to_owned()]));
                return Ok(Err(Error::AccessDenied));
            }
            KvAccess::UnknownCaller => {
                let quota_mib = self.plugin.config.grants.keyvalue.map_or(0, |grant| grant.quota_mib);
                self.deny("the key-value store of a caller without credentials", shared(quota_mib));
                return Ok(Err(Error::AccessDenied));
            }
        };
        if !NAMES.contains(&identifier.as_str()) {
            return Ok(Err(Error::NoSuchStore));
        }
        Ok(Ok(self.table.push(Bucket(bucket))?))
    }
}

impl HostBucket for InstanceCtx {
    async fn get(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
    ) -> wasmtime::Result<Result<Option<Vec<u8>>, Error>> {
        self.host_fuel.charge(KEY_CHARGE + key.len()).await?;
        if let Some(error) = key_error([&key]) {
            return Ok(Err(error));
        }
        let value =
            self.run_blocking(self.table.get(&bucket)?.clone(), move |bucket| bucket.get(&key)).await?;
        let size = value.as_ref().ok().and_then(Option::as_ref).map_or(0, Vec::len);
        self.host_fuel.charge(size).await?;
        Ok(value)
    }

    async fn set(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
        value: Vec<u8>,
    ) -> wasmtime::Result<Result<(), Error>> {
        self.host_fuel.charge_work(COMMIT_CHARGE + key.len() + value.len(), key.len() + value.len()).await?;
        if let Some(error) = key_error([&key]) {
            return Ok(Err(error));
        }
        self.run_blocking(self.table.get(&bucket)?.clone(), move |bucket| bucket.set_many(&[(key, value)]))
            .await
    }

    async fn delete(&mut self, bucket: Resource<Bucket>, key: String) -> wasmtime::Result<Result<(), Error>> {
        self.host_fuel.charge_work(COMMIT_CHARGE + key.len(), key.len()).await?;
        if let Some(error) = key_error([&key]) {
            return Ok(Err(error));
        }
        self.run_blocking(self.table.get(&bucket)?.clone(), move |bucket| bucket.delete_many(&[key])).await
    }

    async fn exists(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
    ) -> wasmtime::Result<Result<bool, Error>> {
        self.host_fuel.charge(KEY_CHARGE + key.len()).await?;
        if let Some(error) = key_error([&key]) {
            return Ok(Err(error));
        }
        self.run_blocking(self.table.get(&bucket)?.clone(), move |bucket| Ok(bucket.get(&key)?.is_some()))
            .await
    }

    async fn list_keys(
        &mut self,
        bucket: Resource<Bucket>,
        cursor: Option<String>,
    ) -> wasmtime::Result<Result<KeyResponse, Error>> {
        self.host_fuel.charge(cursor.as_ref().map_or(0, String::len)).await?;
        if let Some(error) = key_error(&cursor) {
            return Ok(Err(error));
        }
        let listed = self
            .run_blocking(self.table.get(&bucket)?.clone(), move |bucket| bucket.keys(cursor.as_deref()))
            .await?;
        let size = listed.as_ref().map_or(0, |(keys, _)| keys.iter().map(String::len).sum());
        self.host_fuel.charge(size).await?;
        Ok(listed.map(|(keys, cursor)| KeyResponse { keys, cursor }))
    }

    async fn drop(&mut self, bucket: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}
