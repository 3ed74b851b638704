//! Eight calls change one directory at once, in every possible way. The server is paused now and then, so that the disk
//! can be compared with the quota; when all calls have ended, the remaining quota is compared with the disk.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use plugport_tests::hostile_files::seeded;
use plugport_tests::http_client::Client;
use plugport_tests::server::Server;
use serde_json::json;

const GUEST: &str = "hostile_quota_race";

/// Makes files until no more can be made.
const CROWD: &str = "hostile_disk_filler";

/// The quota: small, so that the directory is full most of the time and measured often.
const MIB: u64 = 3;
const FILES: u64 = 150;

/// The steps in which sizes count.
const STEP: u64 = 4_096;

/// The contents of a directory, as quotas count them.
#[derive(Debug, Default)]
struct DiskState {
    bytes: u64,
    files: u64,
    seen: HashSet<u64>,
}

impl DiskState {
    fn add(&mut self, about: &std::fs::Metadata) {
        self.files += 1;
        if self.seen.insert(about.ino()) {
            self.bytes += if about.is_file() { about.len().next_multiple_of(STEP) } else { STEP };
        }
    }

    /// Of everything below a directory, and of files that a process has open without a name.
    fn of(root: &Path, pid: u32) -> Self {
        let mut truth = Self::default();
        let mut pending = vec![root.to_owned()];
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let about = entry.metadata().unwrap();
                truth.add(&about);
                if about.is_dir() {
                    pending.push(entry.path());
                }
            }
        }
        for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap() {
            let path = entry.unwrap().path();
            let Ok(target) = std::fs::read_link(&path) else { continue };
            let Ok(about) = std::fs::metadata(&path) else { continue };
            if target.starts_with(root)
                && about.is_file()
                && about.nlink() == 0
                && !truth.seen.contains(&about.ino())
            {
                truth.add(&about);
            }
        }
        truth
    }

    fn assert_within(&self, when: &str) {
        let Self { bytes, files, .. } = self;
        assert!(*bytes <= MIB << 20, "{when}: {bytes} bytes in {files} files, of {MIB} MiB");
        assert!(*files <= FILES, "{when}: {bytes} bytes in {files} files, of {FILES}");
    }
}

/// Waits until no thread of a process runs.
async fn stopped(pid: u32) {
    let is_stopped = |task: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(task.unwrap().path().join("stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while !std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().all(is_stopped) {
        assert!(Instant::now() < deadline, "the server does not stop");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn racers(folder: &Path) -> Server {
    let of = |guest: &str| {
        format!(
            "[plugins.{guest}]\nlimits = {{ wall_ms = 600_000, cpu_ms = 600_000, fuel = 1_000_000_000_000, open_files = 16 }}\n\
             [plugins.{guest}.grants]\n\
             dirs = [{{ host = {folder:?}, guest = \"/d\", write = true, quota_mib = {MIB}, files = {FILES} }}]\n"
        )
    };
    let config = of(GUEST) + &of(CROWD);
    Server::builder().guest(GUEST).guest(CROWD).config(&config).start().await
}

/// Races for this long, in rounds that leave a directory as full as it became.
async fn assert_held(seed: u64, time: Duration) {
    println!("seed {seed}");
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().canonicalize().unwrap();
    let server = racers(&folder).await;
    let client = Client::new(server.url());
    let mut random = seeded(seed | 1);
    let (until, mut looks, mut fullest) = (Instant::now() + time, 0, 0);
    while Instant::now() < until {
        let ms = 1_000 + random(1_000);
        let calls: Vec<_> = (0..8)
            .map(|_| {
                let (client, seed) = (Client::new(server.url()), random(1 << 40));
                tokio::spawn(async move {
                    let arguments = json!({ "directory": "/d", "seed": seed, "ms": ms });
                    client.call(&format!("{GUEST}-race"), arguments).await.tool_text().to_owned()
                })
            })
            .collect();
        while !calls.iter().all(tokio::task::JoinHandle::is_finished) {
            tokio::time::sleep(Duration::from_millis(random(60) as u64)).await;
            server.signal("-STOP").await;
            stopped(server.pid()).await;
            let truth = DiskState::of(&folder, server.pid());
            server.signal("-CONT").await;
            truth.assert_within(&format!("seed {seed}, look {looks}"));
            (looks, fullest) = (looks + 1, fullest.max(truth.bytes));
        }
        for call in calls {
            assert!(call.await.unwrap().ends_with(" done"));
        }
        if random(3) == 0 {
            assert_counted(&server, &client, &folder).await;
        }
    }
    assert_counted(&server, &client, &folder).await;
    println!("{looks} looks, {fullest} bytes at most");
    assert!(fullest > (MIB << 20) / 2, "the quota was not tried: {fullest}");
}

/// Removes one name: of a file, or of a directory that is empty.
fn remove_one(folder: &Path) {
    let Some(entry) = std::fs::read_dir(folder).unwrap().next() else {
        return std::fs::remove_dir(folder).unwrap();
    };
    let entry = entry.unwrap();
    match entry.file_type().unwrap().is_dir() {
        true => remove_one(&entry.path()),
        false => std::fs::remove_file(entry.path()).unwrap(),
    }
}

/// The guest can use exactly the rest of the quota: not more, which would mean uncounted files, and not less, which
/// would mean that deleted files still count.
async fn assert_counted(server: &Server, client: &Client, folder: &Path) {
    let arguments = json!({ "directory": "/d" });
    // The interval of measurements: the end of a call does not cause one.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    if DiskState::of(folder, server.pid()).files >= FILES {
        remove_one(folder);
    }
    client.call(&format!("{GUEST}-fill"), arguments.clone()).await.tool_text();
    let full = DiskState::of(folder, server.pid());
    full.assert_within("full");
    let left = (MIB << 20) - full.bytes;
    assert!(left < STEP, "{left} bytes cannot be written: {full:?}");
    client.call(&format!("{CROWD}-crowd"), arguments).await.tool_text();
    let crowded = DiskState::of(folder, server.pid());
    crowded.assert_within("crowded");
    assert_eq!(crowded.files, FILES, "not all files can be made: {crowded:?}");
    // The test removes them, since the directories are nested deeper than the guest may have files open.
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let removed = match entry.file_type().unwrap().is_dir() {
            true => std::fs::remove_dir_all(entry.path()),
            false => std::fs::remove_file(entry.path()),
        };
        removed.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_quota_race() {
    let seed = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
    assert_held(u64::try_from(seed).unwrap(), Duration::from_secs(8)).await;
}

/// The same for minutes. Run it with `--ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "soak: five minutes"]
async fn soak_hostile_quota_race() {
    let seed = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
    assert_held(u64::try_from(seed).unwrap(), Duration::from_secs(300)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn impossible_paths_are_rejected_before_they_are_opened() {
    let dir = tempfile::tempdir().unwrap();
    let server = racers(dir.path()).await;
    let client = Client::new(server.url());
    let before = server.rss();
    let begun = Instant::now();
    for _ in 0..3 {
        let arguments = json!({ "directory": "/d", "times": 2 });
        let reply = client.call(&format!("{GUEST}-long_paths"), arguments).await;
        let told = reply.tool_text();
        let rejected = told.lines().filter(|line| {
            line.to_lowercase().contains("nametoolong") || line.to_lowercase().contains("name-too-long")
        });
        assert_eq!(rejected.count(), 13, "{told}");
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(server.rss() < before + (200 << 20), "{before}, then {}", server.rss());
}
