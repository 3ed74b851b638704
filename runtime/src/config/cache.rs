//! Where the commands that one person types keep compiled code: in the folder that the XDG rules name, on every system.
//!
//! It is no setting. Whoever tries a file has no configuration, and nothing is lost with the folder but time. Knows the
//! environment alone, so that where it is and what no guest may have are the same answer.

use std::ffi::OsString;
use std::path::PathBuf;

/// The folder among those of other programs.
const FOLDER: &str = "plugport";

/// The folder of the person who runs this program; `None` when the environment names none.
#[must_use]
pub fn own_cache() -> Option<PathBuf> {
    every_own_cache().into_iter().next()
}

/// The same, and where it is for a program that has less in its environment.
pub(super) fn every_own_cache() -> Vec<PathBuf> {
    folders(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"))
}

fn folders(cache_home: Option<OsString>, home: Option<OsString>) -> Vec<PathBuf> {
    // What is relative would be another folder wherever one stands, and is to be ignored.
    let absolute = |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = absolute(home).map(|home| home.join(".cache"));
    let folders = absolute(cache_home).into_iter().chain(usual);
    folders.map(|folder| folder.join(FOLDER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(cache_home: Option<&str>, home: Option<&str>) -> Vec<PathBuf> {
        folders(cache_home.map(OsString::from), home.map(OsString::from))
    }

    #[test]
    fn it_is_where_the_environment_says_or_else_in_the_home_directory() {
        let (named, usual) = (PathBuf::from("/fast/plugport"), PathBuf::from("/home/ada/.cache/plugport"));
        assert_eq!(found(Some("/fast"), Some("/home/ada")), [named.clone(), usual.clone()]);
        assert_eq!(found(Some("/fast"), None), [named]);
        assert_eq!(found(None, Some("/home/ada")), [usual]);
    }

    #[test]
    fn what_is_no_absolute_path_names_no_folder() {
        for bad in [None, Some(""), Some("cache"), Some("./cache"), Some("~/.cache")] {
            assert!(found(bad, bad).is_empty(), "{bad:?}");
            assert_eq!(
                found(bad, Some("/home/ada")),
                [PathBuf::from("/home/ada/.cache/plugport")],
                "{bad:?}"
            );
        }
    }
}
