//! `plugport.lock`: what was approved, made to be committed and to be read in a review.
//!
//! A checksum detects a lockfile that is cut off, edited or badly merged. It is over the parsed contents, so line
//! endings may differ. It is no signature: everybody who can write the file can approve.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::approved_plugin::ApprovedPlugin;
use super::atomic_file;
use super::sha256::sha256;
use crate::safe_open::{self, OpenError, Symlinks};

/// The format that this program writes and reads.
const VERSION: i64 = 1;

/// Longest file, bytes.
const MAX_BYTES: u64 = 64 << 20;

/// The most that one plugin takes of it: no plugin keeps others from being approved.
const MAX_PART: u64 = MAX_BYTES / 2;

const HEADER: &str = "\
# What was approved: written by `plugport approve`, and compared by `plugport serve` with what plugins are and say of
# themselves. Commit this file, and read its changes as you read those of code. It is not to be edited: run
# `plugport approve` instead.

";

/// The approvals, by plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lockfile(BTreeMap<String, ApprovedPlugin>);

/// Why the lockfile cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LockfileError {
    /// It cannot be read.
    #[error("cannot read {}; check its mode", file.display())]
    Unreadable {
        /// The lockfile.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A directory, device, socket or pipe.
    #[error("{} is not a regular file; remove it and run `plugport approve`", .0.display())]
    NotAFile(PathBuf),
    /// Longer than a lockfile may be.
    #[error("{} is longer than {} MiB; approve fewer plugins, or plugins that say less", .0.display(), MAX_BYTES >> 20)]
    TooLong(PathBuf),
    /// One plugin says too much for it.
    #[error(
        "it would take {} KiB of the lockfile, which has {} MiB for all plugins and {} MiB for one; list and ship less",
        .0 >> 10, MAX_BYTES >> 20, MAX_PART >> 20
    )]
    NoRoom(u64),
    /// A later plugport wrote it.
    #[error("{} has the form {version}, which this plugport does not know; use the one that wrote it", file.display())]
    Version {
        /// The lockfile.
        file: PathBuf,
        /// The version in the file.
        version: i64,
    },
    /// Cut off, edited or badly merged.
    #[error(
        "{} is not as `plugport approve` wrote it: {why}; restore it from version control, or delete it and run \
         `plugport approve` again",
        file.display()
    )]
    Damaged {
        /// The lockfile.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It cannot be written, and keeps its old contents.
    #[error("cannot write {}, which stays as it was; make room, or check the mode of its folder", file.display())]
    Unwritable {
        /// The lockfile.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It changed after it was read.
    #[error("{} was changed meanwhile, so nothing was written; run `plugport approve` again", .0.display())]
    Changed(PathBuf),
}

/// The file as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLockfile {
    version: i64,
    checksum: String,
    #[serde(default)]
    plugins: BTreeMap<String, ApprovedPlugin>,
}

