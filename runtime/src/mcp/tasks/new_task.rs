//! A task whose record is written, and whose id no client knows yet.
//!
//! Meanwhile the call goes on, and may end: then it is answered plainly. Dropping a [`NewTask`] takes its record back.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::value::RawValue;
use tokio::runtime::Handle;

use super::bridged_call::still_runs;
use super::live_task::LiveTask;
use super::registry::Tasks;
use super::task_counts::TaskOwner;
use super::task_driver::TaskDriver;
use super::task_id::TaskGeneration;
use super::task_record::{RecordHead, TaskStatus, millis};
use crate::call_env::Caller;
use crate::mcp::call_task::CallTask;
use crate::mcp::error::RpcError;
use crate::mcp::notification_queue::NotificationReceiver;
use crate::mcp::request_context::RequestContext;
use crate::mcp::result_writer::EncodedResult;
use crate::mcp::task_promotion::Promotion;
use crate::sandbox::RecordId;
use crate::token_bucket::CallerKey as _;

/// A task that has not begun.
pub(in crate::mcp) struct NewTask {
    tasks: Arc<Tasks>,
    owner: TaskOwner,
    /// The record, once it is on the disk.
    id: Option<RecordId>,
    live: Option<Arc<LiveTask>>,
    has_begun: bool,
}

impl NewTask {
    /// Makes the record of a task for this call. `None` where there is no room, no disk or no randomness; then the call
    /// stays a plain call.
    pub(super) async fn make(tasks: Arc<Tasks>, context: Arc<RequestContext>) -> Option<Self> {
        let promotion = context.promotion.as_ref()?;
        let (terms, is_bridged) = (promotion.terms()?, promotion.is_bridged());
        let owner = TaskOwner { caller: counted_as(&context.caller), plugin: Arc::clone(&terms.plugin) };
        let name = context.request.params.name().ok()?.into_owned();
        if !tasks.admit(&owner, terms.max_tasks) {
            return None;
        }
        let now = millis(SystemTime::now());
        let head = RecordHead {
            status: TaskStatus::Working,
            message: None,
            created: now,
            updated: now,
            ttl_ms: u64::try_from(tasks.settings.ttl.as_millis()).unwrap_or(u64::MAX),
            caller: owner.caller.to_string(),
            plugin: owner.plugin.to_string(),
            tool: terms.tool.to_string(),
            name,
            bytes: 0,
        };
        // From here on dropping it takes everything back.
        let mut new = Self { tasks, owner, id: None, live: None, has_begun: false };
        let generation = TaskGeneration::of(context.revision, is_bridged);
        let (id, text) = new.tasks.new_id(generation, &context.caller).await?;
        new.tasks.write(id, &head, None).await.ok()?;
        new.id = Some(id);
        let live = LiveTask::new((id, text, generation), new.owner.clone(), head, context);
        new.live = Some(Arc::new(live));
        Some(new)
    }

    /// Begins the task with the work of the call and its queue. Returns the result that names it.
    ///
    /// # Errors
    /// As [`EncodedResult::new`].
    pub(in crate::mcp) fn begin(
        mut self,
        task: CallTask,
        queue: NotificationReceiver,
        server: &RawValue,
    ) -> Result<EncodedResult, RpcError> {
        let Some(live) = self.live.take() else { return Err(RpcError::internal("the task has no record")) };
        let promotion = live.context.promotion.as_ref();
        let terms = promotion.and_then(Promotion::terms);
        let result = match terms.and_then(|terms| terms.result_tool.as_deref()) {
            Some(result_tool) => still_runs(&live, result_tool, server)?,
            None => live.view().created(server)?,
        };
        if let Some(promotion) = promotion {
            promotion.begin_task(&live.text);
        }
        self.tasks.insert(&live);
        self.has_begun = true;
        let driver = TaskDriver::new(Arc::clone(&self.tasks), live, task, queue);
        self.tasks.settings.tracker.spawn(driver.run());
        Ok(result)
    }
}

impl Drop for NewTask {
    fn drop(&mut self) {
        if !self.has_begun {
            let (tasks, owner, id) = (Arc::clone(&self.tasks), self.owner.clone(), self.id);
            // Without a runtime the server has ended, and the record expires by itself.
            if let Ok(runtime) = Handle::try_current() {
                let tracker = self.tasks.settings.tracker.clone();
                tracker.spawn_on(async move { tasks.removed(&owner, id, 0).await }, &runtime);
            }
        }
    }
}

/// For whom tasks of this caller count.
fn counted_as(caller: &Caller) -> Arc<str> {
    match caller.principal_id() {
        Some(id) => Arc::clone(id),
        None => caller.key().to_string().into(),
    }
}
