//! Links a file of a read-only directory into a writable one.

use plugport_sdk::prelude::*;
use plugport_test_guests::wasi_fs::{self, Attempts, NewTimestamp, PathFlags};

/// Link and rename from one granted directory to another, both ways.
#[tool]
fn cross(from: String, to: String, name: String) -> Result<String, String> {
    let (from, to) = (wasi_fs::granted(&from)?, wasi_fs::granted(&to)?);
    let mut tried = Attempts::default();
    for follow in [PathFlags::empty(), PathFlags::SYMLINK_FOLLOW] {
        tried.note("link", from.link_at(follow, &name, &to, "linked"));
        tried.note("link back", to.link_at(follow, "own.txt", &from, "linked"));
        tried.note("link within", from.link_at(follow, &name, &from, "linked"));
    }
    tried.note("rename", from.rename_at(&name, &to, "renamed"));
    tried.note("rename back", to.rename_at("own.txt", &from, &name));
    tried.note("rename within", from.rename_at(&name, &from, "renamed"));
    tried.note("unlink", from.unlink_file_at(&name));
    tried.note("mkdir", from.create_directory_at("made"));
    let now = || NewTimestamp::Now;
    tried.note("times", from.set_times_at(PathFlags::empty(), &name, now(), now()));
    Ok(tried.told())
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [cross, ok] }
