//! `plugport:plugin/completions`: suggesting values of an argument.

use std::borrow::Cow;
use std::sync::Arc;

use wasmtime::Store;

use super::guest_call::{
    CallInfo, CallKind, GuestCall, GuestResult, ResultSize, handle, instantiate_for, required,
};
use super::{Completion, CompletionTarget, FinishedCall, Plugin};
use crate::call_env::Client;
use crate::capability::InstanceCtx;

/// The most values that MCP lets a server suggest.
const MAX_VALUES: usize = 100;

/// An argument that someone is typing.
#[derive(Debug)]
pub struct PartialArgument<'a> {
    /// The prompt or resource template that it belongs to, by the plugin's own name.
    pub target: &'a CompletionTarget,
    /// The argument's name.
    pub argument: &'a str,
    /// What has been typed so far.
    pub value: &'a str,
    /// The other arguments, as far as they are known.
    pub context: &'a [(String, String)],
}

struct Complete<'a> {
    partial: PartialArgument<'a>,
    client: Arc<dyn Client>,
}

impl GuestCall for Complete<'_> {
    type Output = Completion;

    fn info(&self) -> CallInfo<'_> {
        let caller = self.client.caller();
        CallInfo {
            kind: CallKind::Complete,
            name: self.partial.argument.into(),
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
        self.partial.value.into()
    }

    async fn invoke(self, plugin: &Plugin, store: &mut Store<InstanceCtx>) -> GuestResult<Completion> {
        let completions = required(&plugin.exports.completions, "completions")?;
        let instance = instantiate_for(plugin, store, &self.client).await?;
        let complete = completions.typed_func::<_, (Result<Completion, _>,)>(store, &instance)?;
        let call = handle(store, self.client);
        let PartialArgument { target, argument, value, context } = self.partial;
        let (completion,) = complete.call_async(store, (call, target, argument, value, context)).await?;
        Ok(completion.map(bounded))
    }

    fn result_size(completion: &Completion) -> ResultSize {
        let bytes = completion.values.iter().map(String::len).sum();
        ResultSize { bytes, items: completion.values.len(), failed: false }
    }
}

impl Plugin {
    /// Whether it suggests values at all.
    #[must_use]
    pub fn completes(&self) -> bool {
        self.exports.completions.is_some()
    }

    /// Gets suggested values, at most as many as MCP allows.
    pub async fn complete(
        &self,
        partial: PartialArgument<'_>,
        client: Arc<dyn Client>,
    ) -> FinishedCall<Completion> {
        self.call_guest(Complete { partial, client }).await
    }
}

/// Cuts the values to as many as MCP allows. `total` and `has_more` then say that there are more.
fn bounded(mut completion: Completion) -> Completion {
    if completion.values.len() > MAX_VALUES {
        let all = u32::try_from(completion.values.len()).unwrap_or(u32::MAX);
        completion.total = Some(completion.total.unwrap_or_default().max(all));
        completion.values.truncate(MAX_VALUES);
        completion.has_more = true;
    }
    completion
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_values_than_mcp_allows_are_cut_and_said_to_exist() {
        let completion = |count: usize| Completion {
            values: (0..count).map(|n| n.to_string()).collect(),
            total: None,
            has_more: false,
        };
        let few = bounded(completion(100));
        assert_eq!((few.values.len(), few.total, few.has_more), (100, None, false));
        let many = bounded(completion(101));
        assert_eq!((many.values.len(), many.total, many.has_more), (100, Some(101), true));
    }
}
