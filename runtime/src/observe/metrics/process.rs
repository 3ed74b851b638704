//! What the system knows of this process, under the names that Prometheus's own libraries have for it.

use std::fs;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::families;
use super::text::Samples;

/// Adds what can be known. The resident memory is known on Linux only.
pub(super) fn collect(samples: &mut Samples) {
    samples.add(&families::PROCESS_CPU, &[], cpu_time());
    if let Some(bytes) = fs::read_to_string("/proc/self/status").ok().as_deref().and_then(resident_memory) {
        samples.add(&families::PROCESS_MEMORY, &[], bytes);
    }
    if let Some(count) = open_fds() {
        samples.add(&families::PROCESS_OPEN_FDS, &[], count);
    }
    if let Some(max) = getrlimit(Resource::Nofile).current {
        samples.add(&families::PROCESS_MAX_FDS, &[], max);
    }
}

/// Processor time of all threads.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap_or_default(), now.tv_nsec.try_into().unwrap_or_default())
}

fn resident_memory(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1 << 10)
}

/// Open file descriptors, without the one of the folder that lists them.
fn open_fds() -> Option<usize> {
    let entries = fs::read_dir("/proc/self/fd").or_else(|_| fs::read_dir("/dev/fd")).ok()?;
    Some(entries.count().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_knows_what_it_uses() {
        assert_eq!(resident_memory("VmHWM:\t 9 kB\nVmRSS:\t    1024 kB\n"), Some(1 << 20));
        assert_eq!(resident_memory("VmRSS: much"), None);
        let before = cpu_time();
        let spent = (0..2_000_000_u64).fold(0, |sum: u64, n| std::hint::black_box(sum ^ n));
        assert!(cpu_time() > before, "{spent}");
        assert!(open_fds().is_some_and(|count| count > 2));
    }
}
