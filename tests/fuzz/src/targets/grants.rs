//! `--grant dir=...` gives exactly what a naive reading of the rules allows: a directory that exists, never one of the
//! machine's own, the state folder or a whole home, never writable where plugins and configuration are, under
//! a plain absolute guest path.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use plugport::config::{GrantContext, Grants, ProtectedPaths};

use crate::Target;
use crate::split_input::Fields;

pub(crate) const TARGET: Target = Target {
    name: "grants",
    check,
    words: &[
        "..",
        "./",
        "//",
        ":/",
        ":/data",
        ":rw",
        ":ro",
        "data",
        "data/inner",
        "plugins",
        "plugins/sub",
        "keep/state",
        "keep",
        "cache/plugport",
        "cache",
        "users/home/work",
        "users",
        "file",
        "to-etc",
        "to-root",
        "to-plugins",
        "to-data",
        "loop",
        "/proc/self/root",
        "/proc/self/cwd",
        "/dev/fd",
        "/etc",
        "/sys",
        "/",
        "\x1f",
        "kv=",
        "dir=",
    ],
};

/// A tree with all that a grant could reach by mistake.
pub(super) struct Tree {
    pub(super) base: PathBuf,
    protected: ProtectedPaths,
    _folder: tempfile::TempDir,
}

pub(super) static TREE: LazyLock<Tree> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    for name in ["data/inner", "plugins/sub", "keep/state", "cache/plugport", "users/home/work"] {
        std::fs::create_dir_all(base.join(name)).unwrap();
    }
    std::fs::write(base.join("file"), "").unwrap();
    for (name, target) in [
        ("to-etc", "/etc"),
        ("to-root", "/"),
        ("to-plugins", "plugins"),
        ("to-data", "./data"),
        ("loop", "loop"),
    ] {
        std::os::unix::fs::symlink(target, base.join(name)).unwrap();
    }
    let protected = ProtectedPaths {
        folders: vec![base.join("plugins"), base.join("plugport.toml")],
        states: vec![base.join("keep/state")],
        caches: vec![base.join("cache/plugport")],
        home: Some(base.join("users/home")),
    };
    Tree { base, protected, _folder: folder }
});

/// Several grants, one after the other, as they are written after `--grant`.
fn check(input: &[u8]) {
    let context = GrantContext { base: &TREE.base, protected: &TREE.protected };
    let mut grants = Grants::default();
    let mut fields = Fields::new(input);
    let mut expected: Vec<Dir> = Vec::new();
    while let Some(text) = fields.maybe() {
        let text = if text.contains('=') { text } else { format!("dir={text}") };
        let told = grants.add(&text, context);
        let Some(dir) = text.strip_prefix("dir=") else { continue };
        let allowed = allowed(dir).filter(|dir| expected.iter().all(|other| other.guest != dir.guest));
        assert_eq!(told.is_ok(), allowed.is_some(), "{text:?}: {told:?}, but {allowed:?}");
        expected.extend(allowed);
    }
    let given = grants.filesystem.iter();
    let given: Vec<Dir> = given
        .map(|dir| Dir { host: dir.host.clone(), guest: dir.guest.clone(), write: dir.write.is_some() })
        .collect();
    assert_eq!(given, expected);
    assert!(grants.keyvalue.is_none_or(|kv| kv.quota_mib > 0));
}

#[derive(Debug, PartialEq)]
struct Dir {
    host: PathBuf,
    guest: String,
    write: bool,
}

/// The rules of docs/grants.md, read naively.
fn allowed(text: &str) -> Option<Dir> {
    let parts: Vec<&str> = text.split(':').collect();
    let (host, guest, write) = match parts[..] {
        [host] => (host, None, false),
        [host, guest] | [host, guest, "ro"] => (host, Some(guest), false),
        [host, guest, "rw"] => (host, Some(guest), true),
        _ => return None,
    };
    let host = std::fs::canonicalize(TREE.base.join(host)).ok().filter(|host| host.is_dir())?;
    let below = |path: &Path, root: &str| {
        path == Path::new(root) || path.to_string_lossy().starts_with(&format!("{root}/"))
    };
    if host == Path::new("/") || ["/proc", "/sys", "/dev", "/etc"].iter().any(|root| below(&host, root)) {
        return None;
    }
    let inside = |path: &Path, root: &Path| path.ancestors().any(|ancestor| ancestor == root);
    let ProtectedPaths { folders, states, caches, home } = &TREE.protected;
    let places = || folders.iter().chain(states).chain(caches);
    let touched = places().any(|place| inside(place, &host));
    let kept = places().any(|place| inside(&host, place)) || inside(home.as_ref()?, &host);
    if kept || (write && touched) {
        return None;
    }
    let own = || format!("/{}", host.file_name().unwrap_or_default().to_string_lossy());
    let guest = guest.map_or_else(own, str::to_owned);
    let names = guest.strip_prefix('/')?;
    let plain =
        names.split('/').all(|name| !matches!(name, "" | "." | "..") && !name.contains(char::is_control));
    plain.then_some(Dir { host, guest, write })
}
