//! `plugport:plugin/resources`: reading a resource.

use std::borrow::Cow;
use std::sync::Arc;

use wasmtime::Store;

use super::guest_call::{
    CallInfo, CallKind, GuestCall, GuestResult, ResultSize, handle, instantiate_for, required,
};
use super::{FinishedCall, MatchedTemplate, Plugin, ResourceContents, result_size};
use crate::call_env::Client;
use crate::capability::InstanceCtx;

struct ReadResource<'a> {
    uri: &'a str,
    template: Option<&'a MatchedTemplate>,
    client: Arc<dyn Client>,
}

impl GuestCall for ReadResource<'_> {
    type Output = Vec<ResourceContents>;

    fn info(&self) -> CallInfo<'_> {
        let caller = self.client.caller();
        CallInfo {
            kind: CallKind::ReadResource,
            name: self.uri.into(),
            arguments: self.arguments(),
            caller,
            roles: self.client.roles(),
            is_admitted: false,
            charge: self.client.charge(),
            trace: self.client.trace(),
            task: None,
        }
    }

    fn arguments(&self) -> Cow<'_, str> {
        "".into()
    }

    async fn invoke(
        self,
        plugin: &Plugin,
        store: &mut Store<InstanceCtx>,
    ) -> GuestResult<Vec<ResourceContents>> {
        let resources = required(&plugin.exports.resources, "resources")?;
        let instance = instantiate_for(plugin, store, &self.client).await?;
        let read_resource = resources.typed_func::<_, (Result<_, _>,)>(store, &instance)?;
        let call = handle(store, self.client);
        let (contents,) = read_resource.call_async(store, (call, self.uri, self.template)).await?;
        Ok(contents)
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
    /// Reads a resource. `template` is the plugin's template that matches the URI.
    pub async fn read_resource(
        &self,
        uri: &str,
        template: Option<&MatchedTemplate>,
        client: Arc<dyn Client>,
    ) -> FinishedCall<Vec<ResourceContents>> {
        self.call_guest(ReadResource { uri, template, client }).await
    }
}
