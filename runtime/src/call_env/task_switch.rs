//! Whether a call has become a task, for the layers that run it.
//!
//! The layer `mcp` switches a call while its guest runs, and knows neither its clock nor its permit. The layer `plugin`
//! has both, and is woken by the switch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

use futures_util::task::AtomicWaker;

/// Switched once, from call to task.
#[derive(Debug, Default)]
pub struct TaskSwitch {
    is_task: AtomicBool,
    runner: AtomicWaker,
}

impl TaskSwitch {
    /// Makes the call a task.
    pub(crate) fn switch(&self) {
        self.is_task.store(true, Ordering::Release);
        self.runner.wake();
    }

    /// Whether the call is a task.
    pub(crate) fn is_task(&self) -> bool {
        self.is_task.load(Ordering::Acquire)
    }

    /// Whether the call is a task. If it is not, `runner` is woken when it becomes one.
    pub(crate) fn watch(&self, runner: &Waker) -> bool {
        if self.is_task() {
            return true;
        }
        self.runner.register(runner);
        self.is_task()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use super::*;

    #[tokio::test]
    async fn whoever_runs_the_call_is_woken() {
        let switch = TaskSwitch::default();
        let watching =
            poll_fn(|context| if switch.watch(context.waker()) { Poll::Ready(()) } else { Poll::Pending });
        tokio::join!(watching, async { switch.switch() });
        assert!(switch.is_task());
    }
}
