//! Memory, open files, threads and child processes of the server's process.

use std::time::Duration;

use crate::server::Server;

/// The maximum time in which a process releases files and threads: idle threads end after two seconds.
const TIMEOUT: Duration = Duration::from_secs(15);

/// How long memory may take to go back to the system.
const GIVING_BACK: Duration = Duration::from_secs(20);

/// The time between two samples.
const PAUSE: Duration = Duration::from_millis(100);

/// A process at one moment.
#[derive(Debug, Clone, Copy)]
pub struct ProcessStats {
    pid: u32,
    /// Resident bytes.
    pub memory: u64,
    /// Of these, the bytes that are not pages of files, which the system can reclaim and share.
    pub own: u64,
    /// The peak of resident bytes.
    pub peak: u64,
    /// Open file descriptors.
    pub files: usize,
    pub threads: usize,
}

impl ProcessStats {
    /// The stats of the server.
    pub fn of(server: &Server) -> Self {
        Self::read(server.pid())
    }

    /// The stats of any process.
    pub fn read(pid: u32) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the server is alive");
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("the server is alive").count();
        let threads = usize::try_from(number(&status, "Threads:")).unwrap();
        let (memory, peak) = (number(&status, "VmRSS:") << 10, number(&status, "VmHWM:") << 10);
        let own = (number(&status, "RssAnon:") + number(&status, "RssShmem:")) << 10;
        Self { pid, memory, own, peak, files, threads }
    }

    /// The stats once the number of files has stayed the same for a moment.
    pub async fn settled(self) -> Self {
        let mut last = self;
        for _ in 0..10 {
            tokio::time::sleep(PAUSE).await;
            let now = Self::read(self.pid);
            if (now.files, now.threads) == (last.files, last.threads) {
                return now;
            }
            last = now;
        }
        last
    }

    /// The stats once the process has about as few files and threads as at `start`, or at the deadline.
    pub async fn wait_until_back_to(self, start: Self) -> Self {
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        let mut now = self;
        while (now.files > start.files + 2 || now.threads > start.threads + 2)
            && tokio::time::Instant::now() < deadline
        {
            tokio::time::sleep(PAUSE).await;
            now = Self::read(self.pid);
        }
        now
    }
}

/// Asserts that a server has released its files and threads, and all but `max` bytes of its memory, since `start`.
/// Returns its growth.
pub(crate) async fn assert_memory_released(
    name: &str,
    server: &Server,
    start: ProcessStats,
    max: i64,
) -> i64 {
    let deadline = tokio::time::Instant::now() + GIVING_BACK;
    let mut end = ProcessStats::of(server).wait_until_back_to(start).await;
    while grown(end.memory, start.memory) >= max && tokio::time::Instant::now() < deadline {
        tokio::time::sleep(PAUSE).await;
        end = ProcessStats::of(server).wait_until_back_to(start).await;
    }
    let left = grown(end.memory, start.memory);
    assert!(left < max, "{name}: {} MiB were not given back", left >> 20);
    assert!(end.files <= start.files + 2, "{name}: {} files, then {}", start.files, end.files);
    assert!(end.threads <= start.threads + 2, "{name}: {start:?}, then {end:?}");
    left
}

/// By how many bytes something has grown.
pub(super) fn grown(now: u64, before: u64) -> i64 {
    i64::try_from(now).unwrap() - i64::try_from(before).unwrap()
}

/// A number of a process's status.
fn number(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Processor time of a process so far.
pub fn processor_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the server is alive");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // Hundredths of a second on every machine.
    let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// Resident bytes of a process; 0 if it has ended.
pub fn resident(pid: u32) -> u64 {
    number(&std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default(), "VmRSS:") << 10
}

/// Bytes of a process that the system cannot reclaim without swapping, and the swapped bytes.
pub(super) fn own_and_swapped(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    ["RssAnon:", "RssShmem:", "VmSwap:"].iter().map(|name| number(&status, name) << 10).sum()
}

/// The processes that a process has started, zombies included.
pub fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists =
        threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>())
        .collect()
}
