//! What a client gets when it asks for a task: the running one, the head of a stored one, or why there is neither.

use std::sync::Arc;

use bytes::Bytes;

use super::live_task::LiveTask;
use super::task_id::TaskGeneration;
use super::task_record::RecordHead;
use super::task_view::TaskView;
use crate::mcp::error::RpcError;
use crate::sandbox::RecordId;

/// A task that a client asked for.
#[derive(Debug)]
pub(in crate::mcp) enum FoundTask {
    Live(Arc<LiveTask>),
    Ended(Box<EndedTask>),
}

/// A task that has ended. Its result may be large, and is read apart.
#[derive(Debug)]
pub(in crate::mcp) struct EndedTask {
    /// The record with the result; `None` if there is no result on the disk.
    unread: Option<RecordId>,
    view: TaskView,
}

/// The tool that a task calls.
#[derive(Debug, Clone, Copy)]
pub(in crate::mcp) struct CalledTool<'t> {
    pub(in crate::mcp) plugin: &'t str,
    /// The plugin's own name of the tool.
    pub(in crate::mcp) tool: &'t str,
    /// The name that the client called.
    pub(in crate::mcp) name: &'t str,
}

/// Why a client gets no task.
#[derive(Debug)]
pub(in crate::mcp) enum TaskError {
    /// There is none with this id, whatever the reason.
    Unknown,
    /// The database cannot be read, or plugins still load, so that it is not known whether the caller may see the task.
    Unreadable,
    /// Something of the request is missing: scopes, or memory for the result.
    Rejected(RpcError),
}

impl FoundTask {
    /// The tool that it calls.
    pub(in crate::mcp) fn called(&self) -> CalledTool<'_> {
        let RecordHead { plugin, tool, name, .. } = match self {
            Self::Live(live) => &live.head,
            Self::Ended(ended) => &ended.view.head,
        };
        CalledTool { plugin, tool, name }
    }

    /// The task now, without its result.
    pub(in crate::mcp) fn without_result(self) -> TaskView {
        match self {
            Self::Live(live) => live.view(),
            Self::Ended(ended) => ended.view,
        }
    }
}

impl EndedTask {
    pub(super) fn new(id: RecordId, text: &str, generation: TaskGeneration, mut head: RecordHead) -> Self {
        // No driver has it, so it ran when the server ended.
        let interrupted = (!head.status.is_final()).then(|| {
            head.fail(&RpcError::internal("the server restarted before the task had ended; call again"))
                .into()
        });
        let unread = (interrupted.is_none() && head.bytes > 0).then_some(id);
        let view = TaskView { id: text.to_owned(), generation, head, open: Vec::new(), outcome: interrupted };
        Self { unread, view }
    }

    /// The number of bytes of the result.
    pub(in crate::mcp) fn size(&self) -> usize {
        self.view.head.bytes
    }

    /// The record with the result; `None` if nothing has to be read.
    pub(super) fn unread(&self) -> Option<RecordId> {
        self.unread
    }

    /// The task with the result that was read.
    pub(super) fn into_view(self, read: Option<Bytes>) -> TaskView {
        let outcome = read.or(self.view.outcome);
        TaskView { outcome, ..self.view }
    }
}

impl From<TaskError> for RpcError {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Unknown => {
                Self::invalid_params("there is no task with this `taskId`; it may have expired")
            }
            TaskError::Unreadable => Self::internal("the task cannot be read now; try again"),
            TaskError::Rejected(error) => error,
        }
    }
}
