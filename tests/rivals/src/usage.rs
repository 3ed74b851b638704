//! Processor time and memory of another process, from `/proc`.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Context as _, Result};

use crate::plan::Memory;

/// The unit of `/proc/PID/stat`: 100 a second on every Linux that programs see.
const TICK: f64 = 0.01;

/// Processor seconds of a process up to now.
#[derive(Clone, Copy, Debug)]
pub struct CpuTime {
    /// Of the threads that run, to the nanosecond.
    threads: f64,
    /// Of all threads, also of those that ended, to the tick.
    process: f64,
}

impl CpuTime {
    pub fn of(pid: u32) -> Result<Self> {
        let mut nanos = 0.0;
        for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
            // A thread may end meanwhile.
            let schedstat = std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
            nanos += schedstat.split(' ').next().and_then(|first| first.parse::<f64>().ok()).unwrap_or(0.0);
        }
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The name of the program may contain spaces; user and system time are the 12th and 13th field after it.
        let (_, fields) = stat.rsplit_once(") ").context("/proc/PID/stat has another form")?;
        let ticks: f64 =
            fields.split(' ').skip(11).take(2).filter_map(|field| f64::from_str(field).ok()).sum();
        Ok(Self { threads: nanos / 1e9, process: ticks * TICK })
    }

    /// The threads' time, unless much of it went with a thread that ended.
    pub fn since(self, begun: Self) -> f64 {
        (self.threads - begun.threads).max(self.process - begun.process - 4.0 * TICK)
    }
}

pub fn memory(pid: u32) -> Result<Memory> {
    let folder = format!("/proc/{pid}");
    let (status, maps) = (Path::new(&folder).join("status"), Path::new(&folder).join("smaps_rollup"));
    let status = std::fs::read_to_string(status)?;
    // Another user's process would not show it.
    let maps = std::fs::read_to_string(maps).unwrap_or_default();
    let private = ["Private_Clean:", "Private_Dirty:"].map(|name| kib(&maps, name));
    Ok(Memory {
        resident: kib(&status, "VmRSS:"),
        peak: kib(&status, "VmHWM:"),
        private: private.iter().sum(),
    })
}

fn kib(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory_and_time() {
        let begun = CpuTime::of(std::process::id()).unwrap();
        std::hint::black_box(crate::tools::work(30_000_000));
        let used = CpuTime::of(std::process::id()).unwrap().since(begun);
        assert!(used > 0.001, "{used}");
        assert!(memory(std::process::id()).unwrap().resident > 500);
    }
}
