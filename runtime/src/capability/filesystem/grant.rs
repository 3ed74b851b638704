//! `dirs`: directories of the host as the guest sees them. `"./data"`, or
//! `{ host = "./data", guest = "/data", write = true, quota_mib = 64, files = 1000 }`; on the command line `dir=HOST`,
//! `dir=HOST:GUEST` or `dir=HOST:GUEST:rw`.
//!
//! Whether a directory may be granted is decided once, on the resolved path, so that links cannot change the decision.

use std::path::{Path, PathBuf};

use toml::de::DeValue;

use super::policy::{is_guest_path, why_forbidden};
use crate::capability::grant_trait::{Grant, GrantContext, GrantError, GrantOption, GrantSentence, Import};
use crate::toml_reader::{TomlEntry, TomlReader, TomlTable};

/// The quota of a directory that is granted with `write` and no quota.
const DEFAULT_QUOTA: DirQuota = DirQuota { mib: 64, files: 1_000 };

/// The largest quota that may be granted.
const MAX_QUOTA: DirQuota = DirQuota { mib: 1_048_576, files: 1_000_000 };

/// How large a guest may make a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirQuota {
    /// Size of all files together, MiB; each counts in steps of 4 KiB.
    pub mib: u64,
    /// Files and directories.
    pub files: u64,
}

/// One directory, as the guest sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirGrant {
    /// Canonical path on the host.
    pub host: PathBuf,
    /// Absolute path in the guest.
    pub guest: String,
    /// Its quota; `None` when the guest may change nothing.
    pub write: Option<DirQuota>,
    /// Folders below it with state or compiled code, which the guest may not open.
    pub hidden: Vec<PathBuf>,
}

impl DirGrant {
    /// Resolves the path and rejects what no plugin may have: a directory that is missing, a forbidden root, a
    /// directory where writing would reach a protected path, a guest path that is not absolute.
    fn new(raw: &RawDirGrant<'_>, context: GrantContext<'_>) -> Result<Self, GrantError> {
        let RawDirGrant { host, guest, write } = *raw;
        let path = context.base.join(host);
        let missing = |reason: String| GrantError::Missing { path: path.clone(), reason };
        let host = path.canonicalize().map_err(|error| missing(error.to_string()))?;
        if !host.is_dir() {
            return Err(missing("it is not a directory".to_owned()));
        }
        if let Some(why) = why_forbidden(&host, write.is_some(), context.protected) {
            return Err(GrantError::Protected { path: host, why });
        }
        let guest = match guest {
            Some(guest) => guest.to_owned(),
            None => format!("/{}", host.file_name().unwrap_or_default().to_string_lossy()),
        };
        if !is_guest_path(&guest) {
            return Err(GrantError::GuestPath(guest));
        }
        let hidden = context.protected.unreadable_below(&host);
        Ok(Self { guest, write, hidden, host })
    }

    /// Reads an element of the array `dirs`. `None`: it has neither form, which is reported.
    fn read(
        entry: TomlEntry<'_>,
        context: GrantContext<'_>,
        reader: &mut TomlReader<'_>,
    ) -> Option<Result<Self, GrantError>> {
        if matches!(entry.value, DeValue::String(_)) {
            let host = entry.string(reader)?;
            return Some(Self::new(&RawDirGrant { host: &host, guest: None, write: None }, context));
        }
        let (key, span) = (entry.key.clone(), entry.span.clone());
        let mut table = entry.table(reader)?;
        let host = table.take("host").and_then(|entry| entry.string(reader));
        let guest = table.take("guest").and_then(|entry| entry.string(reader));
        let write = read_quota(&mut table, reader);
        table.finish(reader, &["host", "guest", "write", "quota_mib", "files"]);
        if host.is_none() {
            reader.report(span, &key, "needs `host`, the directory to grant");
        }
        Some(Self::new(&RawDirGrant { host: &host?, guest: guest.as_deref(), write }, context))
    }

    /// Reads `HOST`, `HOST:GUEST` or `HOST:GUEST:rw`.
    fn parse(text: &str, context: GrantContext<'_>) -> Result<Self, GrantError> {
        let parts: Vec<&str> = text.split(':').collect();
        let raw = match parts.as_slice() {
            [host] => RawDirGrant { host, guest: None, write: None },
            [host, guest] | [host, guest, "ro"] => RawDirGrant { host, guest: Some(guest), write: None },
            [host, guest, "rw"] => RawDirGrant { host, guest: Some(guest), write: Some(DEFAULT_QUOTA) },
            _ => {
                let why = "write dir=HOST, dir=HOST:GUEST or dir=HOST:GUEST:rw".to_owned();
                return Err(GrantError::Form { grant: text.to_owned(), why });
            }
        };
        Self::new(&raw, context)
    }
}

