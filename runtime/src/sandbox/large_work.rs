//! Work of the server that a guest or a client can make heavy: checks against schemas, large JSON, forms, large
//! answers.
//!
//! Such work never yields, and on a worker of the async runtime it would hold up whoever else is there. What is small
//! is done where it is asked for and costs nothing more; everything else acquires a permit first. The permits are those
//! of one plugin, or of all clients together, so that a crowd waits among itself and nobody waits behind a neighbour's
//! work: threads of several share the cores as the system divides them. Work that takes its time has permits apart from
//! reading and writing, which end by themselves and soon. It is given a [`WorkBudget`], which it checks often; dropping
//! the future that waits for the outcome abandons the work, and its permit is held until it has really ended.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

use super::host_fuel::nanos;
use super::shared_permits::{SharedPermit, SharedPermits};
use super::thread_time::thread_time;

/// What is small enough to be read or written where it is, bytes: some hundred microseconds.
pub(crate) const SMALL: usize = 64 << 10;

/// Threads of one plugin for work that takes its time: while one of its calls has a long check, another's goes on.
const OF_ONE: usize = 2;

/// Threads of all plugins for such work: more than the cores, so that a few plugins whose work is long do not have them
/// all.
static LONG: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(64)));

/// What all read and write at once, so that there are threads to take over from the workers that are blocked.
static SHORT: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(64)));

/// The permits of one plugin, or of all clients together.
#[derive(Debug)]
pub(crate) struct LargeWork {
    long: SharedPermits,
    /// For reading and writing in place, as many as half of the cores.
    short: SharedPermits,
}

/// What a piece of work may still use. It is asked on the thread that does the work.
#[derive(Debug, Clone)]
pub(crate) struct WorkBudget {
    /// The thread's processor time when it was given.
    begun: Duration,
    /// The thread's processor time at which it is used up.
    end: Duration,
    abandoned: Arc<AtomicBool>,
    spent: SpentCpuTime,
}

/// Processor time that a piece of work had used when it last asked its allowance, for whoever has to account for it,
/// also when nobody waits for the work any more. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SpentCpuTime(Arc<AtomicU64>);

/// Why a piece of work has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkStopped {
    /// It used up its processor time.
    Cpu,
    /// Nobody waits for it any more.
    Abandoned,
}

impl WorkBudget {
    /// As much processor time of this thread, from now on, for work that nobody can abandon.
    pub(crate) fn of(cpu: Duration) -> Self {
        Self::until_abandoned(cpu, Arc::default(), SpentCpuTime::default())
    }

    fn until_abandoned(cpu: Duration, abandoned: Arc<AtomicBool>, spent: SpentCpuTime) -> Self {
        let begun = thread_time();
        Self { begun, end: begun.saturating_add(cpu), abandoned, spent }
    }

    /// As much again, from now on: for work whose beginning may not be taken from it. What that used is noted all the
    /// same.
    pub(crate) fn renewed(&self) -> Self {
        let end = thread_time().saturating_add(self.end.saturating_sub(self.begun));
        Self { end, ..self.clone() }
    }

    /// Whether the work may go on. Notes what it has used. Costs a fraction of a microsecond.
    pub(crate) fn check(&self) -> Result<(), WorkStopped> {
        let now = thread_time();
        self.spent.note(now.saturating_sub(self.begun));
        if self.abandoned.load(Ordering::Relaxed) {
            return Err(WorkStopped::Abandoned);
        }
        if now >= self.end { Err(WorkStopped::Cpu) } else { Ok(()) }
    }
}

impl SpentCpuTime {
    /// What it comes to.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn note(&self, time: Duration) {
        self.0.store(nanos(time), Ordering::Relaxed);
    }
}

/// Ends the work when whoever waits for it goes away.
struct AbandonOnDrop(Arc<AtomicBool>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl LargeWork {
    /// A share of the permits.
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let long = SharedPermits::new("thread for large work", OF_ONE, Arc::clone(&LONG));
        Self {
            long,
            short: SharedPermits::new("permit for large messages", cores.div_ceil(2), Arc::clone(&SHORT)),
        }
    }

    /// Does `work` on a thread of its own, once there is a permit, with `cpu` of processor time. It ends when the
    /// returned future is dropped, as far as it asks its allowance. A panic goes on here.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        cpu: Duration,
        work: impl FnOnce(&WorkBudget) -> T + Send + 'static,
    ) -> T {
        self.run_counted(cpu, SpentCpuTime::default(), work).await
    }

    /// The same, and `spent` is told what it has used whenever it asks its allowance.
    pub(crate) async fn run_counted<T: Send + 'static>(
        &self,
        cpu: Duration,
        spent: SpentCpuTime,
        work: impl FnOnce(&WorkBudget) -> T + Send + 'static,
    ) -> T {
        // The semaphores are never closed.
        let permit = self.long.acquire().await.ok();
        let waits = AbandonOnDrop(Arc::default());
        let abandoned = Arc::clone(&waits.0);
        let work = move || work(&WorkBudget::until_abandoned(cpu, abandoned, spent));
        let done = on_a_thread(permit, work).await;
        drop(waits);
        done
    }

    /// Does `work` that reads or writes, and so ends by itself, on a thread of its own once there is a permit for
    /// reading. For what a guest's own poll asks for, which may not block its thread.
    pub(crate) async fn run_short<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let permit = self.short.acquire().await.ok();
        on_a_thread(permit, work).await
    }

    /// Does `work` that reads or writes `bytes` here, and if they are many with a permit and so that the other tasks of
    /// this worker go on elsewhere. For work that ends by itself: about 20 ms for a MiB.
    pub(crate) async fn in_place<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        if bytes <= SMALL {
            return work();
        }
        let _permit = self.short.acquire().await;
        // A runtime of one thread has nobody to hand the other tasks to.
        match Handle::current().runtime_flavor() {
            RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
            _ => work(),
        }
    }
}

