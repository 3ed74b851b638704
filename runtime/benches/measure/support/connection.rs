//! One blocking connection that is kept alive.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs};

/// A connection to a server.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub fn open(address: impl ToSocketAddrs) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: vec![0; 64 << 10] }
    }

    /// Sends a request and returns the text of its response, head and body.
    pub fn send(&mut self, request: &str) -> &str {
        self.stream.write_all(request.as_bytes()).unwrap();
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut self.buffer[filled..]).unwrap();
            assert!(read > 0, "the server hung up");
            filled += read;
            let text = std::str::from_utf8(&self.buffer[..filled]).unwrap();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = header(head, "content-length").map_or(0, |length| length.parse::<usize>().unwrap());
            if body.len() >= length {
                break;
            }
        }
        std::str::from_utf8(&self.buffer[..filled]).unwrap()
    }

    /// The same for a response that must be a success.
    pub fn send_ok(&mut self, request: &str) -> &str {
        let text = self.send(request);
        assert!(text.starts_with("HTTP/1.1 20"), "{text}");
        text
    }
}

/// The value of a header of a response.
pub fn header<'t>(response: &'t str, name: &str) -> Option<&'t str> {
    response.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}
