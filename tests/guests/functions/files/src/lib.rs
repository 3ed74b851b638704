//! Lists directories and reads files.

use std::fs;

wit_bindgen::generate!({ world: "files", path: "wit" });

struct Files;

impl Guest for Files {
    fn list_directory(path: String) -> Result<Vec<String>, String> {
        let entries = fs::read_dir(path).map_err(|error| error.to_string())?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| error.to_string())?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn read_file(path: String) -> Result<String, String> {
        fs::read_to_string(path).map_err(|error| error.to_string())
    }
}

export!(Files);
