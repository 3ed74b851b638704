//! Reads and writes files in its granted directories.

use std::io;

use plugport_sdk::prelude::*;

/// Write a file.
#[tool]
fn write(path: String, text: String) -> io::Result<&'static str> {
    std::fs::write(path, text).map(|()| "written")
}

/// Read a file.
#[tool(read_only)]
fn read(path: String) -> io::Result<String> {
    std::fs::read_to_string(path)
}

plugport_sdk::export! { tools: [write, read] }
