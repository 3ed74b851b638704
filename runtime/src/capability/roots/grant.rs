//! `roots`: `true`, to ask the client which folders its user works in; or `{ read = ["/home/me/projects"] }`, to have
//! those folders opened for reading as well, as far as they lie below one of these. On the command line `roots` or
//! `roots=DIR`.
//!
//! A client's roots are not trusted. Each is resolved first and then checked, by the same rules as the operator's
//! directories, so that a root can only narrow what was granted.

use std::path::{Path, PathBuf};

use crate::capability::client_requests::grant::REQUESTS;
use crate::capability::filesystem::grant::{DirGrant, FILES};
use crate::capability::filesystem::policy::{forbidden_root, is_guest_path, why_forbidden};
use crate::capability::grant_trait::{
    Grant, GrantContext, GrantError, GrantOption, GrantSentence, Import, ProtectedPaths,
};
use crate::toml_reader::{TomlEntry, TomlReader};

/// Most roots of a client that are opened.
const MAX_ROOTS: usize = 16;

/// What one plugin may know of the client's folders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Granted {
    /// Whether it may list them.
    pub list: bool,
    /// It may read those that lie below one of these directories. Links resolved.
    below: Vec<PathBuf>,
    protected: ProtectedPaths,
}

/// Why a folder of the client is not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootError {
    /// It is no usable `file://` URI.
    #[error("it is not a file:// URI of a folder on this machine")]
    NotAFolder,
    /// It lies below no granted directory.
    #[error("it does not lie below a directory that `roots` names")]
    Outside(PathBuf),
    /// It is never granted.
    #[error("{0}")]
    Protected(String),
}

impl Grant for Granted {
    const KEYS: &'static [&'static str] = &["roots"];
    const FORMS: &'static [&'static str] = &["roots", "roots=DIR"];
    const IMPORTS: &'static [Import] =
        &[Import::new("plugport:plugin/roots", "the client's roots"), FILES, REQUESTS];

    fn read(
        &mut self,
        _: &str,
        entry: TomlEntry<'_>,
        context: GrantContext<'_>,
        reader: &mut TomlReader<'_>,
    ) {
        if entry.is_boolean() {
            self.list = entry.boolean(reader).unwrap_or_default();
            return;
        }
        let (key, span) = (entry.key.clone(), entry.span.clone());
        let Some(mut table) = entry.table(reader) else { return };
        for entry in table.take("read").map(|entry| entry.array(reader)).unwrap_or_default() {
            self.below.extend(read_dir(&entry, context, reader));
        }
        table.finish(reader, &["read"]);
        self.list = self.may_read();
        if self.list {
            self.protected = context.protected.clone();
        } else {
            reader.report(span, &key, "needs `read`, a list of the directories below which they may lie");
        }
    }

    fn add(&mut self, option: GrantOption<'_>, context: GrantContext<'_>) -> Result<(), GrantError> {
        if !option.is_bare() {
            let dir = resolve_dir(&context.base.join(option.value));
            self.below.push(dir.map_err(|why| option.error(why))?);
            self.protected = context.protected.clone();
        }
        self.list = true;
        Ok(())
    }

    fn describe(&self, shown: &dyn Fn(&Path) -> String, sentences: &mut Vec<GrantSentence>) {
        let list = || ("roots", "see which folders the client's user works in".to_owned());
        sentences.extend(self.list.then(list));
        for below in &self.below {
            sentences.push(("roots", format!("read those of these folders that lie below {}", shown(below))));
        }
    }

    fn is_subset_of(&self, other: &Self) -> bool {
        let is_below = |own: &PathBuf| other.below.iter().any(|wider| own.starts_with(wider));
        (!self.list || other.list) && self.below.iter().all(is_below)
    }

    /// Imports for files are opened only if some of the folders may be read.
    fn opens(&self, prefix: &str) -> bool {
        Self::IMPORTS.iter().any(|import| import.prefix == prefix)
            && (prefix != FILES.prefix || self.may_read())
    }
}

/// Reads an element of the array `read`.
fn read_dir(
    entry: &TomlEntry<'_>,
    context: GrantContext<'_>,
    reader: &mut TomlReader<'_>,
) -> Option<PathBuf> {
    let path = context.base.join(entry.string(reader)?);
    resolve_dir(&path).map_err(|why| reader.report(entry.span.clone(), &entry.key, why)).ok()
}

