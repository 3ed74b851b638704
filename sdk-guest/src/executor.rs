//! Runs an `async fn` to its end within its call.
//!
//! A component has one thread, and the host wakes nobody. So when no task can go on, the executor asks a source of
//! news, such as the requests to other hosts, which waits in the host and then wakes the tasks concerned. A source
//! registers itself when a task first waits for it: a plugin that never does imports nothing of its interface.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use crate::Error;

/// The sources, in the order in which they are asked. Nothing is requested of the client while a task waits for another
/// host: a client may take minutes, in which nobody would read what the host sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    #[cfg_attr(
        not(target_family = "wasm"),
        expect(dead_code, reason = "in tests responses are there at once")
    )]
    Http,
    ClientRequests,
}

/// Waits until there is news and wakes the tasks that wait for it; `false` if none does.
type WaitFn = fn() -> bool;

thread_local! {
    static SOURCES: RefCell<BTreeMap<Source, WaitFn>> = const { RefCell::new(BTreeMap::new()) };
}

/// Adds a source. Adding it again changes nothing.
pub(crate) fn register(source: Source, wait: WaitFn) {
    SOURCES.with_borrow_mut(|sources| sources.insert(source, wait));
}

/// Runs a future to its end.
///
/// # Errors
/// `Internal` when the future waits for something that no source has.
pub fn run<T>(future: impl Future<Output = T>) -> Result<T, Error> {
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return Ok(value);
        }
        while !woken.0.swap(false, Ordering::Relaxed) {
            if !wait() {
                return Err(Error::Internal(
                    "the function waits for something that cannot happen within its call".to_owned(),
                ));
            }
        }
    }
}

fn wait() -> bool {
    let sources: Vec<WaitFn> = SOURCES.with_borrow(|sources| sources.values().copied().collect());
    sources.into_iter().any(|wait| wait())
}

/// Whether the future was woken since it was last polled.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A place for a value that a task awaits.
pub(crate) struct Slot<T> {
    value: Cell<Option<T>>,
    waker: Cell<Option<Waker>>,
}

impl<T> Slot<T> {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new(Self { value: Cell::new(None), waker: Cell::new(None) })
    }

    /// Puts the value there and wakes the task.
    pub(crate) fn fill(&self, value: T) {
        self.value.set(Some(value));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Waits for the value. Dropping this future drops the slot, by which a source knows that nobody waits any more.
    pub(crate) async fn filled(self: Rc<Self>) -> T {
        poll_fn(|context| match self.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                self.waker.set(Some(context.waker().clone()));
                Poll::Pending
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_future_runs_to_its_end() {
        assert_eq!(run(async { 1 + async { 2 }.await }), Ok(3));
    }

    #[test]
    fn a_task_that_wakes_itself_goes_on() {
        let mut polls = 0;
        let counted = poll_fn(|context| {
            polls += 1;
            context.waker().wake_by_ref();
            if polls < 3 { Poll::Pending } else { Poll::Ready(polls) }
        });
        assert_eq!(run(counted), Ok(3));
    }

    #[test]
    fn waiting_for_nothing_is_an_error() {
        let error = run(std::future::pending::<()>()).unwrap_err();
        assert!(error.to_string().contains("cannot happen within its call"), "{error}");
    }
}
