//! Renames a link's target, by a slash after the link's name, and puts other files in its place.

use plugport_sdk::prelude::*;
use plugport_test_guests::wasi_fs::{self, Attempts};

/// Rename from and to these links with slashes behind their names.
#[tool]
fn rename(directory: String, links: Vec<String>) -> Result<String, String> {
    let directory = wasi_fs::granted(&directory)?;
    let mut tried = Attempts::default();
    for link in &links {
        for end in ["/", "//", "/.", "/./"] {
            let path = format!("{link}{end}");
            tried.note(&path, directory.rename_at(&path, &directory, "moved"));
            tried.note(&path, directory.rename_at(&path, &directory, "moved/"));
            tried.note(&path, directory.rename_at("inner", &directory, &path));
            tried.note(&path, directory.rename_at("inner/", &directory, &path));
            tried.note(&path, directory.rename_at("own.txt", &directory, &path));
        }
    }
    Ok(tried.told())
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [rename, ok] }
