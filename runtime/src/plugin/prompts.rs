//! `plugport:plugin/prompts`: filling in a prompt.

use std::sync::Arc;

use wasmtime::Store;

use super::errand::{Ended, Errand, Function, Job, Weight, handle, instantiate_for, listed};
use super::exports::required;
use super::{Called, Plugin, PromptResult, size};
use crate::host::{ClientPort, State};

struct GetPrompt<'a> {
    name: &'a str,
    args: &'a [(String, String)],
    port: Arc<dyn ClientPort>,
}

impl Errand for GetPrompt<'_> {
    type Answer = PromptResult;

    fn job(&self) -> Job<'_> {
        let caller = self.port.caller();
        Job {
            function: Function::GetPrompt,
            name: self.name,
            arguments: listed(self.args).into(),
            caller,
            is_admitted: false,
        }
    }

    async fn enter(self, plugin: &Plugin, store: &mut Store<State>) -> Ended<PromptResult> {
        let indices = required(&plugin.exports.prompts, "prompts")?;
        let instance = instantiate_for(plugin, store, &self.port).await?;
        let guest = indices.load(&mut *store, &instance)?;
        let call = handle(plugin, store, self.port);
        guest.call_get_prompt(store, call, self.name, self.args).await
    }

    fn weigh(result: &PromptResult) -> Weight {
        let messages: usize = result.messages.iter().map(|message| size::content(&message.content)).sum();
        let bytes = messages + size::text(&result.description) + size::text(&result.extra);
        Weight { bytes, items: result.messages.len(), failed: false }
    }
}

impl Plugin {
    /// Fills in a prompt.
    pub async fn get_prompt(
        &self,
        name: &str,
        args: &[(String, String)],
        port: Arc<dyn ClientPort>,
    ) -> Called<PromptResult> {
        self.serve(GetPrompt { name, args, port }).await
    }
}
