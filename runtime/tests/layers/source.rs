//! The source files of a crate, each with its layer.

use std::path::{Path, PathBuf};

use crate::layer_rule::layer;

pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) module: String,
    /// How many steps of `super` stay within the layer. Tests inside a file are one module deeper.
    pub(crate) depth: usize,
    /// The number of modules around the code, its own included.
    pub(crate) nesting: usize,
    pub(crate) text: String,
}

/// The sources of the server.
pub(crate) fn sources() -> Vec<Source> {
    sources_of("")
}

/// The sources of the crate in a folder of `runtime`.
pub(crate) fn sources_of(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("src");
    let mut pending = vec![root.clone()];
    let mut sources = Vec::new();
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let below = path.strip_prefix(&root).unwrap();
                let parts: Vec<&str> =
                    below.iter().map(|part| part.to_str().unwrap().trim_end_matches(".rs")).collect();
                let (module, top) = layer(&parts);
                let text = std::fs::read_to_string(&path).unwrap();
                let folder = path.file_name().is_some_and(|name| name == "mod.rs");
                let nesting = parts.len() - usize::from(folder);
                let depth = nesting.saturating_sub(top);
                let module = module.to_owned();
                sources.push(Source { path, module, depth, nesting, text });
            }
        }
    }
    sources
}

/// The parts of a file's path below `src`, without its suffix.
pub(crate) fn parts(source: &Source) -> Vec<&str> {
    let parts: Vec<&str> = source.path.iter().map(|part| part.to_str().unwrap()).collect();
    let at = parts.iter().rposition(|part| *part == "src").unwrap();
    parts[at + 1..].iter().map(|part| part.trim_end_matches(".rs")).collect()
}
