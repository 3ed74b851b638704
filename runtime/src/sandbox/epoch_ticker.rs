//! A thread that regularly starts a new epoch of the engine, in which guests pause.
//!
//! Fuel counts instructions, but much of what the engine does for a guest costs none. So every tick starts a new epoch,
//! and a guest that returns to its own code in a new epoch pauses there, so that its limits can take effect. The ticker
//! is a thread and not a task, because it must tick even if every worker is occupied. It sleeps while no guest runs.
//!
//! When a tokio worker leaves the I/O driver to run a task, it wakes no other worker to poll the driver. So no socket
//! would be served while that task occupies its thread. Therefore the ticker wakes a worker while a poll of a guest is
//! stuck; that worker finds no task and polls the driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Handle;
use wasmtime::Engine;

use super::poll_permits::{PollPermits, Seen};

/// Length of an epoch. A guest occupies its thread for at most twice this time without a pause.
const TICK: Duration = Duration::from_millis(5);

/// After this many ticks without a guest the thread sleeps. Waking it costs a call some microseconds.
const IDLE_TICKS: u32 = 200;

/// The ticking thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct EpochTicker {
    poll_permits: Arc<PollPermits>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl EpochTicker {
    /// Starts ticking for `engine`. Must be called on the runtime on which the engine's guests run.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub(crate) fn start(engine: &Engine, poll_permits: Arc<PollPermits>) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::Builder::new().name("epoch-ticker".to_owned()).spawn({
            let (engine, poll_permits, stop) = (engine.clone(), Arc::clone(&poll_permits), Arc::clone(&stop));
            let runtime = Handle::try_current().ok();
            move || tick(&engine, &poll_permits, &stop, runtime.as_ref())
        })?;
        poll_permits.set_ticker(thread.thread().clone());
        Ok(Self { poll_permits, stop, thread: Some(thread) })
    }

    /// The permits for polls of guests. The ticker adjusts their number.
    pub(crate) fn poll_permits(&self) -> &Arc<PollPermits> {
        &self.poll_permits
    }
}

impl Drop for EpochTicker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread never panics.
            let _ = thread.join();
        }
    }
}

fn tick(engine: &Engine, poll_permits: &PollPermits, stop: &AtomicBool, runtime: Option<&Handle>) {
    let (mut seen, mut idle) = (Seen::default(), 0);
    loop {
        std::thread::park_timeout(TICK);
        if stop.load(Ordering::SeqCst) {
            return;
        }
        engine.increment_epoch();
        idle = if poll_permits.is_idle(&seen) { idle + 1 } else { 0 };
        if let (true, Some(runtime)) = (poll_permits.on_tick(&mut seen), runtime) {
            // The worker that this task wakes then polls the I/O driver.
            drop(runtime.spawn(async {}));
        }
        if idle >= IDLE_TICKS {
            poll_permits.sleep_while_idle(&seen);
            idle = 0;
        }
    }
}
