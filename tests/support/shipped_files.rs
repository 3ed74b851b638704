//! Components that ship files, good ones and hostile ones.

use std::path::Path;

use plugport_common::{ShippedFile, append_file};

use crate::build::{files_below, root};
use crate::hostile_files::section;

/// A component with these files, each with its path and contents.
pub fn with_files(component: &Path, files: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = std::fs::read(component).unwrap();
    for (path, contents) in files {
        append_file(&mut bytes, ShippedFile { path, contents: contents.as_bytes() }).unwrap();
    }
    bytes
}

/// A component with the files of this folder of the repository, which has `skills` and `ui` in it.
pub fn with_folder(component: &Path, folder: &str) -> Vec<u8> {
    let mut bytes = std::fs::read(component).unwrap();
    for file in files_below(folder) {
        let contents = std::fs::read(&file).unwrap();
        let path = file.strip_prefix(root().join(folder)).unwrap().to_str().unwrap();
        append_file(&mut bytes, ShippedFile { path, contents: &contents }).unwrap();
    }
    bytes
}

/// A component with a section of files as no build would write it.
pub fn with_raw_file(component: &[u8], data: &[u8]) -> Vec<u8> {
    let name = b"\x0eplugport:files";
    [component, &section(0, &[name, data].concat())].concat()
}

/// The text of a `SKILL.md`.
pub fn skill(name: &str, frontmatter: &str) -> String {
    format!("---\nname: {name}\ndescription: Says what to do.\n{frontmatter}---\n# {name}\n\nDo it.\n")
}
