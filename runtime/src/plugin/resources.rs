//! `plugport:plugin/resources`: reading a resource.

use std::sync::Arc;

use wasmtime::Store;

use super::exports::required;
use super::guest_call::{CallInfo, CallKind, GuestCall, GuestResult, ResultSize, handle, instantiate_for};
use super::{FinishedCall, Plugin, ResourceContents, result_size};
use crate::capability::InstanceCtx;
use crate::host::Client;

struct ReadResource<'a> {
    uri: &'a str,
    client: Arc<dyn Client>,
}

impl GuestCall for ReadResource<'_> {
    type Output = Vec<ResourceContents>;

    fn info(&self) -> CallInfo<'_> {
        let caller = self.client.caller();
        CallInfo {
            kind: CallKind::ReadResource,
            name: self.uri,
            arguments: "".into(),
            caller,
            is_admitted: false,
        }
    }

    async fn invoke(
        self,
        plugin: &Plugin,
        store: &mut Store<InstanceCtx>,
    ) -> GuestResult<Vec<ResourceContents>> {
        let indices = required(&plugin.exports.resources, "resources")?;
        let instance = instantiate_for(plugin, store, &self.client).await?;
        let guest = indices.load(&mut *store, &instance)?;
        let call = handle(plugin, store, self.client);
        guest.call_read_resource(store, call, self.uri).await
    }

    fn result_size(contents: &Vec<ResourceContents>) -> ResultSize {
        ResultSize {
            bytes: contents.iter().map(result_size::contents).sum(),
            items: contents.len(),
            failed: false,
        }
    }
}

impl Plugin {
    /// Reads a resource.
    pub async fn read_resource(
        &self,
        uri: &str,
        client: Arc<dyn Client>,
    ) -> FinishedCall<Vec<ResourceContents>> {
        self.call_guest(ReadResource { uri, client }).await
    }
}
