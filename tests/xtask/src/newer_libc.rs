//! A C library that is newer than that of the machine, for programs that were built on a newer Debian.
//!
//! Debian's package is unpacked below `target` and not installed: one program gets it by its loader, and nothing else
//! on the machine changes. So `apt-get` has lists of its own for it.

use std::path::Path;
use std::process::Command;

use crate::debian::{self, apt};
use crate::run_command::{self, Failure, Outcome};

/// glibc 2.41.
const SOURCE: &str = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
                      http://deb.debian.org/debian trixie main\n";

/// Unpacks it into a folder. Returns its loader, whose next argument is a program.
pub(crate) fn unpack(folder: &Path) -> Outcome<Command> {
    let (lists, cache, source) = (folder.join("lists"), folder.join("cache"), folder.join("sources.list"));
    for needed in [lists.join("partial"), cache.join("archives/partial")] {
        std::fs::create_dir_all(&needed).map_err(|error| cannot(&needed, &error))?;
    }
    std::fs::write(&source, SOURCE).map_err(|error| cannot(&source, &error))?;
    for words in [&["update"][..], &["download", "libc6"]] {
        let mut command = apt(words);
        command.current_dir(folder);
        command.args(["-o", "APT::Sandbox::User=root", "-o", "Dir::Etc::SourceParts=/dev/null"]);
        for (option, path) in
            [("Dir::Etc::SourceList", &source), ("Dir::State::Lists", &lists), ("Dir::Cache", &cache)]
        {
            command.arg("-o").arg(format!("{option}={}", path.display()));
        }
        run_command::run(command)?;
    }
    debian::unpack(folder)?;
    // Larger than the library.
    std::fs::remove_dir_all(&lists).map_err(|error| cannot(&lists, &error))?;
    // `tests/rivals` looks there.
    let libraries = folder.join("usr/lib/x86_64-linux-gnu");
    let mut loader = Command::new(libraries.join("ld-linux-x86-64.so.2"));
    loader.arg("--library-path").arg(libraries);
    Ok(loader)
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot use {}: {error}", path.display()))
}
