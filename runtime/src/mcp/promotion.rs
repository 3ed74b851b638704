//! What is known of a call that may become a task, for those that run it.
//!
//! The request's context has it, if the client knows tasks. The handler says what the tool allows, the guest says how
//! far it is, and the response stream, which decides, switches the call. This module knows none of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use crate::call_env::TaskSwitch;

/// The key in `_meta` for the task to which a message of 2025-11-25 belongs.
pub(crate) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// Maximum length of a status message, in bytes: a line for people.
const MAX_MESSAGE: usize = 1_024;

/// A call that may become a task.
#[derive(Debug, Default)]
pub(crate) struct Promotion {
    /// The client knows no tasks, and is told of a tool that waits for the result.
    is_bridged: bool,
    switch: Arc<TaskSwitch>,
    terms: OnceLock<TaskTerms>,
    message: Mutex<Option<String>>,
    /// The id of the task, once there is one.
    id: OnceLock<String>,
    /// How many client requests of a session have no response yet.
    waiting: AtomicUsize,
}

/// Counts a client request of a session until it is dropped.
#[derive(Debug)]
pub(crate) struct WaitingForClient<'p>(&'p Promotion);

/// What the called tool and its plugin say about tasks.
#[derive(Debug, Clone)]
pub(crate) struct TaskTerms {
    pub(crate) plugin: Arc<str>,
    pub(crate) tool: Arc<str>,
    /// Maximum number of unfinished tasks of the plugin.
    pub(crate) max_tasks: usize,
    /// How long the call may take before it becomes a task.
    pub(crate) grace: Duration,
    /// The tool's calls never become tasks.
    pub(crate) is_forbidden: bool,
    /// The name of the tool that waits for the result, if the call is bridged.
    pub(crate) result_tool: Option<Arc<str>>,
}

impl Promotion {
    /// For a call of a client that knows no tasks.
    pub(crate) fn bridged() -> Self {
        Self { is_bridged: true, ..Self::default() }
    }

    /// Whether the client knows no tasks.
    pub(crate) fn is_bridged(&self) -> bool {
        self.is_bridged
    }

    /// Whether the called tool may become a task; `false` until the tool is known.
    pub(crate) fn is_possible(&self) -> bool {
        self.terms.get().is_some_and(|terms| !terms.is_forbidden)
    }

    pub(crate) fn switch(&self) -> &Arc<TaskSwitch> {
        &self.switch
    }

    /// Makes the call a task with this id.
    pub(crate) fn begin_task(&self, id: &str) {
        if !self.is_bridged {
            self.id.get_or_init(|| id.to_owned());
        }
        self.switch.switch();
    }

    /// Whether the call is a task.
    pub(crate) fn is_task(&self) -> bool {
        self.switch.is_task()
    }

    /// The id of the task, once there is one and if its client knows what that is.
    pub(crate) fn task_id(&self) -> Option<&str> {
        self.id.get().map(String::as_str)
    }

    /// A client request of a session is sent.
    pub(crate) fn wait_for_client(&self) -> WaitingForClient<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        WaitingForClient(self)
    }

    /// Whether a client request of a session has no response yet.
    pub(crate) fn waits_for_client(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// What the tool says; `None` until the tool is known.
    pub(crate) fn terms(&self) -> Option<&TaskTerms> {
        self.terms.get()
    }

    pub(crate) fn set_terms(&self, terms: TaskTerms) {
        self.terms.get_or_init(|| terms);
    }

    /// What the guest said last about how far it is.
    pub(crate) fn message(&self) -> Option<String> {
        self.message.lock().clone()
    }

    pub(crate) fn set_message(&self, message: &str) {
        let message = message.get(..message.floor_char_boundary(MAX_MESSAGE)).unwrap_or_default();
        *self.message.lock() = Some(message.to_owned());
    }
}

impl Drop for WaitingForClient<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
