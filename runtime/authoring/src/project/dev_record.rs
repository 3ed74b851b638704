//! Where a build for `plugport dev` records what its component was made of: beside the sources that the component loads
//! as data.

use std::path::{Path, PathBuf};

/// The file with the record.
pub(crate) fn path(sources: &Path) -> PathBuf {
    sources.with_extension("base")
}

/// Has the next build make a component even if there is one for these sources: what a component was made of does not
/// name all of it, such as Python's libraries.
pub(crate) fn forget(sources: &Path) {
    // Mostly there is none.
    let _ = std::fs::remove_file(path(sources));
}
