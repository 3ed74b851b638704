//! Looks at everything that a host might have left within reach.

use std::env;
use std::fs;

use plugport_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
struct Surroundings {
    args: Vec<String>,
    vars: Vec<(String, String)>,
    cwd: Option<String>,
    /// Paths that could be read.
    readable: Vec<String>,
    /// Paths that could be written.
    writable: Vec<String>,
}

/// Report arguments, variables and files.
#[tool(read_only)]
fn environment() -> Surroundings {
    let folders = ["/", ".", "..", "/var", "/data", "/home", "/proc/self"];
    let files = ["/etc/passwd", "/proc/self/environ", "plugport.toml", "../Cargo.toml"];
    let listed = folders.iter().filter(|path| fs::read_dir(path).is_ok());
    let opened = files.iter().filter(|path| fs::read(path).is_ok());
    Surroundings {
        args: env::args().collect(),
        vars: env::vars().collect(),
        cwd: env::current_dir().ok().map(|path| path.display().to_string()),
        readable: listed.chain(opened).map(ToString::to_string).collect(),
        writable: writable(),
    }
}

fn writable() -> Vec<String> {
    let folders = ["/", ".", "/var", "/data"];
    let written = folders.iter().filter(|folder| {
        let path = format!("{folder}/plugport-probe");
        let written = fs::write(&path, "probe").is_ok();
        // What could be written is taken away again, as far as possible.
        let _ = fs::remove_file(&path);
        written
    });
    written.map(ToString::to_string).collect()
}

plugport_sdk::export! { tools: [environment] }
