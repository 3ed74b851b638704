//! `plugport:plugin/tools`: calling a tool.

use std::sync::Arc;

use wasmtime::Store;

use super::errand::{Ended, Errand, Function, Job, Weight, handle, instantiate_for};
use super::exports::required;
use super::plain::CallFunction;
use super::{Admitted, Called, Plugin, ToolResult, size};
use crate::host::{ClientPort, State};

struct CallTool<'a> {
    name: &'a str,
    args: &'a str,
    is_admitted: bool,
    port: Arc<dyn ClientPort>,
}

impl Errand for CallTool<'_> {
    type Answer = ToolResult;

    fn job(&self) -> Job<'_> {
        let caller = self.port.caller();
        Job {
            function: Function::CallTool,
            name: self.name,
            arguments: self.args.into(),
            caller,
            is_admitted: self.is_admitted,
        }
    }

    async fn enter(self, plugin: &Plugin, store: &mut Store<State>) -> Ended<ToolResult> {
        let indices = required(&plugin.exports.tools, "tools")?;
        let instance = instantiate_for(plugin, store, &self.port).await?;
        let guest = indices.load(&mut *store, &instance)?;
        let call = handle(plugin, store, self.port);
        guest.call_call_tool(store, call, self.name, self.args).await
    }

    fn weigh(result: &ToolResult) -> Weight {
        weigh(result)
    }
}

/// What the limits on results count, however the tool was called.
pub(super) fn weigh(result: &ToolResult) -> Weight {
    let content: usize = result.content.iter().map(size::content).sum();
    let bytes = content + size::text(&result.structured) + size::text(&result.extra);
    Weight { bytes, items: result.content.len(), failed: result.is_error }
}

impl Plugin {
    /// Calls a tool. `args` is a JSON object.
    pub async fn call_tool(&self, name: &str, args: &str, port: Arc<dyn ClientPort>) -> Called<ToolResult> {
        self.call_checked(name, args, None, port).await
    }

    /// The same with arguments that were checked, which may have counted the call already.
    pub(crate) async fn call_checked(
        &self,
        name: &str,
        args: &str,
        admitted: Option<Admitted>,
        port: Arc<dyn ClientPort>,
    ) -> Called<ToolResult> {
        let is_admitted = admitted.is_some();
        match self.exports.plain {
            Some(_) => self.serve(CallFunction { name, args, is_admitted, port }).await,
            None => self.serve(CallTool { name, args, is_admitted, port }).await,
        }
    }
}
