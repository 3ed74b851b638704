//! The stats of a plugin's file, of its sidecar and signature, and of the targets of links.

use std::io;
use std::path::Path;

pub use plugport_common::FileStat;

use crate::config::sidecar_path;
use crate::plugin::signature_path;

/// The stats of a plugin's file, its sidecar and its signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PluginStat {
    wasm: FileStat,
    sidecar: Option<FileStat>,
    signature: Option<FileStat>,
}

/// The stat of the configuration or the lockfile, and of its target if it is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinkStat {
    link: FileStat,
    target: Option<FileStat>,
}

impl LinkStat {
    /// The stat of the file at `path`; `None` if there is none.
    ///
    /// # Errors
    /// When a file cannot be examined.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        let Some(link) = FileStat::of(path)? else { return Ok(None) };
        let target = std::fs::metadata(path).ok().as_ref().map(FileStat::from);
        Ok(Some(Self { link, target }))
    }
}

impl PluginStat {
    /// The stats of the plugin at `path`; `None` if there is no such file.
    ///
    /// # Errors
    /// When a file cannot be examined.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        let Some(wasm) = FileStat::of(path)? else { return Ok(None) };
        let (sidecar, signature) = (FileStat::of(&sidecar_path(path))?, FileStat::of(&signature_path(path))?);
        Ok(Some(Self { wasm, sidecar, signature }))
    }

    /// The size of the component in bytes.
    pub(super) fn size(&self) -> u64 {
        self.wasm.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_link_leads_to_counts_where_links_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("a"), dir.path().join("b"));
        std::fs::write(&file, "one").unwrap();
        std::os::unix::fs::symlink("a", &link).unwrap();
        let (first, itself) = (LinkStat::of(&link).unwrap(), FileStat::of(&link).unwrap());
        std::fs::write(&file, "four").unwrap();
        assert_ne!(first, LinkStat::of(&link).unwrap());
        assert_eq!(itself, FileStat::of(&link).unwrap());
        std::fs::remove_file(&file).unwrap();
        assert!(LinkStat::of(&link).unwrap().is_some_and(|linked| linked.target.is_none()));
    }

    #[test]
    fn so_does_every_change_of_what_lies_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.wasm");
        std::fs::write(dir.path().join("a.toml"), "").unwrap();
        assert_eq!(PluginStat::of(&path).unwrap(), None);
        std::fs::write(&path, "one").unwrap();
        let first = PluginStat::of(&path).unwrap();
        std::fs::write(dir.path().join("a.toml"), "prefix = \"\"").unwrap();
        let second = PluginStat::of(&path).unwrap();
        assert_ne!(first, second);
        std::fs::write(dir.path().join("a.wasm.minisig"), "").unwrap();
        assert_ne!(second, PluginStat::of(&path).unwrap());
    }
}
