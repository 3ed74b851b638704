use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use super::*;

/// A task that counts how often it is woken.
#[derive(Default)]
struct WakeCounter(AtomicUsize);

impl Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl WakeCounter {
    fn new() -> (Arc<Self>, Waker) {
        let task = Arc::new(Self::default());
        (Arc::clone(&task), Waker::from(task))
    }

    fn wakes(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// A call that never uses up its turn.
fn unhurried() -> GuestPauses {
    GuestPauses::with_turns_of(Duration::from_secs(3_600))
}

fn pause<T>(context: &mut Context<'_>) -> Poll<T> {
    context.waker().wake_by_ref();
    Poll::Pending
}

#[test]
fn a_guest_goes_on_while_nobody_waits() {
    let ((task, waker), mut pauses, mut polls) = (WakeCounter::new(), unhurried(), 0);
    let mut context = Context::from_waker(&waker);
    let mut guest = |context: &mut Context<'_>| {
        polls += 1;
        if polls < 9 { pause(context) } else { Poll::Ready(polls) }
    };
    for wakes in 1..3 {
        assert!(pauses.poll(&mut context, || true, &mut guest).is_pending());
        assert_eq!(task.wakes(), wakes, "the first pauses go through the task");
    }
    assert_eq!(pauses.poll(&mut context, || true, &mut guest), Poll::Ready(9));
    assert_eq!(task.wakes(), 2);
}

#[test]
fn a_guest_pauses_while_others_wait_and_its_task_knows() {
    let ((task, waker), mut pauses) = (WakeCounter::new(), unhurried());
    let mut context = Context::from_waker(&waker);
    for wakes in 1..5 {
        assert!(pauses.poll(&mut context, || false, pause::<()>).is_pending());
        assert_eq!(task.wakes(), wakes);
    }
}

#[test]
fn a_guest_that_never_ends_pauses_when_its_turn_is_over() {
    let ((task, waker), turn) = (WakeCounter::new(), Duration::from_millis(3));
    let mut pauses = GuestPauses::with_turns_of(turn);
    let mut context = Context::from_waker(&waker);
    for _ in 0..2 {
        assert!(pauses.poll(&mut context, || true, pause::<()>).is_pending());
    }
    let begun = Instant::now();
    assert!(pauses.poll(&mut context, || true, pause::<()>).is_pending());
    assert!(begun.elapsed() >= turn);
    assert_eq!(task.wakes(), 3);
}

#[test]
fn after_a_wait_the_first_pause_goes_through_the_task() {
    let ((task, waker), mut pauses, mut polls) = (WakeCounter::new(), unhurried(), 0);
    let mut context = Context::from_waker(&waker);
    let mut guest = |context: &mut Context<'_>| {
        polls += 1;
        // It waits in the third and the fifth poll.
        if polls == 3 || polls == 5 { Poll::<()>::Pending } else { pause(context) }
    };
    for wakes in [1, 2, 2, 3, 3, 4] {
        assert!(pauses.poll(&mut context, || true, &mut guest).is_pending());
        assert_eq!(task.wakes(), wakes);
    }
    assert_eq!(polls, 6);
}

#[test]
fn a_guest_that_waits_is_not_polled_again_and_is_woken_later() {
    let ((task, waker), mut pauses, mut kept) = (WakeCounter::new(), unhurried(), Vec::new());
    let mut context = Context::from_waker(&waker);
    let mut wait = |context: &mut Context<'_>| -> Poll<()> {
        kept.push(context.waker().clone());
        Poll::Pending
    };
    for _ in 0..2 {
        assert!(pauses.poll(&mut context, || true, &mut wait).is_pending());
    }
    assert_eq!((kept.len(), task.wakes()), (2, 0));
    for (before, waker) in kept.into_iter().enumerate() {
        waker.wake();
        assert_eq!(task.wakes(), before + 1);
    }
}
