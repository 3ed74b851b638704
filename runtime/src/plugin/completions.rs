//! `plugport:plugin/completions`: what could stand in an argument.

use std::sync::Arc;

use wasmtime::Store;

use super::errand::{Ended, Errand, Function, Job, Weight, handle, instantiate_for};
use super::exports::required;
use super::{Called, Completion, CompletionTarget, Plugin};
use crate::host::{ClientPort, State};

/// The most values that MCP lets a server suggest.
const MOST_VALUES: usize = 100;

/// An argument that someone is typing.
#[derive(Debug)]
pub struct Unfinished<'a> {
    /// The prompt or resource template that it belongs to, by the plugin's own name.
    pub target: &'a CompletionTarget,
    /// The argument's name.
    pub argument: &'a str,
    /// What has been typed so far.
    pub value: &'a str,
    /// Arguments that are already settled.
    pub known: &'a [(String, String)],
}

struct Complete<'a> {
    unfinished: Unfinished<'a>,
    port: Arc<dyn ClientPort>,
}

impl Errand for Complete<'_> {
    type Answer = Completion;

    fn job(&self) -> Job<'_> {
        let caller = self.port.caller();
        Job {
            function: Function::Complete,
            name: self.unfinished.argument,
            arguments: self.unfinished.value.into(),
            caller,
            is_admitted: false,
        }
    }

    async fn enter(self, plugin: &Plugin, store: &mut Store<State>) -> Ended<Completion> {
        let indices = required(&plugin.exports.completions, "completions")?;
        let instance = instantiate_for(plugin, store, &self.port).await?;
        let guest = indices.load(&mut *store, &instance)?;
        let call = handle(plugin, store, self.port);
        let Unfinished { target, argument, value, known } = self.unfinished;
        let answer = guest.call_complete(store, call, target, argument, value, known).await?;
        Ok(answer.map(bounded))
    }

    fn weigh(completion: &Completion) -> Weight {
        let bytes = completion.values.iter().map(String::len).sum();
        Weight { bytes, items: completion.values.len(), failed: false }
    }
}

impl Plugin {
    /// Whether it suggests values at all.
    #[must_use]
    pub fn completes(&self) -> bool {
        self.exports.completions.is_some()
    }

    /// Asks for values. At most as many as MCP allows come back.
    pub async fn complete(
        &self,
        unfinished: Unfinished<'_>,
        port: Arc<dyn ClientPort>,
    ) -> Called<Completion> {
        self.serve(Complete { unfinished, port }).await
    }
}

/// As many values as MCP allows. What is cut off is said to exist.
fn bounded(mut completion: Completion) -> Completion {
    if completion.values.len() > MOST_VALUES {
        let all = u32::try_from(completion.values.len()).unwrap_or(u32::MAX);
        completion.total = Some(completion.total.unwrap_or_default().max(all));
        completion.values.truncate(MOST_VALUES);
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
