//! An HTTP client that sends raw bytes on one connection.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The maximum wait.
const TIMEOUT: Duration = Duration::from_secs(60);

/// One connection, over TCP or TLS.
pub struct RawConnection<S = TcpStream> {
    stream: S,
    read: Vec<u8>,
}

/// One response with a length.
#[derive(Debug)]
pub struct RawResponse {
    pub status: u16,
    /// The header, in lower case.
    pub head: String,
    pub body: String,
}

impl RawResponse {
    /// Whether it has `Connection: close`.
    pub fn closes_connection(&self) -> bool {
        self.head.contains("\r\nconnection: close\r\n")
    }
}

impl RawConnection {
    /// Connects to the server at this URL.
    pub async fn to(url: &str) -> Self {
        let address = url.replace("http://", "").replace("/mcp", "");
        Self::over(TcpStream::connect(address).await.unwrap())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> RawConnection<S> {
    /// A connection on a stream.
    pub fn over(stream: S) -> Self {
        Self { stream, read: Vec::new() }
    }

    pub async fn send(&mut self, text: impl AsRef<[u8]>) {
        self.stream.write_all(text.as_ref()).await.unwrap();
    }

    /// The next response.
    pub async fn response(&mut self) -> RawResponse {
        let head =
            self.until(|read| read.windows(4).position(|end| end == b"\r\n\r\n").map(|at| at + 4)).await;
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        let body = self.until(|read| (read.len() >= length).then_some(length)).await;
        RawResponse { status, head, body: String::from_utf8(body).unwrap() }
    }

    /// Whether the server closes the connection without another response.
    pub async fn is_closed(&mut self) -> bool {
        let read = tokio::time::timeout(TIMEOUT, self.stream.read(&mut [0; 1])).await;
        self.read.is_empty() && matches!(read.expect("an end in time"), Ok(0) | Err(_))
    }

    /// All that the server sends until it closes the connection.
    pub async fn rest(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.read);
        // A reset is an end too.
        let reading = async { while self.stream.read_buf(&mut rest).await.is_ok_and(|read| read > 0) {} };
        tokio::time::timeout(TIMEOUT, reading).await.expect("an end in time");
        rest
    }

    async fn until(&mut self, end: impl Fn(&[u8]) -> Option<usize>) -> Vec<u8> {
        loop {
            if let Some(end) = end(&self.read) {
                return self.read.drain(..end).collect();
            }
            let reading = tokio::time::timeout(TIMEOUT, self.stream.read_buf(&mut self.read));
            let read =
                reading.await.unwrap_or_else(|_| panic!("no response in time: {:?}", self.read)).unwrap();
            assert!(
                read > 0,
                "the connection ended within a response: {:?}",
                String::from_utf8_lossy(&self.read)
            );
        }
    }
}
