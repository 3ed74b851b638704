//! Reads everything that a host might have left reachable.

use std::env;
use std::fs;
use std::io::{self, IsTerminal as _, Read as _};
use std::net::ToSocketAddrs as _;

use plugport_sdk::config;
use plugport_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
struct Surroundings {
    args: Vec<String>,
    vars: Vec<(String, String)>,
    cwd: Option<String>,
    /// What stdin holds.
    stdin: Vec<u8>,
    /// Streams that are terminals.
    terminals: Vec<String>,
    /// What the machine says of itself.
    hostnames: Vec<String>,
    /// Settings that nobody made.
    settings: Vec<(String, String)>,
    /// Paths that could be read.
    readable: Vec<String>,
    /// Paths that could be written.
    writable: Vec<String>,
}

/// Report arguments, variables, streams, names and files.
#[tool(read_only)]
fn environment() -> Result<Surroundings, Error> {
    let folders = ["/", ".", "..", "/var", "/data", "/home", "/proc/self", "/etc", "/tmp"];
    let files = ["/etc/passwd", "/proc/self/environ", "plugport.toml", "../Cargo.toml"];
    let listed = folders.iter().filter(|path| fs::read_dir(path).is_ok());
    let opened = files.iter().filter(|path| fs::read(path).is_ok());
    let mut stdin = Vec::new();
    let _ = io::stdin().read_to_end(&mut stdin);
    Ok(Surroundings {
        args: env::args().collect(),
        vars: env::vars().collect(),
        cwd: env::current_dir().ok().map(|path| path.display().to_string()),
        stdin,
        terminals: terminals(),
        hostnames: hostnames(),
        settings: config::all()?,
        readable: listed.chain(opened).map(ToString::to_string).collect(),
        writable: writable(),
    })
}

fn terminals() -> Vec<String> {
    let streams = [
        ("stdin", io::stdin().is_terminal()),
        ("stdout", io::stdout().is_terminal()),
        ("stderr", io::stderr().is_terminal()),
    ];
    streams.into_iter().filter(|(_, terminal)| *terminal).map(|(name, _)| name.to_owned()).collect()
}

/// A guest has no call for the machine's name; these files have it, and the resolver knows it.
fn hostnames() -> Vec<String> {
    let files = ["/etc/hostname", "/etc/hosts", "/proc/sys/kernel/hostname"];
    let told = files.iter().filter_map(|path| fs::read_to_string(path).ok());
    let resolved =
        ["localhost:80", "host.docker.internal:80"].iter().filter_map(|name| name.to_socket_addrs().ok());
    told.chain(resolved.flatten().map(|address| address.to_string())).collect()
}

fn writable() -> Vec<String> {
    let folders = ["/", ".", "/var", "/data", "/tmp"];
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
