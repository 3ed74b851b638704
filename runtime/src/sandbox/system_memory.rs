//! How much memory this process may use, and how much of it guests may use.

use std::path::Path;

use crate::config::{ServerConfig, mib};

/// Assumed if the system does not provide the size.
const UNKNOWN: u64 = 4 << 30;

/// How much memory this process may use, in bytes: that of the machine, or less if a control group limits it.
#[must_use]
pub fn memory() -> u64 {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let total = read(Path::new("/proc/meminfo")).as_deref().and_then(total).unwrap_or(UNKNOWN);
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    limits(&groups).iter().filter_map(|path| read(path)?.trim().parse().ok()).fold(total, u64::min)
}

/// How much memory all instances of a server with these settings may use, including idle ones.
#[must_use]
pub fn guest_memory(settings: &ServerConfig) -> usize {
    let half = || usize::try_from(memory() / 2).unwrap_or(usize::MAX);
    settings.guest_memory_mib.map_or_else(half, mib)
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// The files with the memory limits of the process's control group and its ancestors. In a container, its own group
/// appears as the root.
fn limits(groups: &str) -> Vec<std::path::PathBuf> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (root, file) = match parts.next() {
            Some("") => ("/sys/fs/cgroup", "memory.max"),
            Some(kinds) if kinds.split(',').any(|kind| kind == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let group = Path::new(parts.next().unwrap_or("/")).strip_prefix("/").unwrap_or(Path::new(""));
        limits.extend(group.ancestors().map(|group| Path::new(root).join(group).join(file)));
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_all_groups_around_a_process_hold() {
        let paths = |groups: &str| -> Vec<String> {
            limits(groups).iter().map(|path| path.display().to_string()).collect()
        };
        assert_eq!(
            paths("0::/a/b\n"),
            ["/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max", "/sys/fs/cgroup/memory.max"]
        );
        assert_eq!(paths("3:cpu:/x\n2:hugetlb,memory:/\n"), ["/sys/fs/cgroup/memory/memory.limit_in_bytes"]);
        assert!(paths("").is_empty() && memory() > 1 << 20);
        assert_eq!(total("MemFree: 5 kB\nMemTotal:   1024 kB\n").or(Some(0)), Some(1 << 20));
    }
}
