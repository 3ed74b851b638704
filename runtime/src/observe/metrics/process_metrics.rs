//! What the operating system says about this process, under the names that all Prometheus exporters use.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::metric_family::{MetricFamily, MetricKind};

/// The metrics of this process, which began at `started`. A metric that the system does not provide is left out.
#[must_use]
pub fn process_families(started: SystemTime) -> Vec<MetricFamily> {
    let begun = started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let mut families = vec![
        MetricFamily::single(
            MetricKind::Counter,
            "process_cpu_seconds_total",
            "Processor time of this process, without the processes that compile plugins.",
            processor_time().as_secs_f64(),
        ),
        MetricFamily::single(
            MetricKind::Gauge,
            "process_start_time_seconds",
            "When this process began, in seconds since 1970.",
            begun,
        ),
    ];
    let mut add = |name, help, value: Option<u64>| {
        families.extend(value.map(|value| MetricFamily::single(MetricKind::Gauge, name, help, value)));
    };
    add("process_resident_memory_bytes", "Resident memory.", status_bytes("VmRSS:"));
    add(
        "process_virtual_memory_bytes",
        "Reserved addresses, most of them without memory.",
        status_bytes("VmSize:"),
    );
    add("process_open_fds", "Open file descriptors.", open_files());
    add("process_max_fds", "The limit on open file descriptors.", getrlimit(Resource::Nofile).current);
    families
}

fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap_or_default(), now.tv_nsec.try_into().unwrap_or_default())
}

/// Reads one line of `/proc/self/status`, which only Linux has.
fn status_bytes(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

fn open_files() -> Option<u64> {
    let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    let files = std::fs::read_dir(folder).ok()?.count();
    // One of the open files is the folder that is being read.
    u64::try_from(files.saturating_sub(1)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_files_memory_and_time() {
        let families = process_families(SystemTime::now());
        let value = |name: &str| {
            let family = families.iter().find(|family| family.name == name);
            family.map(|family| family.samples[0].value.clone())
        };
        assert!(value("process_cpu_seconds_total").is_some() && value("process_open_fds").is_some());
        if cfg!(target_os = "linux") {
            assert!(value("process_resident_memory_bytes").is_some() && value("process_max_fds").is_some());
        }
    }
}
