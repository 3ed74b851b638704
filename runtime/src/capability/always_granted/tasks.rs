//! `plugport:plugin/tasks`: a guest says that its client need not wait for the call any longer.
//!
//! A client that knows no tasks waits all the same, so a guest needs no permission for this.

use std::sync::Arc;

use wasmtime::component::Resource;

use crate::bindings::tasks::plugport::plugin::tasks::Host;
use crate::capability::{Call, InstanceCtx, guest_log};
use crate::config::fixed_limits::LOG_LINE_BYTES;

impl Host for InstanceCtx {
    async fn detach(&mut self, call: Resource<Call>, status: Option<String>) -> wasmtime::Result<bool> {
        self.host_fuel.charge(status.as_ref().map_or(0, String::len)).await?;
        let client = Arc::clone(&self.current_call.get(&call)?.client);
        let logs = guest_log(&self.logs, &self.plugin);
        let status = status.as_deref().map(|text| logs.shown(text, LOG_LINE_BYTES).into_owned());
        Ok(client.detach(status.as_deref()).await)
    }
}
