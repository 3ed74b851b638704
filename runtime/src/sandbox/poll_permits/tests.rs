use super::*;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::sandbox::EpochTicker;
use wasmtime::Engine;

fn hold(time: Duration) -> Poll<()> {
    std::thread::sleep(time);
    Poll::Ready(())
}

async fn poll_once(permits: &PollPermits, share: &CountedSemaphore, time: Duration) {
    let mut polls = PermittedPolls::new(permits, share);
    std::future::poll_fn(|context| polls.poll(context, |_| hold(time))).await;
}

/// Makes a runtime like the server's on a machine with two processors, and a ticker.
fn server() -> (tokio::runtime::Runtime, Arc<PollPermits>, EpochTicker) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(3)
        .event_interval(2)
        .enable_all()
        .build()
        .unwrap();
    let permits = Arc::new(PollPermits::with_workers(2));
    let ticker = EpochTicker::start(&Engine::default(), Arc::clone(&permits)).unwrap();
    (runtime, permits, ticker)
}

#[test]
fn polls_that_hold_their_threads_leave_one_to_others_and_a_neighbour_runs_beside_them() {
    let (runtime, permits, _ticker) = server();
    let long = Duration::from_secs(1);
    for _ in 0..6 {
        // Each call is of another plugin.
        let (permits, share) = (Arc::clone(&permits), permits.share());
        runtime.spawn(async move { poll_once(&permits, &share, long).await });
    }
    std::thread::sleep(Duration::from_millis(50));
    let begun = Instant::now();
    let (told, tells) = mpsc::channel();
    let neighbour = (Arc::clone(&permits), permits.share());
    runtime.spawn({
        let told = told.clone();
        async move { told.send("a socket").unwrap() }
    });
    runtime.spawn(async move {
        poll_once(&neighbour.0, &neighbour.1, Duration::ZERO).await;
        told.send("a neighbour").unwrap();
    });
    let mut heard: Vec<_> = tells.iter().take(2).collect();
    let took = begun.elapsed();
    heard.sort_unstable();
    assert_eq!(heard, ["a neighbour", "a socket"]);
    assert!(took < long / 2, "{took:?}");
    runtime.shutdown_background();
}

#[test]
fn a_plugin_has_no_more_polls_under_way_than_there_are_workers_for_guests() {
    let (runtime, permits, _ticker) = server();
    let (share, running) = (Arc::new(permits.share()), Arc::new(AtomicUsize::new(0)));
    let most = Arc::new(AtomicUsize::new(0));
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let (permits, share) = (Arc::clone(&permits), Arc::clone(&share));
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            runtime.spawn(async move {
                let mut polls = PermittedPolls::new(&permits, &share);
                std::future::poll_fn(|context| {
                    polls.poll(context, |_| {
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_millis(20));
                        running.fetch_sub(1, Ordering::SeqCst);
                        Poll::Ready(())
                    })
                })
                .await;
            })
        })
        .collect();
    runtime.block_on(async {
        for call in calls {
            call.await.unwrap();
        }
    });
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[test]
fn a_call_that_is_dropped_while_it_waits_leaves_its_turn_to_the_next() {
    let permits = Arc::new(PollPermits::with_workers(1));
    let (share, other) = (permits.share(), permits.share());
    let (mut first, mut second) =
        (PermittedPolls::new(&permits, &share), PermittedPolls::new(&permits, &other));
    let mut context = Context::from_waker(std::task::Waker::noop());
    let outer = first.poll(&mut context, |context| {
        assert_eq!(second.poll(context, |_| Poll::Ready(1)), Poll::Pending, "the permit is taken");
        assert_eq!(permits.common.waiting(), 1);
        Poll::Ready(2)
    });
    assert_eq!(outer, Poll::Ready(2));
    drop(second);
    assert_eq!(permits.common.waiting(), 0);
    assert_eq!(first.poll(&mut context, |_| Poll::Ready(3)), Poll::Ready(3));
}

/// Starts a poll that runs until it is dropped, and acquires its permit.
fn under_way(permits: &PollPermits) -> (Polling<'_>, SemaphorePermit<'_>) {
    let permit = permits.common.semaphore.try_acquire().unwrap();
    (permits.start_poll(), permit)
}

/// Makes a call of another plugin.
fn call(permits: &PollPermits) -> PermittedPolls<'_> {
    PermittedPolls::new(permits, Box::leak(Box::new(permits.share())))
}

/// Polls a call, and returns whether it got a permit. A call with a permit ends.
fn has_permit(call: &mut PermittedPolls<'_>) -> bool {
    let mut context = Context::from_waker(std::task::Waker::noop());
    call.poll(&mut context, |_| Poll::Ready(())).is_ready()
}

#[test]
fn the_workers_keep_their_slots_while_polls_beside_them_go_on() {
    let permits = Arc::new(PollPermits::with_workers(2));
    let mut seen = Seen::default();
    let on_workers = [under_way(&permits), under_way(&permits)];
    let mut crowd: Vec<_> = (0..4).map(|_| call(&permits)).collect();
    assert!(!crowd.iter_mut().any(has_permit));
    permits.on_tick(&mut seen);
    drop(crowd);
    let beside: Vec<_> = (0..4).map(|_| under_way(&permits)).collect();
    drop(on_workers);
    for _ in 0..2 {
        permits.on_tick(&mut seen);
    }
    assert_eq!(permits.common.semaphore.available_permits(), 2);
    assert!(has_permit(&mut call(&permits)), "a neighbour waits although no worker is occupied");
    drop(beside);
    permits.on_tick(&mut seen);
    assert_eq!((permits.common.semaphore.available_permits(), seen.added), (2, 0));
}

