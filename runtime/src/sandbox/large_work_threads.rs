//! Runs work of the server that a guest or a client can make long: validation against schemas, large JSON, forms, large
//! results.
//!
//! Such work never yields, and on a worker of the async runtime it would block other tasks. Small work is done at once
//! without a permit; other work acquires a permit first. Each plugin has its own permits, and all clients together have
//! some, so that no plugin waits for the work of another: the operating system divides the cores between their threads.
//! Long work has separate permits from reading and writing JSON, which always end soon. Long work gets a
//! [`WorkBudget`], which it checks often. Dropping the future that waits for the work abandons the work; the work keeps
//! its permit until it has really ended.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

use super::host_fuel::nanos;
use super::shared_permits::{SharedPermit, SharedPermits};
use super::thread_cpu_clock::thread_time;

/// Work of up to this size is done at once without a permit. It is given in bytes of the most expensive JSON, and takes
/// about a millisecond.
pub(crate) const SMALL: usize = 64 << 10;

/// Maximum number of threads of one plugin for long work: while one of its calls validates for long, another can go on.
const PER_PLUGIN: usize = 2;

/// Threads of all plugins for long work. There are more than cores, so that a few plugins cannot occupy all of them.
static LONG: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(64)));

/// Permits of all plugins for reading and writing. Their number is limited so that threads are left to take over the
/// tasks of blocked workers.
static SHORT: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(64)));

/// The permits of one plugin, or of all clients together.
#[derive(Debug)]
pub(crate) struct LargeWork {
    long: SharedPermits,
    /// For reading and writing on the current thread; as many as half of the cores.
    short: SharedPermits,
}

/// The processor time that a piece of work may still use. The thread that does the work checks it.
#[derive(Debug, Clone)]
pub(crate) struct WorkBudget {
    /// The thread's processor time when the work began.
    begun: Duration,
    /// The thread's processor time when the budget is used up.
    end: Duration,
    abandoned: Arc<AtomicBool>,
    spent: SpentCpuTime,
}

/// The processor time that a piece of work had used when it last checked its budget, even after it was abandoned.
/// Clones share the value.
#[derive(Debug, Clone, Default)]
pub(crate) struct SpentCpuTime(Arc<AtomicU64>);

/// Why a piece of work must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkStopped {
    /// The work has used up its processor time.
    Cpu,
    /// The future that waited for it was dropped.
    Abandoned,
}

impl WorkBudget {
    /// A budget of this thread's processor time, starting now, for work that cannot be abandoned.
    pub(crate) fn of(cpu: Duration) -> Self {
        Self::until_abandoned(cpu, Arc::default(), SpentCpuTime::default())
    }

    fn until_abandoned(cpu: Duration, abandoned: Arc<AtomicBool>, spent: SpentCpuTime) -> Self {
        let begun = thread_time();
        Self { begun, end: begun.saturating_add(cpu), abandoned, spent }
    }

    /// The same budget, starting now, for work whose beginning does not count against it. [`SpentCpuTime`] still
    /// includes the beginning.
    pub(crate) fn renewed(&self) -> Self {
        let end = thread_time().saturating_add(self.end.saturating_sub(self.begun));
        Self { end, ..self.clone() }
    }

    /// Whether the work may go on. Also records the used time. Takes a fraction of a microsecond.
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
    /// The used processor time.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn note(&self, time: Duration) {
        self.0.store(nanos(time), Ordering::Relaxed);
    }
}

