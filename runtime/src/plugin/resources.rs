//! `plugport:plugin/resources`: reading a resource.

use std::sync::Arc;

use wasmtime::Store;

use super::errand::{Ended, Errand, Function, Job, Weight, handle, instantiate_for};
use super::exports::required;
use super::{Called, Plugin, ResourceContents, size};
use crate::host::{ClientPort, State};

struct ReadResource<'a> {
    uri: &'a str,
    port: Arc<dyn ClientPort>,
}

impl Errand for ReadResource<'_> {
    type Answer = Vec<ResourceContents>;

    fn job(&self) -> Job<'_> {
        let caller = self.port.caller();
        Job {
            function: Function::ReadResource,
            name: self.uri,
            arguments: "".into(),
            caller,
            is_admitted: false,
        }
    }

    async fn enter(self, plugin: &Plugin, store: &mut Store<State>) -> Ended<Vec<ResourceContents>> {
        let indices = required(&plugin.exports.resources, "resources")?;
        let instance = instantiate_for(plugin, store, &self.port).await?;
        let guest = indices.load(&mut *store, &instance)?;
        let call = handle(plugin, store, self.port);
        guest.call_read_resource(store, call, self.uri).await
    }

    fn weigh(contents: &Vec<ResourceContents>) -> Weight {
        Weight { bytes: contents.iter().map(size::contents).sum(), items: contents.len(), failed: false }
    }
}

impl Plugin {
    /// Reads a resource.
    pub async fn read_resource(&self, uri: &str, port: Arc<dyn ClientPort>) -> Called<Vec<ResourceContents>> {
        self.serve(ReadResource { uri, port }).await
    }
}