/// Imports that lead to files.
pub(crate) const FILES: Import = Import::new("wasi:filesystem/", "files");

/// The directories of one plugin, each under a guest path of its own.
pub(crate) type Granted = Vec<DirGrant>;

impl Grant for Granted {
    const KEYS: &'static [&'static str] = &["dirs"];
    const FORMS: &'static [&'static str] = &["dir=HOST", "dir=HOST:GUEST", "dir=HOST:GUEST:rw"];
    const IMPORTS: &'static [Import] = &[FILES];

    fn read(
        &mut self,
        _: &str,
        entry: TomlEntry<'_>,
        context: GrantContext<'_>,
        reader: &mut TomlReader<'_>,
    ) {
        for entry in entry.array(reader) {
            let (key, span) = (entry.key.clone(), entry.span.clone());
            let Some(dir) = DirGrant::read(entry, context, reader) else { continue };
            if let Err(error) = dir.and_then(|dir| add_dir(self, dir)) {
                reader.report(span, &key, error.to_string());
            }
        }
    }

    fn add(&mut self, option: GrantOption<'_>, context: GrantContext<'_>) -> Result<(), GrantError> {
        add_dir(self, DirGrant::parse(option.value, context)?)
    }

    fn describe(&self, shown: &dyn Fn(&Path) -> String, sentences: &mut Vec<GrantSentence>) {
        sentences.extend(self.iter().map(|dir| {
            let dir_as_guest = format!("{} as {}", shown(&dir.host), dir.guest);
            let may = match dir.write {
                None => format!("read {dir_as_guest}"),
                Some(DirQuota { mib, files }) => {
                    format!("read and write {dir_as_guest}, up to {mib} MiB in {files} files")
                }
            };
            ("dirs", may)
        }));
    }

    fn is_subset_of(&self, other: &Self) -> bool {
        self.iter().all(|dir| other.iter().any(|wider| is_dir_subset(dir, wider)))
    }
}

fn add_dir(dirs: &mut Granted, dir: DirGrant) -> Result<(), GrantError> {
    if dirs.iter().any(|other| other.guest == dir.guest) {
        return Err(GrantError::Twice(dir.guest));
    }
    dirs.push(dir);
    Ok(())
}

fn is_dir_subset(own: &DirGrant, wider: &DirGrant) -> bool {
    let quota = match (own.write, wider.write) {
        (None, _) => true,
        (Some(DirQuota { mib, files }), Some(wider)) => mib <= wider.mib && files <= wider.files,
        (Some(_), None) => false,
    };
    own.host == wider.host && own.guest == wider.guest && quota
}

/// A grant as it is written.
struct RawDirGrant<'a> {
    host: &'a str,
    guest: Option<&'a str>,
    write: Option<DirQuota>,
}

