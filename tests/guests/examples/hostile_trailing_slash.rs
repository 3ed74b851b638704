//! Opens links with a slash at the end of the path, which makes the system follow a link that must not be followed.

use plugport_sdk::prelude::*;
use plugport_test_guests::wasi_fs::{self, Attempts, DescriptorFlags, OpenFlags, PathFlags};

/// Open these links with slashes and dots behind their names.
#[tool]
fn open(directory: String, links: Vec<String>) -> Result<String, String> {
    let directory = wasi_fs::granted(&directory)?;
    let mut tried = Attempts::default();
    let (read, write) = (DescriptorFlags::READ, DescriptorFlags::READ | DescriptorFlags::WRITE);
    for link in &links {
        for end in ["/", "//", "/.", "/./", "/..", "/../"] {
            let path = format!("{link}{end}");
            for follow in [PathFlags::empty(), PathFlags::SYMLINK_FOLLOW] {
                // Behind a link that leads nowhere else, `..` may be the directory itself: only what lies outside
                // counts.
                let outside = format!("{path}/canary.txt");
                tried.note(&outside, directory.open_at(follow, &outside, OpenFlags::empty(), read));
                if !end.contains("..") {
                    tried.note(&path, directory.open_at(follow, &path, OpenFlags::empty(), read));
                    tried.note(&path, directory.open_at(follow, &path, OpenFlags::DIRECTORY, read));
                    tried.note(&path, directory.open_at(follow, &path, OpenFlags::CREATE, write));
                }
            }
            tried.note(&path, directory.create_directory_at(&path));
            tried.note(&path, directory.remove_directory_at(&path));
            tried.note(&path, directory.unlink_file_at(&path));
        }
    }
    Ok(tried.told())
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [open, ok] }
