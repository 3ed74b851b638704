//! A program under callgrind, which writes a profile whenever it is asked.
//!
//! One run counts several paths: each profile has what was executed since the one before, so neither the start nor the
//! end of the program is in it. `vgdb` asks without `ptrace`, which containers may forbid; the program then answers
//! when it next wakes, a moment later.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;

use super::ProfileTotals;

/// The maximum time until a profile is written.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Where one program under callgrind writes its profiles, and where it is asked for them.
pub(super) struct Callgrind {
    folder: TempDir,
    profiles: u32,
}

impl Callgrind {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), profiles: 0 }
    }

    /// The command with which a shell becomes callgrind and runs the program of its arguments. The program has one
    /// processor, so it has the same number of threads on every machine.
    pub(super) fn shell(&self) -> String {
        let (processor, profile, pipe) = (first_processor(), self.profile(), self.pipe());
        format!(
            "exec taskset --cpu-list {processor} valgrind -q --tool=callgrind \
             --callgrind-out-file='{}' --vgdb-prefix='{}' \"$0\" \"$@\"",
            profile.display(),
            pipe.display()
        )
    }

    /// What the process executed since the last time, or since its start; the profile is moved to a file.
    pub(super) async fn totals(&mut self, pid: u32, to: &Path) -> ProfileTotals {
        let mut vgdb = Command::new("vgdb");
        vgdb.arg(format!("--vgdb-prefix={}", self.pipe().display()));
        vgdb.args(["--max-invoke-ms=0", &format!("--pid={pid}"), "dump"]);
        vgdb.stdin(Stdio::null()).kill_on_drop(true);
        let asked = tokio::time::timeout(TIMEOUT, vgdb.output()).await;
        let asked = asked.expect("valgrind answers in time").expect("vgdb is a part of valgrind");
        assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
        self.profiles += 1;
        let file = PathBuf::from(format!("{}.{}", self.profile().display(), self.profiles));
        let profile = std::fs::read(file).unwrap();
        std::fs::write(to, &profile).unwrap();
        ProfileTotals::parse(&String::from_utf8_lossy(&profile)).expect("callgrind writes a whole profile")
    }

    /// The path of profiles, to which callgrind adds a number.
    fn profile(&self) -> PathBuf {
        self.folder.path().join("profile")
    }

    fn pipe(&self) -> PathBuf {
        self.folder.path().join("vgdb")
    }
}

/// The first processor that this process may use.
fn first_processor() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let first: String = allowed.trim().chars().take_while(char::is_ascii_digit).collect();
    first.parse().unwrap()
}
