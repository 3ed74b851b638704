//! A folder to which only this user can write, inside another one.

use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

/// Checks that a folder and the one that it is in belong to this user, are no links, and that nobody else can write to
/// them.
pub(super) fn check(folder: &Path) -> io::Result<()> {
    [parent(folder)?, folder].into_iter().try_for_each(check_one)
}

/// Makes both folders, if they are missing, and checks them.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    let parent = parent(folder)?;
    check_owner(parent)?;
    let builder = || {
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        builder
    };
    builder().recursive(true).create(parent)?;
    // Before anything is made in it: it may be a link to the folder of somebody else.
    check_one(parent)?;
    match builder().create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => check_one(folder),
    }
}

fn parent(folder: &Path) -> io::Result<&Path> {
    folder.parent().ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))
}

fn check_one(folder: &Path) -> io::Result<()> {
    let about = folder.symlink_metadata()?;
    match about.is_dir() && about.uid() == own() && about.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(denied("others may write there; make it yours, with `chmod 700`")),
    }
}

/// Checks that a folder is, or would be made, in one of this user.
fn check_owner(folder: &Path) -> io::Result<()> {
    let existing = folder.ancestors().find_map(|folder| folder.metadata().ok());
    match existing.is_some_and(|about| about.uid() == own()) {
        true => Ok(()),
        false => Err(denied("it is in the folder of another user")),
    }
}

fn own() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn denied(why: &'static str) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, why)
}
