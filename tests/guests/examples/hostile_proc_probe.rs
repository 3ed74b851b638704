//! Tries to read the machine's secrets: the server's own environment and memory, devices, the users of the system.

use std::fs;

use plugport_sdk::prelude::*;
use plugport_test_guests::wasi_fs::{self, Attempts, DescriptorFlags, OpenFlags, PathFlags};

const PLACES: &[&str] = &[
    "/proc",
    "/proc/self",
    "/proc/self/environ",
    "/proc/self/mem",
    "/proc/self/maps",
    "/proc/self/fd",
    "/proc/self/fd/0",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd/plugport.toml",
    "/proc/1/environ",
    "/proc/thread-self/environ",
    "/dev",
    "/dev/zero",
    "/dev/mem",
    "/dev/fd/0",
    "/sys",
    "/sys/class",
    "/etc",
    "/etc/passwd",
    "/etc/shadow",
    "/root",
    "/home",
    "/var/run/docker.sock",
];

/// Read all of them, in every way.
#[tool]
fn probe() -> String {
    let mut tried = Attempts::default();
    for place in PLACES {
        tried.note(place, fs::File::open(place));
        tried.note(place, fs::read_dir(place));
        tried.note(place, fs::metadata(place));
        tried.note(place, fs::OpenOptions::new().append(true).open(place));
        for (directory, _) in wasi_fs::all_granted() {
            for path in [place.to_string(), format!("../../../../../../../..{place}"), place[1..].to_owned()]
            {
                let follow = PathFlags::SYMLINK_FOLLOW;
                let read = DescriptorFlags::READ;
                tried.note(&path, directory.open_at(follow, &path, OpenFlags::empty(), read));
            }
        }
    }
    tried.told()
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [probe, ok] }