/// Abandons the work when this is dropped, with the future that waits for the work.
struct AbandonOnDrop(Arc<AtomicBool>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl LargeWork {
    /// Makes the permits of another plugin, or of all clients.
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let long = SharedPermits::new("thread for large work", PER_PLUGIN, Arc::clone(&LONG));
        Self {
            long,
            short: SharedPermits::new("permit for large messages", cores.div_ceil(2), Arc::clone(&SHORT)),
        }
    }

    /// Acquires a permit, and then does `work` on a thread of its own with `cpu` of processor time. If this future is
    /// dropped, the work ends when it next checks its budget. A panic of the work continues in this task.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        cpu: Duration,
        work: impl FnOnce(&WorkBudget) -> T + Send + 'static,
    ) -> T {
        self.run_counted(cpu, SpentCpuTime::default(), work).await
    }

    /// Like [`Self::run`]; each check of the budget also writes the used time to `spent`.
    pub(crate) async fn run_counted<T: Send + 'static>(
        &self,
        cpu: Duration,
        spent: SpentCpuTime,
        work: impl FnOnce(&WorkBudget) -> T + Send + 'static,
    ) -> T {
        // The semaphores are never closed.
        let permit = self.long.acquire().await.ok();
        let waiter = AbandonOnDrop(Arc::default());
        let abandoned = Arc::clone(&waiter.0);
        let work = move || work(&WorkBudget::until_abandoned(cpu, abandoned, spent));
        let done = on_a_thread(permit, work).await;
        drop(waiter);
        done
    }

    /// Acquires a permit for reading, and then does `work` on a thread of its own. It is for work that reads or writes,
    /// and so ends by itself, inside the poll of a guest, which must not block its thread.
    pub(crate) async fn run_short<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let permit = self.short.acquire().await.ok();
        on_a_thread(permit, work).await
    }

    /// Does `work` on this thread. It must end by itself, in about 20 ms for each MiB. `bytes` is its size as
    /// [`json_work`](super::json_work) estimates it: the number of bytes of the most expensive JSON that take as long.
    /// If it is more than [`SMALL`], the work acquires a permit, and other tasks of this worker move to another thread.
    pub(crate) async fn in_place<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        if bytes <= SMALL {
            return work();
        }
        let _permit = self.short.acquire().await;
        // A single-threaded runtime has no other worker to which the tasks could move.
        match Handle::current().runtime_flavor() {
            RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
            _ => work(),
        }
    }
}

/// Does `work` on a thread for blocking work, which holds the permit until the work has ended. A panic continues in
/// this task.
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
            // The runtime is shutting down, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Instant;

    /// Works until the budget says stop. Returns why, and the used processor time.
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
    async fn work_that_is_abandoned_ends_and_has_its_permit_until_then() {
        let (large_work, spent) = (LargeWork::new(), SpentCpuTime::default());
        let (sender, ended) = mpsc::channel();
        let endless = move |budget: &WorkBudget| sender.send(endless(budget));
        let work = large_work.run_counted(Duration::from_secs(60), spent.clone(), endless);
        assert!(tokio::time::timeout(Duration::from_millis(20), work).await.is_err());
        let (stopped, used) = ended.recv_timeout(Duration::from_secs(5)).unwrap();
        assert_eq!(stopped, WorkStopped::Abandoned);
        assert!(used < Duration::from_secs(1), "{used:?}");
        assert!(!spent.time().is_zero(), "the time of abandoned work counts too");
        assert_eq!(large_work.run(Duration::from_secs(1), |_| 5).await, 5);
    }

    #[tokio::test]
    async fn one_plugin_has_few_threads() {
        let large_work = Arc::new(LargeWork::new());
        let (running, max) = (Arc::new(Semaphore::new(100)), Arc::new(std::sync::Mutex::new(0)));
        let works = (0..4 * PER_PLUGIN).map(|_| {
            let (running, max) = (Arc::clone(&running), Arc::clone(&max));
            large_work.run(Duration::from_secs(9), move |_| {
                let _one = running.try_acquire().unwrap();
                std::thread::sleep(Duration::from_millis(2));
                let now = 100 - running.available_permits();
                let mut max = max.lock().unwrap();
                *max = now.max(*max);
            })
        });
        futures_util::future::join_all(works).await;
        assert!(*max.lock().unwrap() <= PER_PLUGIN);
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
        // Half of the works have to wait for the other half.
        let works: Vec<_> = hogs.iter().cycle().take(3 * 2 * PER_PLUGIN).map(work).collect();
        tokio::task::block_in_place(|| {
            for _ in 0..3 * PER_PLUGIN {
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
        // What a plugin reads and writes does not wait for its long work either.
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
