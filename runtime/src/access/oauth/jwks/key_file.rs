//! Keys in a file of the operator, for issuers that this server cannot reach. The file is read again when its stat
//! changes. If reading fails, the last keys stay.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::task::spawn_blocking;

use super::key_set::KeySet;
use crate::access::oauth::remote_document::Unavailable;
use crate::config::JwksSource;
use crate::safe_open::{self, Symlinks};

/// How often the file's stat is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The parts of a stat that change with the file's contents or its permissions: inode, mtime, ctime and size.
type Stat = (u64, (i64, i64), (i64, i64), u64);

/// A file of keys.
#[derive(Debug)]
pub(in crate::access::oauth) struct KeyFile {
    path: Arc<Path>,
    state: Mutex<KeyFileState>,
}

#[derive(Debug, Default)]
struct KeyFileState {
    keys: Option<Arc<KeySet>>,
    /// The stat of the file at the last attempt to read it, even if that failed.
    stat: Option<Stat>,
    has_failed: bool,
    checked: Option<SystemTime>,
}

/// The result of reading the file, and the stat from before reading.
struct Reading {
    stat: Option<Stat>,
    keys: Result<KeySet, String>,
}

impl KeyFile {
    /// Reads the file for the first time. Blocks for about as long as reading the configuration.
    pub(super) fn new(path: PathBuf) -> Self {
        let mut state = KeyFileState::default();
        if let Some(reading) = read_changed(&path, None) {
            state.finish_reading(&path, reading);
        }
        Self { path: path.into(), state: Mutex::new(state) }
    }

    /// Returns the keys, after reading the file again if it has changed.
    pub(super) async fn keys(&self, now: SystemTime) -> Result<Arc<KeySet>, Unavailable> {
        if let Some(known) = self.begin_check(now) {
            // If this request is dropped meanwhile, the next check reads the file.
            let path = Arc::clone(&self.path);
            if let Ok(Some(reading)) = spawn_blocking(move || read_changed(&path, known)).await {
                self.state.lock().finish_reading(&self.path, reading);
            }
        }
        self.state.lock().keys.clone().ok_or(Unavailable { retry_after: CHECK_INTERVAL, is_away: true })
    }

    /// Returns the last stat if the file is due for a check, and `None` otherwise.
    fn begin_check(&self, now: SystemTime) -> Option<Option<Stat>> {
        let mut state = self.state.lock();
        let since = |checked: SystemTime| now.duration_since(checked).unwrap_or(CHECK_INTERVAL);
        if state.checked.is_some_and(|checked| since(checked) < CHECK_INTERVAL) {
            return None;
        }
        state.checked = Some(now);
        Some(state.stat)
    }
}

impl KeyFileState {
    fn finish_reading(&mut self, path: &Path, Reading { stat, keys }: Reading) {
        let is_news = !self.has_failed || stat != self.stat;
        self.stat = stat;
        self.has_failed = keys.is_err();
        match keys {
            Ok(keys) => self.keys = Some(Arc::new(keys)),
            Err(error) if is_news => {
                let file = path.display().to_string();
                tracing::warn!(
                    file,
                    error,
                    "a file of keys could not be read; the keys that were read last stay in use"
                );
            }
            Err(_) => {}
        }
    }
}

/// Reads the file, unless its stat equals `known`. Blocks.
fn read_changed(path: &Path, known: Option<Stat>) -> Option<Reading> {
    let metadata = std::fs::metadata(path);
    let of = |metadata: std::fs::Metadata| {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        (metadata.ino(), modified, (metadata.ctime(), metadata.ctime_nsec()), metadata.len())
    };
    let stat = metadata.map(of).ok();
    if stat.is_some() && stat == known {
        return None;
    }
    let text = safe_open::read(path, JwksSource::MAX_BYTES, Symlinks::Followed);
    let keys = match text {
        Ok(text) => KeySet::parse(&text).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    Some(Reading { stat, keys })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::JwtAlgorithm;

    fn write(path: &Path, kid: &str, changed: u64) {
        let x = "A".repeat(43);
        let keys = format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}","kid":"{kid}"}}]}}"#);
        std::fs::write(path, keys).unwrap();
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(changed)).unwrap();
    }

    async fn has(file: &KeyFile, kid: &str, second: u64) -> bool {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        file.keys(now).await.unwrap().has(Some(kid), JwtAlgorithm::EdDsa)
    }

    #[tokio::test]
    async fn a_changed_file_is_read_again_within_a_second() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.json");
        write(&path, "a", 1);
        let file = KeyFile::new(path.clone());
        assert!(has(&file, "a", 100).await);
        write(&path, "b", 2);
        assert!(has(&file, "a", 100).await, "it was looked at in this second");
        assert!(has(&file, "b", 101).await && !has(&file, "a", 101).await);
        std::fs::write(&path, "broken").unwrap();
        assert!(has(&file, "b", 102).await, "the old keys count");
        std::fs::remove_file(&path).unwrap();
        assert!(has(&file, "b", 103).await);
        write(&path, "c", 3);
        assert!(has(&file, "c", 104).await && !has(&file, "b", 104).await);
    }

    #[tokio::test]
    async fn without_a_file_nobody_knows_the_keys() {
        let file = KeyFile::new("no-such-folder/keys.json".into());
        assert_eq!(file.keys(SystemTime::now()).await.unwrap_err().retry_after, CHECK_INTERVAL);
    }
}
