//! Tasks: a `tools/call` whose client is answered with an id, and fetches the result later.
//!
//! In order: the [`Promoter`] of a response stream waits for the grace of the call, or for the guest to detach, and has
//! [`Tasks`] make a [`NewTask`], whose record is then on the disk. The stream gives it the call's work and its queue,
//! and answers with the id. The `task_driver` drives the work; a [`LiveTask`] is what others see of it: its status, and the
//! client requests that it waits for. When the work has ended, [`Tasks`] writes the record with the result, and only
//! then says so. From then on the record is all there is, until its time to live is over.
//!
//! For a client that knows no tasks the id is in a plain result, which `bridged_call` words.
//!
//! `task_id` makes and checks ids, `task_counts` has the limits, `task_record` is what is stored, `found_task` what a
//! look-up finds, and `task_view` what clients see. This module knows neither response streams nor the server, which
//! own parts of it.

mod bridged_call;
mod found_task;
mod live_task;
mod new_task;
mod promoter;
mod registry;
mod task_counts;
mod task_driver;
mod task_id;
mod task_record;
mod task_view;

pub(in crate::mcp) use bridged_call::still_runs;
pub(in crate::mcp) use found_task::{CalledTool, FoundTask, TaskError};
pub(in crate::mcp) use live_task::LiveTask;
pub(in crate::mcp) use new_task::NewTask;
pub(in crate::mcp) use promoter::Promoter;
pub(in crate::mcp) use registry::{TaskSettings, Tasks};
pub(in crate::mcp) use task_counts::TaskBounds;
pub(in crate::mcp) use task_id::TaskGeneration;
pub(in crate::mcp) use task_record::TaskStatus;
pub(in crate::mcp) use task_view::{TaskNotification, TaskView};
