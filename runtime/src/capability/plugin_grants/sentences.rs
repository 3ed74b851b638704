//! Describes grants as sentences: the form in which they are shown and recorded in `plugport.lock`.
//!
//! The sentences never have the value of a variable, a setting or a secret: they are printed, and they are committed in
//! `plugport.lock`. That file is read on other machines too, so a path below its folder is written relative to it. Two
//! grants never read alike: a path that could be mistaken for another, or for more than a path, is quoted.

use std::path::{Path, PathBuf};

use super::Grants;
use crate::capability::grant_trait::{GrantSentence, resolved};
use crate::observe::is_deceptive;

impl Grants {
    /// Everything that is granted, capability by capability.
    #[must_use]
    pub fn describe(&self) -> Vec<GrantSentence> {
        self.describe_with(&quote_path)
    }

    /// The same for `plugport.lock` in this folder: sentences alone, sorted.
    #[must_use]
    pub fn describe_relative_to(&self, folder: &Path) -> Vec<String> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        // A granted path may begin with the folder's path as it is written, or with the path that links resolve to.
        let bases: Vec<PathBuf> = std::path::absolute(folder).into_iter().chain(resolved(folder)).collect();
        let mut sentences: Vec<String> =
            self.describe_with(&|path| relative_path(&bases, path)).into_iter().map(|(_, may)| may).collect();
        sentences.sort();
        sentences
    }
}

/// A path relative to `bases`, which are paths of one folder; absolute when it does not lie below that folder.
fn relative_path(bases: &[PathBuf], path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match bases.iter().find_map(|base| whole.strip_prefix(base).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Some(rest) if rest.starts_with("..") => quote_path(rest),
        Some(rest) => quote_path(&Path::new(".").join(rest)),
        None => quote_path(&whole),
    }
}

/// A path, quoted when it has characters that separate words in the sentence, or that cannot be shown.
fn quote_path(path: &Path) -> String {
    let is_odd = |c: char| c.is_whitespace() || matches!(c, ',' | '"' | '\\' | '\u{fffd}') || is_deceptive(c);
    match path.to_str() {
        Some(text) if !text.contains(is_odd) => text.to_owned(),
        _ => format!("{path:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::grant_trait::{GrantContext, ProtectedPaths};

    fn grants(base: &Path, options: &[&str]) -> Grants {
        let mut grants = Grants::default();
        let context = GrantContext { base, protected: &ProtectedPaths::default() };
        options.iter().for_each(|text| grants.add(text, context).unwrap());
        grants
    }

    /// A folder with a directory and a secret in it.
    fn folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("data")).unwrap();
        std::fs::write(dir.path().join("token"), "hunter2!").unwrap();
        dir
    }

    const OPTIONS: [&str; 3] = ["dir=data:/data", "secret=token=file:token", "dir=.:/all"];

    #[test]
    fn what_is_approved_reads_the_same_on_every_machine() {
        let (here, there) = (folder(), folder());
        let told = grants(here.path(), &OPTIONS).describe_relative_to(here.path());
        assert_eq!(
            told,
            ["read . as /all", "read ./data as /data", "read the secrets token from the file ./token"]
        );
        assert_eq!(told, grants(there.path(), &OPTIONS).describe_relative_to(there.path()));
        let link = there.path().join("link");
        std::os::unix::fs::symlink(here.path(), &link).unwrap();
        assert_eq!(told, grants(&link, &OPTIONS).describe_relative_to(&link), "by way of a link");
        let outside = grants(here.path(), &OPTIONS).describe_relative_to(there.path());
        assert!(outside.iter().all(|told| told.contains(" /")), "{outside:?}");
    }

    #[test]
    fn no_two_paths_read_alike() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;

        let paths: [&[u8]; 9] = [
            b"/a/\xff",
            b"/a/\xfe",
            "/a/\u{fffd}".as_bytes(),
            b"/a/\\xFF",
            b"/a/\"",
            b"/a/\\\"",
            b"/a as /b",
            b"/a, write",
            "/a/\u{202e}".as_bytes(),
        ];
        let told: Vec<_> = paths.iter().map(|path| quote_path(Path::new(OsStr::from_bytes(path)))).collect();
        assert_eq!(told[0], r#""/a/\xFF""#);
        assert_eq!(told[6], r#""/a as /b""#);
        let different: std::collections::BTreeSet<_> = told.iter().collect();
        assert_eq!(different.len(), paths.len(), "{told:?}");
        assert!(told.iter().all(|told| told.starts_with('"') && !told.contains('\u{202e}')), "{told:?}");
        assert_eq!(quote_path(Path::new("/srv/d\u{fc}-1_a.b")), "/srv/d\u{fc}-1_a.b");
    }

    #[test]
    fn a_folder_without_a_name_is_this_one() {
        assert_eq!(relative_path(&[PathBuf::from("/a")], Path::new("/a/../b")), "../b");
        assert_eq!(
            grants(Path::new(""), &["dir=src"]).describe_relative_to(Path::new("")),
            ["read ./src as /src"]
        );
    }

    #[test]
    fn values_are_never_told() {
        let dir = folder();
        let options = ["env=TZ=hunter2!", "config=region=hunter2!", "secret=path=env:PATH", OPTIONS[1]];
        let grants = grants(dir.path(), &options);
        let told = grants.describe_relative_to(dir.path()).join("\n");
        assert!(
            told.contains("TZ") && told.contains("region") && told.contains("the variable PATH"),
            "{told}"
        );
        assert!(!told.contains("hunter2") && !told.contains("/bin"), "{told}");
        let keys: Vec<_> = grants.describe().into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["config", "secrets", "env"]);
    }
}
