use std::sync::atomic::Ordering;
use std::task::{Context, Wake, Waker};

use axum::Router;
use http_body_util::{BodyExt as _, Full};
use hyper::Response;
use hyper_util::service::TowerToHyperService;

use super::super::tls::tests::{TestFiles, localhost};
use super::*;

/// Responds to every request with the name in the client's certificate.
async fn client_name(request: axum::extract::Request) -> String {
    let certificate =
        request.extensions().get::<ConnectionCertificate>().and_then(ConnectionCertificate::trusted);
    certificate.map_or_else(|| "nobody".to_owned(), |certificate| certificate.subject.clone())
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[tokio::test]
async fn https_is_served_beside_clients_that_stall_or_speak_http() {
    let files = TestFiles::new();
    let tls = TlsAcceptor::load(&files.config(false)).unwrap();
    let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap().with_tls(tls);
    let address = listener.address;
    assert_eq!(listener.url(), format!("https://{address}"));
    let routes = TowerToHyperService::new(Router::new().fallback(client_name));
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let serving =
        tokio::spawn(async move { serve(listener, routes, &ServerConfig::default(), stopped).await });
    let _stalled = TcpStream::connect(address).await.unwrap();
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(GET).await.unwrap();
    let mut received = Vec::new();
    plain.read_to_end(&mut received).await.unwrap();
    assert!(!received.starts_with(b"HTTP"), "{received:?}");
    for (shown, name) in [(None, &b"nobody"[..]), (Some(files.client_certificate("ada")), b"ada")] {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut stream = files.connector(shown).connect(localhost(), stream).await.unwrap();
        for _ in 0..2 {
            stream.write_all(GET).await.unwrap();
            let mut response = Vec::new();
            while !response.ends_with(name) {
                assert!(stream.read_buf(&mut response).await.unwrap() > 0, "{response:?}");
            }
        }
        if name == b"ada" {
            stop.cancel();
            // Without a `close_notify`, reading to the end is an error.
            assert_eq!(stream.read_to_end(&mut Vec::new()).await.unwrap(), 0);
        }
    }
    serving.await.unwrap();
}

#[tokio::test]
async fn the_kernel_keeps_little_of_what_a_client_leaves_unread() {
    let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let client = TcpSocket::new_v4().unwrap();
    client.set_recv_buffer_size(4 << 10).unwrap();
    let (client, accepted) = tokio::join!(client.connect(listener.address), listener.socket.accept());
    let (_client, (stream, _)) = (client.unwrap(), accepted.unwrap());
    let mut kept = 0;
    while tokio::time::timeout(Duration::from_millis(100), stream.writable()).await.is_ok() {
        kept += stream.try_write(&[0; 16 << 10]).unwrap_or_default();
    }
    assert!(kept > 0 && kept <= 4 * SEND_BUFFER as usize, "{kept} bytes");
}

#[tokio::test]
async fn the_kernel_keeps_little_of_what_is_not_read_of_a_client() {
    let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let (client, accepted) = tokio::join!(TcpStream::connect(listener.address), listener.socket.accept());
    let (mut client, (mut stream, _)) = (client.unwrap(), accepted.unwrap());
    // The receive buffer of a client that is read fast grows, unless its size was set.
    let sent = vec![0; 32 << 20];
    let mut received = vec![0; sent.len()];
    let (sending, receiving) = tokio::join!(client.write_all(&sent), stream.read_exact(&mut received));
    sending.unwrap();
    receiving.unwrap();
    let size = |stream: TcpStream| {
        TcpSocket::from_std_stream(stream.into_std().unwrap()).recv_buffer_size().unwrap()
    };
    let busy = size(stream);
    let (client, accepted) = tokio::join!(TcpStream::connect(listener.address), listener.socket.accept());
    let (_client, (fresh, _)) = (client.unwrap(), accepted.unwrap());
    assert_eq!(busy, size(fresh), "its size was not set");
    assert!(busy <= 2 * RECEIVE_BUFFER, "{busy} bytes");
}

/// Counts how often a task is woken.
#[derive(Default)]
struct WakeCounter(AtomicUsize);

impl Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls a connection once that has a request with a body. Returns how often its task was woken.
async fn wakes_of_a_request(in_place: bool) -> usize {
    let (mut client, server) = tokio::io::duplex(4_096);
    client.write_all(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello").await.unwrap();
    let echo = service_fn(async |request: Request<Incoming>| {
        let body = request.into_body().collect().await?.to_bytes();
        Ok::<_, hyper::Error>(Response::new(Full::new(body)))
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(server), echo);
    let mut connection: Box<dyn Future<Output = hyper::Result<()>> + Unpin> =
        if in_place { Box::new(SelfWaking::new(connection)) } else { Box::new(connection) };
    let wakes = Arc::new(WakeCounter::default());
    let waker = Waker::from(Arc::clone(&wakes));
    assert!(Pin::new(&mut connection).poll(&mut Context::from_waker(&waker)).is_pending());
    let wakes = wakes.0.load(Ordering::SeqCst);
    let mut response = vec![0; 4_096];
    let read = client.read(&mut response).await.unwrap();
    assert!(response[..read].ends_with(b"hello"));
    wakes
}

#[tokio::test]
async fn a_request_with_a_body_does_not_wake_the_task_of_its_connection() {
    let mut fewest = usize::MAX;
    for _ in 0..100 {
        // If this fails, hyper has changed, and connections need `SelfWaking` no more.
        assert!(wakes_of_a_request(false).await > 0);
        fewest = fewest.min(wakes_of_a_request(true).await);
    }
    assert_eq!(fewest, 0, "hyper wakes the task later in a poll");
}
