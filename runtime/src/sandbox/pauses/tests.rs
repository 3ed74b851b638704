use std::sync::atomic::AtomicUsize;

use super::*;

/// A task that counts how often it is woken.
#[derive(Default)]
struct Task(AtomicUsize);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Task {
    fn new() -> (Arc<Self>, Waker) {
        let task = Arc::new(Self::default());
        (Arc::clone(&task), Waker::from(task))
    }

    fn wakes(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn with_turns_of(turn: Duration) -> Pauses {
    Pauses { turn, ..Pauses::default() }
}

/// A call that never uses up its turn.
fn unhurried() -> Pauses {
    with_turns_of(Duration::from_secs(3_600))
}

fn pause<T>(context: &mut Context<'_>) -> Poll<T> {
    context.waker().wake_by_ref();
    Poll::Pending
}

#[test]
fn a_guest_goes_on_while_nobody_waits() {
    let ((task, waker), mut pauses, mut polls) = (Task::new(), unhurried(), 0);
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
    let ((task, waker), mut pauses) = (Task::new(), unhurried());
    let mut context = Context::from_waker(&waker);
    for wakes in 1..5 {
        assert!(pauses.poll(&mut context, || false, pause::<()>).is_pending());
        assert_eq!(task.wakes(), wakes);
    }
}

#[test]
fn a_guest_that_never_ends_pauses_when_its_turn_is_over() {
    let ((task, waker), turn) = (Task::new(), Duration::from_millis(3));
    let mut pauses = with_turns_of(turn);
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
    let ((task, waker), mut pauses, mut polls) = (Task::new(), unhurried(), 0);
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
fn a_waker_that_is_kept_wakes_the_task_that_polled_last() {
    let ((first, first_waker), (second, second_waker), mut pauses) = (Task::new(), Task::new(), unhurried());
    let mut kept = Vec::new();
    let mut wait = |context: &mut Context<'_>| -> Poll<()> {
        kept.push(context.waker().clone());
        Poll::Pending
    };
    assert!(pauses.poll(&mut Context::from_waker(&first_waker), || true, &mut wait).is_pending());
    assert!(pauses.poll(&mut Context::from_waker(&first_waker), || true, &mut wait).is_pending());
    assert!(pauses.poll(&mut Context::from_waker(&second_waker), || true, &mut wait).is_pending());
    assert_eq!(kept.len(), 3, "who waits is not polled again");
    kept[0].wake_by_ref();
    assert_eq!((first.wakes(), second.wakes()), (1, 0), "the first poll had the waker of its task");
    kept[1].wake_by_ref();
    drop(pauses);
    assert_eq!((first.wakes(), second.wakes()), (1, 1));
}

#[test]
fn no_wake_of_another_thread_is_lost() {
    let called = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = std::sync::mpsc::sync_channel::<Waker>(1);
    let other = std::thread::spawn({
        let called = Arc::clone(&called);
        move || {
            for waker in receiver {
                called.fetch_add(1, Ordering::SeqCst);
                waker.wake();
            }
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut pauses = Pauses::default();
    let waits = std::future::poll_fn(|context| {
        pauses.poll(
            context,
            || true,
            |context| {
                let rounds = called.load(Ordering::SeqCst);
                // The other thread may be as far before this poll ends, or long after.
                if rounds < 20_000 {
                    drop(sender.try_send(context.waker().clone()));
                    return Poll::Pending;
                }
                Poll::Ready(())
            },
        )
    });
    let patience = Duration::from_secs(60);
    runtime.block_on(async { tokio::time::timeout(patience, waits).await }).unwrap();
    drop(sender);
    other.join().unwrap();
}
