//! `plugport:plugin/tools`: calling a tool.

use std::borrow::Cow;
use std::sync::Arc;

use wasmtime::Store;

use super::function_tools::CallFunction;
use super::guest_call::{
    CallInfo, CallKind, GuestCall, GuestResult, ResultSize, handle, instantiate_for, required,
};
use super::{AdmittedCall, FinishedCall, Plugin, ToolResult, result_size};
use crate::call_env::Client;
use crate::capability::InstanceCtx;

struct CallTool<'a> {
    name: &'a Arc<str>,
    args: &'a str,
    is_admitted: bool,
    client: Arc<dyn Client>,
}

impl GuestCall for CallTool<'_> {
    type Output = ToolResult;

    fn info(&self) -> CallInfo<'_> {
        let caller = self.client.caller();
        CallInfo {
            kind: CallKind::CallTool,
            name: Arc::clone(self.name),
            arguments: self.arguments(),
            caller,
            roles: self.client.roles(),
            is_admitted: self.is_admitted,
            charge: self.client.charge(),
            trace: self.client.trace(),
            task: self.client.task_switch().cloned(),
        }
    }

    fn arguments(&self) -> Cow<'_, str> {
        self.args.into()
    }

    async fn invoke(self, plugin: &Plugin, store: &mut Store<InstanceCtx>) -> GuestResult<ToolResult> {
        let tools = required(&plugin.exports.tools, "tools")?;
        let instance = instantiate_for(plugin, store, &self.client).await?;
        // An instance that served a call before has the function already.
        let call_tool = match store.data().call_tool {
            Some(call_tool) => call_tool,
            None => {
                let call_tool = tools.typed_func(store, &instance)?;
                store.data_mut().call_tool = Some(call_tool);
                call_tool
            }
        };
        let call = handle(store, self.client);
        let (result,) = call_tool.call_async(store, (call, &**self.name, self.args)).await?;
        Ok(result)
    }

    fn result_size(result: &ToolResult) -> ResultSize {
        result_size::tool(result)
    }
}

impl Plugin {
    /// Calls a tool. `args` is a JSON object.
    pub async fn call_tool(
        &self,
        name: &str,
        args: &str,
        client: Arc<dyn Client>,
    ) -> FinishedCall<ToolResult> {
        self.call_validated(&name.into(), args, None, client).await
    }

    /// The same with validated arguments; `admitted` if the call was counted before their validation. The call's record
    /// shares the name.
    pub(crate) async fn call_validated(
        &self,
        name: &Arc<str>,
        args: &str,
        admitted: Option<AdmittedCall>,
        client: Arc<dyn Client>,
    ) -> FinishedCall<ToolResult> {
        let is_admitted = admitted.is_some();
        match self.exports.functions {
            Some(_) => self.call_guest(CallFunction { name, args, is_admitted, client }).await,
            None => self.call_guest(CallTool { name, args, is_admitted, client }).await,
        }
    }
}
