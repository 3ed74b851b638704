//! Measures a function in this process, on this thread.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::Row;

/// A function to measure.
pub trait BenchFn {
    async fn once(&mut self);
}

const WARM_UP: usize = 2_000;

pub fn measure_in_process<S: BenchFn>(name: &str, time: Duration, make: impl AsyncFnOnce() -> S) -> Row {
    runtime().block_on(async {
        let mut subject = make().await;
        for _ in 0..WARM_UP {
            subject.once().await;
        }
        let (begun, cpu) = (Instant::now(), thread_cpu());
        let mut latencies = Vec::new();
        while begun.elapsed() < time {
            let start = Instant::now();
            subject.once().await;
            latencies.push(start.elapsed().as_secs_f64() * 1e6);
        }
        Row::new(name, latencies, begun.elapsed().as_secs_f64(), thread_cpu() - cpu)
    })
}

/// A runtime with one thread and the server's setting.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().event_interval(2).enable_all().build().unwrap()
}

/// Processor seconds of the calling thread.
pub fn thread_cpu() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
