//! The timer with which hyper bounds how long a client may take to send the header of a request; one for each
//! connection.
//!
//! hyper creates a timer when it starts to wait for a header, and drops it when the header has come: one timer for each
//! request. Registering and deregistering a timer with tokio takes a lock twice and often wakes another thread. So a
//! connection keeps one `Sleep`, which stays registered. If it elapses although the current deadline is later, because
//! a later header is awaited by now, it is reset; that happens at most once in ten seconds.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use parking_lot::Mutex;

/// The timer of one connection. hyper uses only one deadline at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct HeaderReadTimer(Arc<Mutex<SharedSleep>>);

/// Created when the first deadline is polled.
type SharedSleep = Option<Pin<Box<tokio::time::Sleep>>>;

/// Waits until a deadline.
struct HeaderDeadline {
    deadline: tokio::time::Instant,
    sleep: Arc<Mutex<SharedSleep>>,
}

impl Timer for HeaderReadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(HeaderDeadline { deadline: deadline.into(), sleep: Arc::clone(&self.0) })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

impl Sleep for HeaderDeadline {}

impl Future for HeaderDeadline {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline;
        let mut sleep = self.sleep.lock();
        let sleep = sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        while sleep.as_mut().poll(context).is_ready() {
            if sleep.deadline() >= deadline {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(deadline);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn each_deadline_holds_although_the_sleep_stays() {
        let (timer, begun) = (HeaderReadTimer::default(), Instant::now());
        let ms = Duration::from_millis;
        assert!(timer.sleep(ms(20)).now_or_never().is_none());
        // The header has come, and hyper waits for the next one.
        timer.sleep(ms(80)).await;
        assert!(begun.elapsed() >= ms(80), "{:?}", begun.elapsed());
        // A deadline before that of the sleep.
        assert!(timer.sleep(Duration::from_secs(60)).now_or_never().is_none());
        timer.sleep(ms(20)).await;
        assert!(begun.elapsed() >= ms(100), "{:?}", begun.elapsed());
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
