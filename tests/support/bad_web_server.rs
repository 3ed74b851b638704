//! A web server on this machine that misbehaves as its path says, and counts its requests.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a request waits for the others that it wants to meet.
const MEETING: Duration = Duration::from_secs(8);

/// A server on a port that the system chose. It ends when dropped.
pub struct BadWebServer {
    address: SocketAddr,
    seen: Arc<SeenRequests>,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct SeenRequests {
    heads: Mutex<Vec<String>>,
    accepted: AtomicUsize,
    open: AtomicUsize,
}

impl BadWebServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<SeenRequests>::default();
        let serving = tokio::spawn(serve(listener, Arc::clone(&seen)));
        Self { address, seen, serving }
    }

    /// `127.0.0.1:PORT`.
    pub fn authority(&self) -> String {
        self.address.to_string()
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The configuration that grants this server to a plugin.
    pub fn grant(&self, plugin: &str) -> String {
        format!("[plugins.{plugin}.grants]\nhttp = [\"http://{}\"]\n", self.address)
    }

    /// The heads of the requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.seen.heads.lock().unwrap().clone()
    }

    /// How many connections were made.
    pub fn accepted(&self) -> usize {
        self.seen.accepted.load(Ordering::SeqCst)
    }

    /// Waits until every connection is closed again.
    pub async fn wait_until_closed(&self) {
        for _ in 0..500 {
            if self.seen.open.load(Ordering::SeqCst) == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} connections stay open", self.seen.open.load(Ordering::SeqCst));
    }
}

impl Drop for BadWebServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, seen: Arc<SeenRequests>) {
    while let Ok((stream, _)) = listener.accept().await {
        seen.accepted.fetch_add(1, Ordering::SeqCst);
        seen.open.fetch_add(1, Ordering::SeqCst);
        let seen = Arc::clone(&seen);
        tokio::spawn(async move {
            // A client that disconnects early is no failure of this server.
            let _ = respond(stream, &seen).await;
            seen.open.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

async fn respond(mut stream: TcpStream, seen: &SeenRequests) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut piece = [0; 4_096];
        match stream.read(&mut piece).await? {
            0 => return Ok(()),
            // The first byte of TLS, which this server does not have.
            _ if piece[0] == 0x16 => return stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await,
            read => head.extend_from_slice(&piece[..read]),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    seen.heads.lock().unwrap().push(head.clone());
    let target = head.split_whitespace().nth(1).unwrap_or("/").to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    match path {
        "/silent" => silent(stream).await,
        "/endless" => endless(stream).await,
        "/drip" => drip(stream).await,
        "/headers" => headers(stream).await,
        "/meet" => meet(stream, query, seen).await,
        "/interim" => interim(stream).await,
        "/gzip" => whole(&mut stream, "200 OK\r\nContent-Encoding: gzip", &[0x1f; 100_000]).await,
        "/short" => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nonly this").await,
        "/upgrade" => {
            stream
                .write_all(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
                .await
        }
        "/garbage" => stream.write_all(b"\x16\x03\x01 no HTTP at all\r\n\r\n").await,
        "/redirect" => whole(&mut stream, &format!("302 Found\r\nLocation: {query}"), b"").await,
        "/loop" => {
            let host = stream.local_addr()?;
            whole(&mut stream, &format!("302 Found\r\nLocation: http://{host}/loop"), b"").await
        }
        "/html" => {
            let page = "<html><head><title>A page</title><script>evil()</script></head><body><h1>Title</h1>\
                        <p>Some <b>bold</b> text and a <a href=\"/next\">link</a>.</p></body></html>";
            whole(&mut stream, "200 OK\r\nContent-Type: text/html; charset=utf-8", page.as_bytes()).await
        }
        _ => {
            whole(&mut stream, "200 OK\r\nContent-Type: text/plain", format!("hello\n{head}").as_bytes())
                .await
        }
    }
}

async fn whole(stream: &mut TcpStream, status: &str, body: &[u8]) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    leave(stream).await
}

/// Waits until the client has disconnected, so that its last bytes cause no reset.
async fn leave(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut rest = [0; 4_096];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

async fn silent(mut stream: TcpStream) -> std::io::Result<()> {
    leave(&mut stream).await
}

async fn endless(mut stream: TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
    let chunk = [b"10000\r\n".as_slice(), &[b'x'; 65_536], b"\r\n"].concat();
    loop {
        stream.write_all(&chunk).await?;
    }
}

async fn drip(mut stream: TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").await?;
    loop {
        stream.write_all(b"x").await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn interim(mut stream: TcpStream) -> std::io::Result<()> {
    loop {
        stream.write_all(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(100)).await?;
    }
}

async fn headers(mut stream: TcpStream) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
    for number in 0.. {
        stream.write_all(format!("X-{number}: value\r\n").as_bytes()).await?;
    }
    Ok(())
}

/// Responds with NAME of the query `COUNT&GROUP&NAME` as soon as that many requests of the group have come, each of
/// which waits here.
async fn meet(mut stream: TcpStream, query: &str, seen: &SeenRequests) -> std::io::Result<()> {
    let (group, name) = query.rsplit_once('&').unwrap_or((query, ""));
    let count = group.split('&').next().and_then(|count| count.parse().ok()).unwrap_or(1);
    let target = format!("/meet?{group}&");
    let is_meant = |head: &&String| head.contains(&target);
    let all_came = async {
        while seen.heads.lock().unwrap().iter().filter(is_meant).count() < count {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    match timeout(MEETING, all_came).await {
        Ok(()) => whole(&mut stream, "200 OK\r\nContent-Type: text/plain", name.as_bytes()).await,
        Err(_) => whole(&mut stream, "504 Gateway Timeout", b"the others did not come").await,
    }
}
