//! Tries to leave its directories by paths: every function that takes a path, and every form of a path that leads out.

use plugport_sdk::prelude::*;
use plugport_test_guests::wasi_fs::{self, Attempts, Descriptor, DescriptorFlags, OpenFlags, PathFlags};

/// Paths to `outside`, a file beside the granted directory, whose own path on the host is `host`.
fn paths(outside: &str, host: &str) -> Vec<String> {
    let long = "x".repeat(64 << 10);
    vec![
        format!("../{outside}"),
        format!("inner/../../{outside}"),
        format!("./../{outside}"),
        format!("inner/./.././../{outside}"),
        format!("inner/../..//{outside}"),
        format!("../{outside}/"),
        format!("/{outside}"),
        format!("/../{outside}"),
        host.to_owned(),
        format!("/{host}"),
        format!("..\\{outside}"),
        format!("../{outside}\0"),
        format!("inner\0/../../{outside}"),
        format!("C:\\{outside}"),
        format!("\\\\?\\{outside}"),
        format!("file://{host}"),
        "..".to_owned(),
        "../".to_owned(),
        "inner/../..".to_owned(),
        "/".to_owned(),
        "//".to_owned(),
        "/etc/passwd".to_owned(),
        "/proc/self/environ".to_owned(),
        long.clone(),
        format!("../{long}"),
        "../".repeat(20_000) + "etc/passwd",
    ]
}

fn attack(tried: &mut Attempts, directory: &Descriptor, path: &str) {
    let (read, write) = (DescriptorFlags::READ, DescriptorFlags::READ | DescriptorFlags::WRITE);
    for follow in [PathFlags::empty(), PathFlags::SYMLINK_FOLLOW] {
        tried.note(path, directory.open_at(follow, path, OpenFlags::empty(), read));
        tried.note(path, directory.open_at(follow, path, OpenFlags::DIRECTORY, read));
        tried.note(path, directory.open_at(follow, path, OpenFlags::CREATE | OpenFlags::TRUNCATE, write));
        tried.note(path, directory.stat_at(follow, path));
        tried.note(path, directory.metadata_hash_at(follow, path));
        tried.note(path, directory.link_at(follow, path, directory, "linked"));
    }
    tried.note(path, directory.readlink_at(path));
    tried.note(path, directory.unlink_file_at(path));
    tried.note(path, directory.remove_directory_at(path));
    tried.note(path, directory.rename_at(path, directory, "moved"));
}

/// Try everything with every path.
#[tool]
fn escape(directory: String, outside: String, host: String) -> Result<String, String> {
    let directory = wasi_fs::granted(&directory)?;
    let mut tried = Attempts::default();
    for path in paths(&outside, &host) {
        attack(&mut tried, &directory, &path);
    }
    for path in paths("made.txt", "/tmp/made.txt") {
        tried.note(&path, directory.create_directory_at(&path));
        tried.note(&path, directory.symlink_at("inner", &path));
        tried.note(&path, directory.rename_at("own.txt", &directory, &path));
        tried.note(&path, directory.link_at(PathFlags::empty(), "own.txt", &directory, &path));
    }
    Ok(tried.told())
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [escape, ok] }
