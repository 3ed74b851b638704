//! Decides when the call of a response stream becomes a task: after the grace of its tool, or when its guest detaches.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::new_task::NewTask;
use super::registry::Tasks;
use crate::mcp::request_context::RequestContext;
use crate::mcp::task_promotion::Promotion;

/// How long to wait before looking again: which tool is called, or whether the client has answered.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Makes a task of one call, at most once. `None`: the call never becomes a task; so it is for most.
pub(in crate::mcp) struct Promoter(Option<Box<PromotableCall>>);

/// A call that may become a task.
struct PromotableCall {
    tasks: Arc<Tasks>,
    context: Arc<RequestContext>,
    begun: Instant,
    making: Option<JoinHandle<Option<NewTask>>>,
    /// Made, and when, and kept while the client answers what the call has asked.
    made: Option<(NewTask, Instant)>,
    /// Those who asked for a task.
    waiting: Vec<oneshot::Sender<bool>>,
    /// There was no room for a task, so the call stays a plain call.
    has_failed: bool,
}

impl PromotableCall {
    fn promotion(&self) -> Option<&Promotion> {
        let promotion = self.context.promotion.as_ref().filter(|_| !self.has_failed)?;
        // A later message of the client may declare less than the first.
        let is_declared = || self.context.leg().knows_tasks(self.context.revision);
        if !promotion.is_bridged() && !is_declared() {
            return None;
        }
        let is_forbidden = promotion.terms().is_some_and(|terms| terms.is_forbidden);
        (!is_forbidden).then_some(promotion)
    }

    /// Waits until the grace is over; for ever if the call cannot become a task.
    async fn grace(&self) {
        loop {
            let Some(promotion) = self.promotion() else { return std::future::pending().await };
            if let Some(terms) = promotion.terms() {
                tokio::time::sleep_until(self.begun + terms.grace).await;
                if !self.waits_for_client() {
                    return;
                }
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Whether the call's own stream has asked the client something. Once the call is a task, the call that waits for
    /// its result would ask it once more.
    fn waits_for_client(&self) -> bool {
        self.promotion().is_some_and(|promotion| promotion.is_bridged() && promotion.waits_for_client())
    }

    /// Begins to make the task, unless that has begun.
    fn make(&mut self) -> &mut JoinHandle<Option<NewTask>> {
        let Self { tasks, context, making, .. } = self;
        making.get_or_insert_with(|| tokio::spawn(NewTask::make(Arc::clone(tasks), Arc::clone(context))))
    }
}

impl Promoter {
    /// For a request that begins now, or another leg of a suspended one.
    pub(in crate::mcp) fn new(tasks: &Arc<Tasks>, context: &Arc<RequestContext>) -> Self {
        let call = context.promotion.as_ref().map(|_| PromotableCall {
            tasks: Arc::clone(tasks),
            context: Arc::clone(context),
            begun: Instant::now(),
            making: None,
            made: None,
            waiting: Vec::new(),
            has_failed: false,
        });
        Self(call.map(Box::new))
    }

    /// For what is no call.
    pub(in crate::mcp) fn never() -> Self {
        Self(None)
    }

    /// Makes the call a task now, and answers whether it has become one.
    pub(in crate::mcp) fn detach(&mut self, answer: oneshot::Sender<bool>) {
        match self.0.as_mut().filter(|call| call.promotion().is_some()) {
            Some(call) => {
                if call.made.is_none() {
                    call.make();
                }
                call.waiting.push(answer);
            }
            // An error means that the guest does not wait any more.
            None => drop(answer.send(false)),
        }
    }

    /// Waits until the call becomes a task; for ever if it does not. Cancel-safe.
    pub(in crate::mcp) async fn promoted(&mut self) -> NewTask {
        let Some(call) = &mut self.0 else { return std::future::pending().await };
        loop {
            if call.made.is_some() {
                // The guest may have asked while the record was written.
                while call.waits_for_client() {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                // Its time to live runs since it was made, and a client that answers late needs some of it.
                let half = call.tasks.settings.ttl / 2;
                if let Some((made, _)) = call.made.take().filter(|(_, since)| since.elapsed() < half) {
                    return made;
                }
            }
            if call.making.is_none() {
                call.grace().await;
            }
            let made = call.make().await;
            call.making = None;
            call.made = made.ok().flatten().map(|made| (made, Instant::now()));
            if call.made.is_none() {
                call.has_failed = true;
                answer(&mut call.waiting, false);
            }
        }
    }

    /// Tells those who asked that the call is a task now.
    pub(in crate::mcp) fn has_begun(&mut self) {
        if let Some(call) = &mut self.0 {
            answer(&mut call.waiting, true);
        }
    }
}

fn answer(waiting: &mut Vec<oneshot::Sender<bool>>, is_task: bool) {
    for waiting in waiting.drain(..) {
        // An error means that the guest does not wait any more.
        let _ = waiting.send(is_task);
    }
}