impl Lockfile {
    /// Reads a lockfile. If there is none, nothing is approved.
    ///
    /// # Errors
    /// When the file is not a lockfile, or not as it was written.
    pub fn read(file: &Path) -> Result<Self, LockfileError> {
        let file_name = || file.to_owned();
        let bytes = match safe_open::read(file, MAX_BYTES, Symlinks::Followed) {
            Ok(bytes) => bytes,
            Err(OpenError::Unreadable(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(OpenError::Unreadable(source)) => {
                return Err(LockfileError::Unreadable { file: file_name(), source });
            }
            Err(OpenError::Link | OpenError::NotAFile) => return Err(LockfileError::NotAFile(file_name())),
            Err(OpenError::TooLarge(_)) => return Err(LockfileError::TooLong(file_name())),
        };
        Self::parse(bytes, file)
    }

    fn parse(bytes: Vec<u8>, file: &Path) -> Result<Self, LockfileError> {
        let damaged =
            |why: &str| LockfileError::Damaged { file: file.to_owned(), why: why.trim_end().to_owned() };
        let text = String::from_utf8(bytes).map_err(|_| damaged("it is not text in UTF-8"))?;
        // Version control may have changed line endings. A lockfile has no other carriage returns.
        let text = text.replace("\r\n", "\n");
        let table: toml::Table = toml::from_str(&text).map_err(|error| damaged(error.message()))?;
        match table.get("version").and_then(toml::Value::as_integer) {
            Some(VERSION) => {}
            Some(version) => return Err(LockfileError::Version { file: file.to_owned(), version }),
            None => return Err(damaged("it does not say its version")),
        }
        let raw: RawLockfile = table.try_into().map_err(|error: toml::de::Error| damaged(error.message()))?;
        if let Some((name, _)) = raw.plugins.iter().find(|(_, approved)| !approved.is_whole()) {
            return Err(damaged(&format!("the entry of `{name}` does not match its digest")));
        }
        match checksum(&raw.plugins) {
            Ok(checksum) if checksum == raw.checksum => Ok(Self(raw.plugins)),
            _ => Err(damaged("its checksum is another")),
        }
    }

    /// Replaces `old`. No other `plugport approve` writes between the comparison and the writing. Blocks.
    ///
    /// # Errors
    /// When the file is not `old`, or cannot be written. Then it keeps its contents.
    pub fn write(&self, old: &Self, file: &Path) -> Result<(), LockfileError> {
        let unwritable = |source| LockfileError::Unwritable { file: file.to_owned(), source };
        let text = self.text().map_err(unwritable)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(LockfileError::TooLong(file.to_owned()));
        }
        let locked = atomic_file::LockedFile::new(file).map_err(unwritable)?;
        if Self::read(file)? != *old {
            return Err(LockfileError::Changed(file.to_owned()));
        }
        locked.replace(text.as_bytes()).map_err(unwritable)
    }

    fn text(&self) -> io::Result<String> {
        let plugins = self.0.clone();
        let raw = RawLockfile { version: VERSION, checksum: checksum(&plugins)?, plugins };
        let written = toml::to_string_pretty(&raw).map_err(io::Error::other)?;
        Ok(format!("{HEADER}{written}"))
    }

    /// The approval of a plugin.
    #[must_use]
    pub fn get(&self, plugin: &str) -> Option<&ApprovedPlugin> {
        self.0.get(plugin)
    }

    /// The plugins that were approved, by name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Approves a plugin; replaces an older approval.
    pub fn approve(&mut self, plugin: &str, approved: ApprovedPlugin) {
        self.0.insert(plugin.to_owned(), approved);
    }

    /// How many bytes the lockfile has with this approval instead of an older one, where it has `bytes` now.
    ///
    /// # Errors
    /// When these are too many. Then the approval cannot be recorded, and others can.
    pub fn bytes_with(
        &self,
        bytes: u64,
        plugin: &str,
        approved: &ApprovedPlugin,
    ) -> Result<u64, LockfileError> {
        let old = self.get(plugin).map_or(0, |old| part_bytes(plugin, old));
        let part = part_bytes(plugin, approved);
        let bytes = bytes.saturating_sub(old).saturating_add(part);
        if has_room(part, bytes) { Ok(bytes) } else { Err(LockfileError::NoRoom(part)) }
    }

    /// About how many bytes it has.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|(plugin, approved)| part_bytes(plugin, approved)).sum()
    }

    /// Removes an approval.
    pub fn forget(&mut self, plugin: &str) {
        self.0.remove(plugin);
    }
}

fn has_room(part: u64, all: u64) -> bool {
    part <= MAX_PART && all <= MAX_BYTES
}

/// How many bytes of the lockfile the approval of one plugin takes.
fn part_bytes(plugin: &str, approved: &ApprovedPlugin) -> u64 {
    let alone = Lockfile([(plugin.to_owned(), approved.clone())].into());
    alone.text().map_or(u64::MAX, |text| text.len().saturating_sub(HEADER.len()) as u64)
}

