//! Watches the peak memory of a server with its compilers, from before the server starts: the server compiles before it
//! serves, and its compilers have ended by then.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::process_stats::{children, resident};

/// The time between two samples.
const PAUSE: Duration = Duration::from_millis(20);

/// Watches until `end` or drop.
pub(super) struct MemoryWatch {
    over: Arc<AtomicBool>,
    watching: JoinHandle<MemoryPeak>,
}

/// The peak.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct MemoryPeak {
    /// Resident bytes of all processes together.
    pub(super) bytes: u64,
    /// Compilers that ran at that time.
    pub(super) compilers: usize,
}

impl MemoryWatch {
    /// Watches the server that is about to start with this plugin folder. Its command line identifies it, since its
    /// process id is not known before it serves.
    pub(super) fn begin(folder: &Path) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (ended, folder) = (Arc::clone(&over), folder.display().to_string());
        let watching = tokio::task::spawn_blocking(move || {
            let mut peak = MemoryPeak::default();
            while !ended.load(Ordering::Relaxed) {
                peak = peak.with(&folder);
                std::thread::sleep(PAUSE);
            }
            peak
        });
        Self { over, watching }
    }

    /// The peak of resident memory.
    pub(super) async fn end(mut self) -> MemoryPeak {
        self.over.store(true, Ordering::Relaxed);
        let peak = (&mut self.watching).await.unwrap();
        assert!(peak.bytes > 0 && peak.compilers > 0, "not all was watched: {peak:?}");
        peak
    }
}

impl Drop for MemoryWatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl MemoryPeak {
    /// Ends the watch after one more sample.
    fn with(self, folder: &str) -> Self {
        let own = children(std::process::id()).into_iter().map(|pid| (pid, command(pid)));
        let Some((server, started)) = own.into_iter().find(|(_, command)| command.contains(folder)) else {
            return self;
        };
        // A process that was split off a moment ago still runs the server's program in the server's memory.
        let compilers: Vec<u32> =
            children(server).into_iter().filter(|pid| command(*pid) != started).collect();
        let bytes = resident(server) + compilers.iter().map(|pid| resident(*pid)).sum::<u64>();
        Self { bytes: self.bytes.max(bytes), compilers: self.compilers.max(compilers.len()) }
    }
}

/// The command line of a process; of one that has ended, nothing.
fn command(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}