#[test]
fn a_slot_whose_call_is_not_polled_keeps_no_neighbour_waiting() {
    let permits = Arc::new(PollPermits::with_workers(2));
    let mut seen = Seen::default();
    let (long, short) = (under_way(&permits), under_way(&permits));
    // The task of this call is behind others in the queue of a worker.
    let mut given = call(&permits);
    assert!(!has_permit(&mut given));
    drop(short);
    let mut neighbour = call(&permits);
    assert!(!has_permit(&mut neighbour));
    for _ in 0..3 {
        permits.on_tick(&mut seen);
        assert_eq!(seen.added, 1);
    }
    assert!(has_permit(&mut neighbour) && has_permit(&mut given));
    drop(long);
    permits.on_tick(&mut seen);
    assert_eq!((permits.common.semaphore.available_permits(), seen.added), (2, 0));
}

#[test]
fn the_ticker_sleeps_while_no_guest_runs_and_wakes_with_the_next() {
    let (runtime, permits, _ticker) = server();
    let share = permits.share();
    runtime.block_on(poll_once(&permits, &share, Duration::ZERO));
    let deadline = Instant::now() + Duration::from_secs(20);
    while !permits.ticker.asleep.load(Ordering::SeqCst) {
        assert!(Instant::now() < deadline, "it ticks on");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut polls = PermittedPolls::new(&permits, &share);
    let mut context = Context::from_waker(std::task::Waker::noop());
    let awake = polls.poll(&mut context, |_| {
        let begun = Instant::now();
        while permits.ticker.asleep.load(Ordering::SeqCst) && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Poll::Ready(!permits.ticker.asleep.load(Ordering::SeqCst))
    });
    assert_eq!(awake, Poll::Ready(true), "nobody woke it");
}

#[test]
fn the_ticker_does_not_sleep_while_a_poll_is_under_way_that_it_saw_begin() {
    let permits = Arc::new(PollPermits::with_workers(1));
    let mut seen = Seen::default();
    // One of these polls runs on a worker, the other on an additional thread.
    let under_way = [permits.start_poll(), permits.start_poll()];
    permits.on_tick(&mut seen);
    for polling in under_way {
        let (told, tells) = mpsc::channel();
        let ticked = Arc::clone(&permits);
        std::thread::spawn(move || {
            ticked.sleep_while_idle(&seen);
            told.send(seen).unwrap();
        });
        seen = tells.recv_timeout(Duration::from_secs(20)).expect("it sleeps, and nobody wakes it");
        drop(polling);
    }
    assert!(permits.is_idle(&seen));
}

/// A guest that pauses until `ends` says whether it is done.
fn pausing(mut ends: impl FnMut() -> bool) -> impl FnMut(&mut Context<'_>) -> Poll<()> {
    move |context| {
        if ends() {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A call whose next poll goes on when its guest pauses.
fn that_has_paused<'p>(permits: &'p PollPermits, share: &'p CountedSemaphore) -> PermittedPolls<'p> {
    let mut call = PermittedPolls::new(permits, share);
    call.pauses = GuestPauses::with_turns_of(Duration::from_secs(3_600));
    let mut context = Context::from_waker(std::task::Waker::noop());
    for _ in 0..2 {
        assert!(call.poll(&mut context, pausing(|| false)).is_pending());
    }
    call
}

#[test]
fn a_call_that_begins_to_wait_ends_the_turn_of_a_guest_at_its_next_pause() {
    let permits = Arc::new(PollPermits::with_workers(1));
    let (share, other) = (permits.share(), permits.share());
    for waits_for in [&share, &other] {
        let mut guest = that_has_paused(&permits, &share);
        let mut neighbour = PermittedPolls::new(&permits, waits_for);
        let mut polls = 0;
        let mut context = Context::from_waker(std::task::Waker::noop());
        let polled = guest.poll(
            &mut context,
            pausing(|| {
                polls += 1;
                if polls == 2 {
                    assert!(!has_permit(&mut neighbour));
                }
                polls > 2
            }),
        );
        assert_eq!((polled, polls), (Poll::Pending, 2));
        assert!(has_permit(&mut neighbour));
    }
}

#[test]
fn pauses_count_as_polls_that_have_ended() {
    let permits = Arc::new(PollPermits::with_workers(2));
    let share = permits.share();
    let mut guest = that_has_paused(&permits, &share);
    let before = permits.ended_on_workers.load(Ordering::Relaxed);
    let mut polls = 0;
    let mut context = Context::from_waker(std::task::Waker::noop());
    let polled = guest.poll(
        &mut context,
        pausing(|| {
            polls += 1;
            polls == 4
        }),
    );
    let ended = permits.ended_on_workers.load(Ordering::Relaxed) - before;
    assert_eq!(ended, polls, "{polled:?}");
}
