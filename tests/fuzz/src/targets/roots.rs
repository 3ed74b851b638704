//! A folder that a client names is opened exactly when it exists, lies below what the operator allowed and is none of
//! the folders that are never granted; and it is the folder that the URL standard reads in the same URI, in any
//! spelling.

use std::path::Path;
use std::sync::LazyLock;

use plugport::config::{Config, RootsGrant};
use url::Url;

use super::grants::TREE;
use crate::Target;

pub(crate) const TARGET: Target = Target {
    name: "roots",
    check,
    words: &[
        "file://",
        "file:///",
        "FILE:",
        "localhost",
        "127.0.0.1",
        "BASE",
        "/data",
        "/data/inner",
        "/keep/state",
        "/keep",
        "/plugins",
        "/to-etc",
        "/to-root",
        "/to-data",
        "/users/home/work",
        "/users/home",
        "/file",
        "%2e%2e",
        "..",
        ".",
        "//",
        "%2F",
        "%00",
        "%",
        "?",
        "#",
        "\\",
        "data:",
    ],
};

static GRANT: LazyLock<RootsGrant> = LazyLock::new(|| {
    let file = TREE.base.join("plugport.toml");
    let text = "[server]\nstate_dir = \"keep/state\"\n[plugins.p.grants]\nroots = { read = [\"data\", \"keep\", \"users\"] }\n";
    std::fs::write(&file, text).unwrap();
    Config::read(&file, TREE.base.join("plugins")).unwrap().plugin("p").grants.roots
});

/// A URI, in which `BASE` stands for the path of the tree.
fn check(input: &[u8]) {
    let uri = String::from_utf8_lossy(input).replace("BASE", TREE.base.to_str().unwrap());
    let grant = &*GRANT;
    let told = grant.resolve(&uri);
    if let Ok(dir) = &told {
        assert_eq!(dir.host.canonicalize().ok().as_ref(), Some(&dir.host), "{uri:?}");
        assert!(allowed(&dir.host) && dir.write.is_none(), "{uri:?} opens {}", dir.host.display());
        let mut names = dir.guest.strip_prefix('/').unwrap().split('/');
        assert!(
            names.all(|name| !matches!(name, "" | "." | "..") && !name.contains(char::is_control)),
            "{uri:?}"
        );
    }
    // What `..` means after a link, and what a stray character means, the standard reads in a way of its own.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/:%_-".contains(&byte) || byte == b'.';
    let dots = uri.contains("..") || uri.contains("/.") || uri.to_ascii_lowercase().contains("%2e");
    let Some(url) = Url::parse(&uri).ok().filter(|_| uri.bytes().all(plain) && !dots) else { return };
    let meant = url.to_file_path().ok().filter(|_| url.scheme() == "file" && uri.contains("://"));
    let meant = meant.and_then(|path| path.canonicalize().ok()).filter(|path| allowed(path));
    assert_eq!(told.ok().map(|dir| dir.host), meant, "{uri:?}");
}

fn allowed(host: &Path) -> bool {
    let below = |name: &str| host.starts_with(TREE.base.join(name));
    host.is_dir() && (below("data") || below("keep") || below("users")) && !below("keep/state")
}