/// Does `work` on a thread for what blocks, and keeps its permit until it has ended. A panic goes on here.
async fn on_a_thread<T: Send + 'static>(
    permit: Option<SharedPermit>,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let task = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(permit);
        done
    });
    match task.await {
        Ok(done) => done,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime itself ends, and with it whoever waits.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Instant;

    /// Works until it may not go on, and says why and after how much processor time.
    fn endless(budget: &WorkBudget) -> (WorkStopped, Duration) {
        let begun = thread_time();
        loop {
            if let Err(stopped) = budget.check() {
                return (stopped, thread_time().saturating_sub(begun));
            }
        }
    }

    #[tokio::test]
    async fn work_ends_with_its_processor_time() {
        let (cpu, spent) = (Duration::from_millis(20), SpentCpuTime::default());
        let (stopped, used) = LargeWork::new().run_counted(cpu, spent.clone(), endless).await;
        assert_eq!(stopped, WorkStopped::Cpu);
        assert!(used < Duration::from_millis(60), "{used:?}");
        assert!((cpu..=2 * cpu.max(used)).contains(&spent.time()), "{spent:?}");
    }

    #[tokio::test]
    async fn work_ends_with_whoever_waits_for_it_and_has_its_place_until_then() {
        let (large_work, spent) = (LargeWork::new(), SpentCpuTime::default());
        let (sender, ended) = mpsc::channel();
        let endless = move |budget: &WorkBudget| sender.send(endless(budget));
        let work = large_work.run_counted(Duration::from_secs(60), spent.clone(), endless);
        assert!(tokio::time::timeout(Duration::from_millis(20), work).await.is_err());
        let (stopped, used) = ended.recv_timeout(Duration::from_secs(5)).unwrap();
        assert_eq!(stopped, WorkStopped::Abandoned);
        assert!(used < Duration::from_secs(1), "{used:?}");
        assert!(!spent.time().is_zero(), "nobody waits, and it is noted all the same");
        assert_eq!(large_work.run(Duration::from_secs(1), |_| 5).await, 5);
    }

    #[tokio::test]
    async fn one_plugin_has_few_threads() {
        let large_work = Arc::new(LargeWork::new());
        let (running, most) = (Arc::new(Semaphore::new(100)), Arc::new(std::sync::Mutex::new(0)));
        let works = (0..4 * OF_ONE).map(|_| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            large_work.run(Duration::from_secs(9), move |_| {
                let _one = running.try_acquire().unwrap();
                std::thread::sleep(Duration::from_millis(2));
                let now = 100 - running.available_permits();
                let mut most = most.lock().unwrap();
                *most = now.max(*most);
            })
        });
        futures_util::future::join_all(works).await;
        assert!(*most.lock().unwrap() <= OF_ONE);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_neighbour_does_not_wait_for_the_long_work_of_others() {
        let hogs: Vec<_> = (0..3).map(|_| Arc::new(LargeWork::new())).collect();
        let (sender, begun) = mpsc::channel();
        let work = |hog: &Arc<LargeWork>| {
            let (hog, sender) = (Arc::clone(hog), sender.clone());
            tokio::spawn(async move {
                let sleep = move |budget: &WorkBudget| {
                    sender.send(()).unwrap();
                    while budget.check().is_ok() {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                };
                hog.run(Duration::from_secs(60), sleep).await;
            })
        };
        // Half of them have to wait for the other half.
        let works: Vec<_> = hogs.iter().cycle().take(3 * 2 * OF_ONE).map(work).collect();
        tokio::task::block_in_place(|| {
            for _ in 0..3 * OF_ONE {
                begun.recv_timeout(Duration::from_secs(9)).unwrap();
            }
        });
        let neighbour = LargeWork::new();
        let soon = async {
            neighbour.in_place(SMALL + 1, || ()).await;
            let five = neighbour.run(Duration::from_secs(1), |_| 5).await;
            neighbour.in_place(SMALL + 1, move || five).await
        };
        assert_eq!(tokio::time::timeout(Duration::from_secs(5), soon).await, Ok(5));
        // Nor does what a plugin reads and writes wait for what it checks.
        let own = hogs.first().unwrap().in_place(SMALL + 1, || 6);
        assert_eq!(tokio::time::timeout(Duration::from_secs(5), own).await, Ok(6));
        works.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_go_on_while_large_work_is_done_in_place() {
        let begun = Instant::now();
        let other = tokio::spawn(async { Instant::now() });
        let large_work = LargeWork::new();
        let block = || std::thread::sleep(Duration::from_millis(200));
        tokio::spawn(async move { large_work.in_place(SMALL + 1, block).await }).await.unwrap();
        assert!(other.await.unwrap().duration_since(begun) < Duration::from_millis(150));
    }
}
