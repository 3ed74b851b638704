//! Makes links that lead out and follows those that it finds: soft and hard ones, loops, dangling ones, links to links.

use plugport_sdk::prelude::*;
use plugport_test_guests::wasi_fs::{self, Attempts, DescriptorFlags, OpenFlags, PathFlags};

const ALL: [PathFlags; 2] = [PathFlags::empty(), PathFlags::SYMLINK_FOLLOW];

/// Make links to these targets.
#[tool]
fn make(directory: String, targets: Vec<String>) -> Result<String, String> {
    let directory = wasi_fs::granted(&directory)?;
    let mut tried = Attempts::default();
    for target in &targets {
        tried.note(target, directory.symlink_at(target, "made"));
        tried.note(target, directory.symlink_at(target, "inner/made"));
        let _ = directory.unlink_file_at("made");
        let _ = directory.unlink_file_at("inner/made");
    }
    Ok(tried.told())
}

/// Follow these links: read, list, write, empty, and make a file below or behind them.
#[tool]
fn follow(directory: String, links: Vec<String>) -> Result<String, String> {
    let directory = wasi_fs::granted(&directory)?;
    let mut tried = Attempts::default();
    let (read, write) = (DescriptorFlags::READ, DescriptorFlags::READ | DescriptorFlags::WRITE);
    for link in &links {
        for path in [link.clone(), format!("{link}/canary.txt"), format!("inner/../{link}")] {
            for follow in ALL {
                tried.note(&path, directory.open_at(follow, &path, OpenFlags::empty(), read));
                tried.note(&path, directory.open_at(follow, &path, OpenFlags::DIRECTORY, read));
                tried.note(&path, directory.open_at(follow, &path, OpenFlags::TRUNCATE, write));
                tried.note(&path, directory.link_at(PathFlags::SYMLINK_FOLLOW, &path, &directory, "hard"));
            }
        }
        let made = format!("{link}/made.txt");
        tried.note(&made, directory.open_at(ALL[1], &made, OpenFlags::CREATE, write));
        tried.note(&made, directory.create_directory_at(&made));
        tried.note(&made, directory.rename_at("own.txt", &directory, &made));
        tried.note(&made, directory.link_at(ALL[0], "own.txt", &directory, &made));
    }
    Ok(tried.told())
}

/// Put own files in place of these links, which changes nothing behind them.
#[tool]
fn replace(directory: String, links: Vec<String>) -> Result<String, String> {
    let directory = wasi_fs::granted(&directory)?;
    let mut tried = Attempts::default();
    for link in &links {
        let write = DescriptorFlags::READ | DescriptorFlags::WRITE;
        let made = directory.open_at(ALL[0], "fresh.txt", OpenFlags::CREATE, write);
        made.map_err(|error| error.to_string())?;
        tried.note(link, directory.rename_at("fresh.txt", &directory, link));
    }
    Ok(tried.told())
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [make, follow, replace, ok] }
