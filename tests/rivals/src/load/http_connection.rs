//! One connection of HTTP/1.1, which sends bytes and reads responses with a length or in chunks.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

/// Where the parts of a response are in the buffer.
struct Head {
    status: u16,
    body_at: usize,
    /// None: in chunks.
    length: Option<usize>,
}

impl Connection {
    pub async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.with_context(|| format!("cannot reach {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; 64 << 10], filled: 0 })
    }

    pub async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.filled = 0;
        Ok(self.stream.write_all(bytes).await?)
    }

    /// The bytes after the head of a successful response; chunks are as they came.
    pub async fn raw_body(&mut self) -> Result<&[u8]> {
        let head = loop {
            if let Some(head) = head(&self.buffer[..self.filled])? {
                break head;
            }
            self.read().await?;
        };
        loop {
            let body = &self.buffer[head.body_at..self.filled];
            let complete = match head.length {
                Some(length) => body.len() == length,
                // Nothing follows, since the next request is not sent yet.
                None => body == LAST_CHUNK || body.ends_with(b"\r\n0\r\n\r\n"),
            };
            if complete {
                break;
            }
            self.read().await?;
        }
        let body = &self.buffer[head.body_at..self.filled];
        ensure!(
            (200..300).contains(&head.status),
            "status {}: {}",
            head.status,
            String::from_utf8_lossy(body)
        );
        Ok(body)
    }

    /// The text of a successful response.
    pub async fn text(&mut self) -> Result<String> {
        self.raw_body().await?;
        let head = head(&self.buffer[..self.filled])?.context("there is no head")?;
        Ok(text(&head, &self.buffer[..self.filled]))
    }

    /// The first message with `mark` in a stream of events that goes on.
    pub async fn event(&mut self, mark: &str) -> Result<String> {
        loop {
            let so_far = &self.buffer[..self.filled];
            if let Some(head) = head(so_far)? {
                let text = text(&head, so_far);
                ensure!(head.status == 200, "status {}: {text}", head.status);
                // A line that has come whole.
                let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
                let found =
                    lines.filter_map(|line| line.strip_prefix("data:")).find(|data| data.contains(mark));
                if let Some(data) = found {
                    return Ok(data.trim().to_owned());
                }
            }
            self.read().await?;
        }
    }

    /// A field of the head of the response that was read last.
    pub fn header(&self, name: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.buffer[..self.filled]);
        let (head, _) = text.split_once("\r\n\r\n")?;
        let value = head.lines().find_map(|line| field(line, name))?;
        Some(value.to_owned())
    }

    async fn read(&mut self) -> Result<()> {
        if self.filled == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        let read = self.stream.read(&mut self.buffer[self.filled..]).await?;
        ensure!(read > 0, "the server closed a connection");
        self.filled += read;
        Ok(())
    }
}

/// The head, when it has come whole.
fn head(bytes: &[u8]) -> Result<Option<Head>> {
    // Heads are short; a body is not searched to its end.
    let start = &bytes[..bytes.len().min(4_096)];
    let Some(end) = start.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let text = std::str::from_utf8(&start[..end])?;
    let status =
        text.split(' ').nth(1).and_then(|status| status.parse().ok()).context("there is no status")?;
    let length =
        text.lines().find_map(|line| field(line, "content-length")).map(str::parse::<usize>).transpose()?;
    let chunked = text.lines().any(|line| field(line, "transfer-encoding").is_some());
    // 204 and the like have neither.
    let length = length.or(if chunked { None } else { Some(0) });
    Ok(Some(Head { status, body_at: end + 4, length }))
}

fn field<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (field, value) = line.split_once(':')?;
    field.eq_ignore_ascii_case(name).then(|| value.trim())
}

/// The body without the sizes of its chunks, as far as it has come.
fn text(head: &Head, bytes: &[u8]) -> String {
    let body = &bytes[head.body_at..];
    if head.length.is_some() {
        return String::from_utf8_lossy(body).into_owned();
    }
    let (mut rest, mut whole) = (body, Vec::new());
    while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&rest[..line]).ok();
        let Some(size) = size.and_then(|size| usize::from_str_radix(size.trim(), 16).ok()) else { break };
        let chunk = &rest[line + 2..];
        whole.extend_from_slice(&chunk[..size.min(chunk.len())]);
        let Some(next) = chunk.get(size + 2..) else { break };
        rest = next;
    }
    String::from_utf8_lossy(&whole).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_a_length_or_chunks() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        let parsed = head(whole).unwrap().unwrap();
        assert_eq!((parsed.status, parsed.length, text(&parsed, whole).as_str()), (200, Some(2), "ok"));
        let chunked =
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        let parsed = head(chunked).unwrap().unwrap();
        assert_eq!((parsed.length, text(&parsed, chunked).as_str()), (None, "abcde"));
        assert!(head(b"HTTP/1.1 200 OK\r\nContent").unwrap().is_none());
    }
}
