//! What the system says about a process.

use std::collections::HashMap;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Memory of a process, KiB.
pub struct Memory {
    /// What it alone has and the system cannot read again from a file.
    pub private: f64,
    /// Pages of files that are as they are on the disk, such as code.
    pub mapped: f64,
    /// All that is resident.
    pub resident: f64,
}

impl Memory {
    pub fn of(process: u32) -> Self {
        let text = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap();
        let kib = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap()
        };
        Self {
            // A page of a file that no other process has mapped counts as private too, but as a clean one.
            private: kib("Private_Dirty:") + kib("Swap:"),
            mapped: kib("Private_Clean:") + kib("Shared_Clean:"),
            resident: kib("Rss:"),
        }
    }
}

/// The processor time of each thread of a process, ns.
pub struct CpuTimes(HashMap<String, u64>);

impl CpuTimes {
    pub fn of(process: u32) -> Self {
        let mut times = HashMap::new();
        for thread in std::fs::read_dir(format!("/proc/{process}/task")).unwrap() {
            let thread = thread.unwrap();
            // A thread may end meanwhile.
            let Ok(text) = std::fs::read_to_string(thread.path().join("schedstat")) else { continue };
            let time = text.split_whitespace().next().unwrap().parse().unwrap();
            times.insert(thread.file_name().into_string().unwrap(), time);
        }
        Self(times)
    }

    /// Processor time since `before`, µs. Threads that have ended do not count, since they served no call.
    pub fn micros_since(&self, before: &Self) -> f64 {
        let since =
            |(thread, time): (&String, &u64)| time - before.0.get(thread).copied().unwrap_or_default();
        self.0.iter().map(since).sum::<u64>() as f64 / 1e3
    }
}

/// Raises the limit on open files to the system's maximum, and returns it. A server does the same.
pub fn allow_open_files() -> usize {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    limit.maximum.map_or(usize::MAX, |maximum| maximum as usize)
}
