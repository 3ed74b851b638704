//! The thread whose ticks make guests pause.
//!
//! Fuel counts instructions, and much that a guest can have done for it costs none. Time passes all the same: every
//! tick begins a new epoch of the engine, and a guest that comes back to its own code in a new epoch pauses there, so
//! that the limits can act. It is a thread and no task, since it has to tick when every worker is occupied. It sleeps
//! while no guest runs.
//!
//! A worker of tokio that leaves the I/O driver to run one task wakes no other to take its place there, so nobody would
//! hear of a socket while that task holds its thread. Therefore the ticker wakes a worker while a poll is stuck; having
//! nothing to do, it waits at the driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Handle;
use wasmtime::Engine;

use super::poll_permits::{PollPermits, Seen};

/// Length of an epoch: for how long a guest may keep its thread without pausing, twice this at most.
const TICK: Duration = Duration::from_millis(5);

/// Ticks without a guest after which the thread sleeps; waking it costs a call some microseconds.
const IDLE_TICKS: u32 = 200;

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct EpochTicker {
    poll_permits: Arc<PollPermits>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl EpochTicker {
    /// Begins to tick for `engine`, whose guests run on the runtime from which this is called.
    ///
    /// # Errors
    /// When the system has no thread to give.
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

    /// The slots in which guests are polled, which this looks after.
    pub(crate) fn poll_permits(&self) -> &Arc<PollPermits> {
        &self.poll_permits
    }
}

impl Drop for EpochTicker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It panics nowhere, and nothing could be done about it here.
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
            // Whichever worker this wakes goes on to the I/O driver.
            drop(runtime.spawn(async {}));
        }
        if idle >= IDLE_TICKS {
            poll_permits.sleep_while_idle(&seen);
            idle = 0;
        }
    }
}
