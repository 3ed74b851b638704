//! `plugport:plugin/prompts`: filling in a prompt.

use std::borrow::Cow;
use std::sync::Arc;

use wasmtime::Store;

use super::guest_call::{
    CallInfo, CallKind, GuestCall, GuestResult, ResultSize, arguments_json, handle, instantiate_for, required,
};
use super::{FinishedCall, Plugin, PromptResult, result_size};
use crate::call_env::Client;
use crate::capability::InstanceCtx;

struct GetPrompt<'a> {
    name: &'a str,
    args: &'a [(String, String)],
    client: Arc<dyn Client>,
}

impl GuestCall for GetPrompt<'_> {
    type Output = PromptResult;

    fn info(&self) -> CallInfo<'_> {
        let caller = self.client.caller();
        CallInfo {
            kind: CallKind::GetPrompt,
            name: self.name.into(),
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
        arguments_json(self.args).into()
    }

    async fn invoke(self, plugin: &Plugin, store: &mut Store<InstanceCtx>) -> GuestResult<PromptResult> {
        let prompts = required(&plugin.exports.prompts, "prompts")?;
        let instance = instantiate_for(plugin, store, &self.client).await?;
        let get_prompt = prompts.typed_func::<_, (Result<_, _>,)>(store, &instance)?;
        let call = handle(store, self.client);
        let (result,) = get_prompt.call_async(store, (call, self.name, self.args)).await?;
        Ok(result)
    }

    fn result_size(result: &PromptResult) -> ResultSize {
        let messages: usize =
            result.messages.iter().map(|message| result_size::content(&message.content)).sum();
        let bytes = messages + result_size::text(&result.description) + result_size::text(&result.extra);
        ResultSize { bytes, items: result.messages.len(), failed: false }
    }
}

impl Plugin {
    /// Fills in a prompt.
    pub async fn get_prompt(
        &self,
        name: &str,
        args: &[(String, String)],
        client: Arc<dyn Client>,
    ) -> FinishedCall<PromptResult> {
        self.call_guest(GetPrompt { name, args, client }).await
    }
}