/// A directory below which folders may be read, with its links resolved. The error says what is wrong with it.
fn resolve_dir(path: &Path) -> Result<PathBuf, String> {
    let missing = |error| format!("cannot find {}: {error}; name a directory that exists", path.display());
    let whole = path.canonicalize().map_err(missing)?;
    match forbidden_root(&whole) {
        None => Ok(whole),
        Some(root) => Err(format!("{root} is never granted")),
    }
}

impl Granted {
    /// Whether it may read some of the folders.
    #[must_use]
    pub fn may_read(&self) -> bool {
        !self.below.is_empty()
    }

    /// The first of a client's roots, at most as many as are opened.
    pub fn first<T>(roots: Vec<T>) -> impl Iterator<Item = T> {
        roots.into_iter().take(MAX_ROOTS)
    }

    /// Resolves a root that a client names, and checks it. Blocks.
    ///
    /// # Errors
    /// When the root is not to be opened, with the reason.
    pub fn resolve(&self, uri: &str) -> Result<DirGrant, RootError> {
        let path = path_of(uri).ok_or(RootError::NotAFolder)?;
        let host = path.canonicalize().map_err(|_| RootError::NotAFolder)?;
        if !self.below.iter().any(|allowed| host.starts_with(allowed)) {
            return Err(RootError::Outside(host));
        }
        if let Some(why) = why_forbidden(&host, false, &self.protected) {
            return Err(RootError::Protected(why));
        }
        if !host.is_dir() {
            return Err(RootError::NotAFolder);
        }
        // The guest path is the path that the client has named.
        let named = path.to_str().map(|path| path.trim_end_matches('/')).filter(|path| is_guest_path(path));
        let guest = named.map_or_else(|| host.to_string_lossy().into_owned(), str::to_owned);
        let hidden = self.protected.unreadable_below(&host);
        Ok(DirGrant { host, guest, write: None, hidden })
    }
}

/// The path that a `file://` URI of this machine means.
fn path_of(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once("://")?;
    let (authority, path) = rest.split_at(rest.find('/')?);
    let is_local = authority.is_empty() || authority.eq_ignore_ascii_case("localhost");
    if !scheme.eq_ignore_ascii_case("file") || !is_local || path.contains(['?', '#']) {
        return None;
    }
    let path = percent_decode(path)?;
    (!path.contains(char::is_control)).then(|| Path::new(&path).to_owned())
}

/// Decodes percent-encoded text; `None` when a percent sign encodes no byte, or the result is not UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_of_other_machines_and_kinds_are_no_paths() {
        assert_eq!(path_of("file:///a/b%20c"), Some("/a/b c".into()));
        assert_eq!(path_of("FILE://localhost/a"), Some("/a".into()));
        for bad in [
            "/a",
            "file:/a",
            "file://evil.example/a",
            "http:///a",
            "file://",
            "file:///a?b",
            "file:///a#b",
            "file:///%",
            "file:///%f",
            "file:///%zz",
            "file:///%00",
            "file:///%0a",
            "file:///%ff",
            "file:///a%+1",
        ] {
            assert_eq!(path_of(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_root_is_checked_by_where_it_leads() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["work/a b", "other", "work/state"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("work/file"), "").unwrap();
        std::os::unix::fs::symlink(root.join("other"), root.join("work/link")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("work/etc")).unwrap();
        let protected = ProtectedPaths { states: vec![root.join("work/state")], ..ProtectedPaths::default() };
        let grant = Granted { list: true, below: vec![root.join("work")], protected };
        let resolve = |path: &str| grant.resolve(&format!("file://{}/{path}", root.display()));
        let dir = resolve("work/a%20b").unwrap();
        assert_eq!((dir.host, dir.write), (root.join("work/a b"), None));
        assert_eq!(dir.guest, format!("{}/work/a b", root.display()));
        assert_eq!(resolve("work").unwrap().hidden, [root.join("work/state")]);
        for bad in [
            "other",
            "work/link",
            "work/../other",
            "work/%2e%2e/other",
            "work/etc",
            "work/state",
            "work/file",
            "work/no",
            "",
        ] {
            assert!(resolve(bad).is_err(), "{bad}");
        }
        assert!(grant.resolve("file:///").is_err() && grant.resolve("file:///etc").is_err());
    }
}
