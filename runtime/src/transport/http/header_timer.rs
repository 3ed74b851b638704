//! The timer of a connection, with which hyper bounds the time for the header of each request.
//!
//! hyper starts a timer when it begins to wait for a header and drops it when the header has come: one for each
//! request. Entering it into the runtime's timers and removing it takes a lock twice and often wakes another thread. So
//! a connection has one alarm that stays entered. When the alarm goes off too early, since a later header has begun
//! meanwhile, it is entered again; that is once in ten seconds.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use parking_lot::Mutex;

/// The timer of one connection, which needs one deadline at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct HeaderTimer(Arc<Mutex<Alarm>>);

/// Entered with the first deadline that is waited for.
type Alarm = Option<Pin<Box<tokio::time::Sleep>>>;

/// Waits until a deadline.
struct HeaderDeadline {
    deadline: tokio::time::Instant,
    alarm: Arc<Mutex<Alarm>>,
}

impl Timer for HeaderTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(HeaderDeadline { deadline: deadline.into(), alarm: Arc::clone(&self.0) })
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
        let mut alarm = self.alarm.lock();
        let alarm = alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if alarm.deadline() > deadline {
            alarm.as_mut().reset(deadline);
        }
        while alarm.as_mut().poll(context).is_ready() {
            if alarm.deadline() >= deadline {
                return Poll::Ready(());
            }
            alarm.as_mut().reset(deadline);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn each_deadline_holds_although_the_alarm_stays() {
        let (timer, begun) = (HeaderTimer::default(), Instant::now());
        let ms = Duration::from_millis;
        assert!(timer.sleep(ms(20)).now_or_never().is_none());
        // The header came, and the next one is waited for.
        timer.sleep(ms(80)).await;
        assert!(begun.elapsed() >= ms(80), "{:?}", begun.elapsed());
        // An earlier deadline than the alarm's.
        assert!(timer.sleep(Duration::from_secs(60)).now_or_never().is_none());
        timer.sleep(ms(20)).await;
        assert!(begun.elapsed() >= ms(100), "{:?}", begun.elapsed());
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