/// Reads `write` and what goes with it.
fn read_quota(table: &mut TomlTable<'_>, reader: &mut TomlReader<'_>) -> Option<DirQuota> {
    let write = table.take("write").and_then(|entry| entry.boolean(reader)).unwrap_or(false);
    let mut number = |key: &str, default: u64, max: u64| {
        let Some(entry) = table.take(key) else { return default };
        if !write {
            reader.report(entry.span, &entry.key, "needs `write = true`");
            return default;
        }
        entry.number(1, max, reader).unwrap_or(default)
    };
    let mib = number("quota_mib", DEFAULT_QUOTA.mib, MAX_QUOTA.mib);
    let files = number("files", DEFAULT_QUOTA.files, MAX_QUOTA.files);
    write.then_some(DirQuota { mib, files })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::grant_trait::ProtectedPaths;

    fn grant(
        base: &Path,
        host: &str,
        write: bool,
        protected: &ProtectedPaths,
    ) -> Result<DirGrant, GrantError> {
        let write = write.then_some(DEFAULT_QUOTA);
        DirGrant::new(&RawDirGrant { host, guest: Some("/x"), write }, GrantContext { base, protected })
    }

    #[test]
    fn roots_that_hold_the_machine_are_rejected() {
        for root in ["/", "/proc", "/proc/self", "/sys", "/dev", "/etc"] {
            let result = grant(Path::new(""), root, false, &ProtectedPaths::default());
            assert!(matches!(result, Err(GrantError::Protected { .. })), "{root}: {result:?}");
        }
    }

    #[test]
    fn a_link_to_a_forbidden_root_is_rejected_too() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("harmless")).unwrap();
        let result = grant(dir.path(), "harmless", false, &ProtectedPaths::default());
        assert!(matches!(result, Err(GrantError::Protected { .. })), "{result:?}");
    }

    #[test]
    fn the_plugin_folder_is_never_granted_and_what_holds_it_for_reading_only() {
        let dir = tempfile::tempdir().unwrap();
        let plugins = dir.path().canonicalize().unwrap().join("plugins");
        std::fs::create_dir_all(plugins.join("inner")).unwrap();
        let protected = ProtectedPaths { folders: vec![plugins.clone()], ..ProtectedPaths::default() };
        assert!(grant(dir.path(), ".", false, &protected).is_ok());
        assert!(grant(dir.path(), ".", true, &protected).is_err());
        for inside in [".", "inner", "../plugins"] {
            assert!(grant(&plugins, inside, false, &protected).is_err(), "{inside}");
            assert!(grant(&plugins, inside, true, &protected).is_err(), "{inside}");
        }
    }

    #[test]
    fn the_state_folder_is_never_granted_and_hidden_in_what_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().canonicalize().unwrap().join("state");
        std::fs::create_dir_all(state.join("inner")).unwrap();
        let protected = ProtectedPaths { states: vec![state.clone()], ..ProtectedPaths::default() };
        assert!(grant(dir.path(), "state", false, &protected).is_err());
        assert!(grant(dir.path(), "state/inner", false, &protected).is_err());
        assert!(grant(dir.path(), ".", true, &protected).is_err());
        assert_eq!(grant(dir.path(), ".", false, &protected).unwrap().hidden, [state]);
    }

    #[test]
    fn a_folder_with_compiled_code_is_never_granted_and_hidden_in_what_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let caches = ["fast/plugport", "home/.cache/plugport"].map(|cache| root.join(cache));
        for folder in ["fast/plugport/compiled", "home/.cache/plugport", "home/.cache/other"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let protected = ProtectedPaths { caches: caches.to_vec(), ..ProtectedPaths::default() };
        for inside in ["fast/plugport", "fast/plugport/compiled", "home/.cache/plugport"] {
            let result = grant(&root, inside, false, &protected).unwrap_err().to_string();
            assert!(result.contains("it holds compiled code"), "{inside}: {result}");
        }
        for around in ["fast", "home", "home/.cache", "."] {
            assert!(grant(&root, around, true, &protected).is_err(), "{around}");
        }
        assert_eq!(grant(&root, "home/.cache", false, &protected).unwrap().hidden, [caches[1].clone()]);
        assert_eq!(grant(&root, ".", false, &protected).unwrap().hidden, caches);
        assert!(grant(&root, "home/.cache/other", true, &protected).unwrap().hidden.is_empty());
    }

    #[test]
    fn a_home_directory_is_not_granted_whole() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap().join("home/ada");
        std::fs::create_dir_all(home.join("data")).unwrap();
        let protected = ProtectedPaths { home: Some(home.clone()), ..ProtectedPaths::default() };
        assert!(grant(&home, ".", false, &protected).is_err());
        assert!(grant(&home, "..", false, &protected).is_err());
        assert!(grant(&home, "data", true, &protected).is_ok());
    }

    #[test]
    fn the_short_form_names_host_guest_and_mode() {
        let dir = tempfile::tempdir().unwrap();
        let host = dir.path().to_str().unwrap();
        let context = GrantContext { base: Path::new(""), protected: &ProtectedPaths::default() };
        assert_eq!(DirGrant::parse(&format!("{host}:/data"), context).unwrap().write, None);
        assert_eq!(DirGrant::parse(&format!("{host}:/data:rw"), context).unwrap().write, Some(DEFAULT_QUOTA));
        assert!(matches!(
            DirGrant::parse(&format!("{host}:/data:rwx"), context),
            Err(GrantError::Form { .. })
        ));
    }
}
