//! Tries to reach the canaries beside the server: a file, a port, a variable.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::{env, fs};

use plugport_sdk::prelude::*;

/// Reach for a file, a port and a variable; say what was within reach.
#[tool]
fn reach(file: String, port: u16, variable: String) -> String {
    let mut reached = Vec::new();
    let mut note = |what: &str, found: bool| reached.extend(found.then(|| what.to_owned()));
    note("file", fs::read(&file).is_ok());
    note("file written", fs::write(&file, "stolen").is_ok());
    note("file removed", fs::remove_file(&file).is_ok());
    note("relative file", fs::read(format!("../../../../../..{file}")).is_ok());
    note("port", TcpStream::connect(("127.0.0.1", port)).is_ok());
    note("port by name", TcpStream::connect(("localhost", port)).is_ok());
    note("listening", TcpListener::bind(("127.0.0.1", 0)).is_ok());
    note("datagrams", UdpSocket::bind(("127.0.0.1", 0)).is_ok());
    note("variable", env::var(&variable).is_ok());
    note("variables", env::vars().next().is_some());
    note("arguments", env::args().any(|argument| argument.contains('/')));
    note("thread", std::thread::Builder::new().spawn(|| ()).is_ok());
    format!("reached: {}", reached.join(", "))
}

plugport_sdk::export! { tools: [reach] }