/// The checksum over the parsed contents.
fn checksum(plugins: &BTreeMap<String, ApprovedPlugin>) -> io::Result<String> {
    Ok(sha256(&serde_json::to_vec(&(VERSION, plugins))?))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::super::item_descriptor::ItemDescriptor;
    use super::*;

    fn descriptor(says: &str) -> ItemDescriptor {
        ItemDescriptor { digest: sha256(says.as_bytes()), says: says.to_owned() }
    }

    /// With everything that TOML could take for something else.
    fn lockfile() -> Lockfile {
        let mut approved = ApprovedPlugin {
            digest: sha256(b"a"),
            imports: vec!["wasi:cli/stdout@0.2.6".to_owned(), "wasi:http/types@0.2.6".to_owned()],
            grants: vec!["read ./a \"b\" as /b".to_owned()],
            ..ApprovedPlugin::default()
        };
        let odd = "name: ''' \"\"\" \\ # ünïcode ✓\n  {\n    \"\": \"\"\n  }\n\n  trailing  \n";
        for (name, says) in [("a", "name: a\n"), ("b", odd), ("c", "\n\"\"\"\"\"'''''\n"), ("d", "'\"\n")] {
            approved.tools.insert(name.to_owned(), descriptor(says));
            approved.resources.insert(format!("n:///{name} \"x\".y"), descriptor(says));
        }
        let mut lockfile = Lockfile::default();
        lockfile.approve("plain", ApprovedPlugin { digest: sha256(b"b"), ..ApprovedPlugin::default() });
        lockfile.approve("all", approved);
        lockfile
    }

    fn lockfile_path() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plugport.lock");
        (dir, file)
    }

    fn damage(file: &Path, text: &str) -> String {
        fs::write(file, text).unwrap();
        Lockfile::read(file).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_is_read_and_written_again_the_same() {
        let (dir, file) = lockfile_path();
        assert_eq!(Lockfile::read(&file).unwrap(), Lockfile::default(), "none is an empty one");
        lockfile().write(&Lockfile::default(), &file).unwrap();
        assert_eq!(Lockfile::read(&file).unwrap(), lockfile());
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("# What was approved: written by `plugport approve`"), "{text}");
        assert!(text.contains("version = 1\nchecksum = \"sha256:"), "{text}");
        assert!(text.contains("says = \"\"\"\nname: a\n\"\"\"\n"), "the words are lines: {text}");
        Lockfile::read(&file).unwrap().write(&lockfile(), &file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        fs::write(&file, text.replace('\n', "\r\n")).unwrap();
        assert_eq!(Lockfile::read(&file).unwrap(), lockfile(), "whatever the ends of lines");
        assert_eq!(dir.path().read_dir().unwrap().count(), 1, "nothing stays beside it");
    }

    #[test]
    fn what_others_approved_meanwhile_is_not_written_over() {
        let (_dir, file) = lockfile_path();
        lockfile().write(&Lockfile::default(), &file).unwrap();
        let told = Lockfile::default().write(&Lockfile::default(), &file).unwrap_err().to_string();
        assert!(told.contains("was changed meanwhile, so nothing was written"), "{told}");
        assert_eq!(Lockfile::read(&file).unwrap(), lockfile());
        Lockfile::default().write(&lockfile(), &file).unwrap();
        assert_eq!(Lockfile::read(&file).unwrap(), Lockfile::default());
    }

    #[test]
    fn a_torn_lock_is_found_out_wherever_it_was_torn() {
        let (_dir, file) = lockfile_path();
        let text = lockfile().text().unwrap();
        let whole = text.trim_end().len();
        for end in (0..whole).filter(|end| text.is_char_boundary(*end)).step_by(7) {
            let told = damage(&file, &text[..end]);
            assert!(told.contains("restore it from version control"), "{end}: {told}");
        }
    }

    #[test]
    fn a_lock_that_was_edited_is_found_out() {
        let (_dir, file) = lockfile_path();
        let text = lockfile().text().unwrap();
        for (from, to, why) in [
            (sha256(b"a"), sha256(b"c"), "its checksum is another"),
            ("types@0.2.6".into(), "types@0.2.7".into(), "its checksum is another"),
            ("[plugins.plain]".into(), "[plugins.other]".into(), "its checksum is another"),
            ("name: a".into(), "name: z".into(), "does not match its digest"),
            ("version = 1".into(), "version = 1\nmore = 2".into(), "unknown field"),
            (
                "version = 1\n".into(),
                "<<<<<<< ours\nversion = 1\n".into(),
                "is not as `plugport approve` wrote",
            ),
            ("version = 1\n".into(), String::new(), "does not say its version"),
        ] {
            assert!(text.contains(&from), "{from}");
            let told = damage(&file, &text.replace(&from, &to));
            assert!(told.contains(why) && told.contains("plugport approve"), "{from}: {told}");
        }
        let told = damage(&file, &text.replace("version = 1", "version = 2"));
        assert!(told.contains("has the form 2") && told.contains("the one that wrote it"), "{told}");
    }

    #[test]
    fn a_plugin_that_says_too_much_leaves_room_for_others() {
        let says = |bytes: usize| ApprovedPlugin {
            tools: [("t".to_owned(), descriptor(&"x".repeat(bytes)))].into(),
            ..ApprovedPlugin::default()
        };
        let mut lockfile = lockfile();
        let bytes = lockfile.bytes();
        assert!(bytes.abs_diff(lockfile.text().unwrap().len() as u64) < 1_000, "{bytes}");
        let with = lockfile.bytes_with(bytes, "more", &says(9_000)).unwrap();
        assert!((bytes + 9_000..bytes + 10_000).contains(&with), "{with}");
        lockfile.approve("more", says(9_000));
        assert_eq!(lockfile.bytes_with(with, "more", &says(9_000)).unwrap(), with, "it is replaced");
        assert!(has_room(MAX_PART, MAX_BYTES));
        assert!(!has_room(MAX_PART + 1, MAX_BYTES) && !has_room(MAX_PART, MAX_BYTES + 1));
        let full = lockfile.bytes_with(MAX_BYTES, "other", &says(9_000)).unwrap_err().to_string();
        assert!(full.contains("64 MiB for all plugins and 32 MiB for one"), "{full}");
    }

    #[test]
    fn what_is_no_file_or_too_long_is_rejected() {
        let (dir, file) = lockfile_path();
        assert!(matches!(Lockfile::read(dir.path()), Err(LockfileError::NotAFile(_))));
        assert!(matches!(Lockfile::read(Path::new("/dev/zero")), Err(LockfileError::NotAFile(_))));
        File::create(&file).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert!(matches!(Lockfile::read(&file), Err(LockfileError::TooLong(_))));
    }
}
