//! Opens files, directories, streams, listings, sockets and threads without closing them.

use std::fs::File;
use std::net::{TcpListener, TcpStream, UdpSocket};

use plugport_sdk::prelude::*;
use plugport_test_guests::wasi_fs::{self, Attempts, DescriptorFlags, OpenFlags, PathFlags};
use wasip2::sockets::network::IpAddressFamily;
use wasip2::sockets::{tcp_create_socket, udp_create_socket};

/// More than any limit allows.
const MANY: usize = 2_000;

/// How many could be opened, and the error of the next one. All stay open until then.
fn hoarded<T, E: std::fmt::Display>(mut open: impl FnMut() -> Result<T, E>) -> String {
    let mut kept = Vec::new();
    while kept.len() < MANY {
        match open() {
            Ok(opened) => kept.push(opened),
            Err(error) => return format!("{}: {error}", kept.len()),
        }
    }
    format!("{MANY}: no end")
}

/// Open a file again and again.
#[tool]
fn files(path: String) -> String {
    hoarded(|| File::open(&path))
}

/// Open a directory again and again.
#[tool]
fn directories(directory: String) -> Result<String, String> {
    let directory = wasi_fs::granted(&directory)?;
    let (follow, read) = (PathFlags::empty(), DescriptorFlags::READ);
    Ok(hoarded(|| directory.open_at(follow, ".", OpenFlags::DIRECTORY, read)))
}

/// List a directory again and again, and never to its end.
#[tool]
fn listings(directory: String) -> Result<String, String> {
    let directory = wasi_fs::granted(&directory)?;
    Ok(hoarded(|| directory.read_directory()))
}

/// Open a file, a stream on it, and close the file: the stream keeps it open.
#[tool]
fn streams(directory: String, name: String) -> Result<String, String> {
    let directory = wasi_fs::granted(&directory)?;
    Ok(hoarded(|| {
        let (follow, read) = (PathFlags::empty(), DescriptorFlags::READ);
        directory.open_at(follow, &name, OpenFlags::empty(), read)?.read_via_stream(0)
    }))
}

/// Open many streams on one file.
#[tool]
fn streams_of_one(directory: String, name: String) -> Result<String, String> {
    let directory = wasi_fs::granted(&directory)?;
    let (follow, read) = (PathFlags::empty(), DescriptorFlags::READ);
    let file = directory.open_at(follow, &name, OpenFlags::empty(), read);
    let file = file.map_err(|error| error.to_string())?;
    Ok(hoarded(|| file.read_via_stream(0)))
}

/// Count the names in a directory.
#[tool]
fn count(directory: String) -> std::io::Result<String> {
    Ok(std::fs::read_dir(directory)?.filter(Result::is_ok).count().to_string())
}

/// Open sockets in every way, and start a thread.
#[tool]
fn sockets() -> String {
    let mut tried = Attempts::default();
    tried.note("connect", TcpStream::connect("127.0.0.1:80"));
    tried.note("listen", TcpListener::bind("127.0.0.1:0"));
    tried.note("udp", UdpSocket::bind("127.0.0.1:0"));
    tried.note("look up", std::net::ToSocketAddrs::to_socket_addrs("localhost:80"));
    for family in [IpAddressFamily::Ipv4, IpAddressFamily::Ipv6] {
        tried.note("raw tcp", tcp_create_socket::create_tcp_socket(family));
        tried.note("raw udp", udp_create_socket::create_udp_socket(family));
    }
    tried.note("thread", std::thread::Builder::new().spawn(|| {}));
    tried.told()
}

/// Say that all is well.
#[tool]
fn ok() -> &'static str {
    "ok"
}

plugport_sdk::export! { tools: [files, directories, listings, streams, streams_of_one, count, sockets, ok] }
