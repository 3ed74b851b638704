//! Measures what a caller at its quota does to another caller, over loopback HTTP and in one run.
//!
//! One caller calls a tool without a pause. In every other window of a second, a second caller, whose quota is used up,
//! sends a request each two milliseconds and gets 429. The figures are the median and the 99th percentile of the first
//! caller's calls, in the windows with and without the second one.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::support::http::request;
use crate::support::in_process::runtime;
use crate::support::{entry, guest_file, loader};
use data_encoding::HEXLOWER;
use plugport::access::policy::Policy;
use plugport::access::{Authenticator, Quotas};
use plugport::catalog::{Catalog, Snapshot};
use plugport::config::{Config, ServerConfig};
use plugport::mcp::Server;
use plugport::observe::Audit;
use plugport::transport::http::{Listener, ServerRoutes, serve};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

const WINDOWS: usize = 20;
const WINDOW: Duration = Duration::from_secs(1);

/// Between two requests of the caller at its quota.
const PAUSE: Duration = Duration::from_millis(2);

const BUSY: &str = "plugport_0123456789abcdefghijklmnopqrstuvwxyz012345";
const AT_QUOTA: &str = "plugport_543210zyxwvutsrqponmlkjihgfedcba9876543210";

pub fn run() {
    let guest = guest_file("quotas");
    let folder = std::env::temp_dir().join(format!("plugport-bench-quotas-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let address = start_server(&guest, &folder);
    let (disturbs, rejected) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut other = KeepAliveClient::new(address, AT_QUOTA);
    assert_eq!(other.call(), "200", "the first call uses the quota up");
    let (when, count) = (Arc::clone(&disturbs), Arc::clone(&rejected));
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(PAUSE);
            if when.load(Ordering::Relaxed) {
                assert_eq!(other.call(), "429");
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let mut busy = KeepAliveClient::new(address, BUSY);
    let mut times = [Vec::new(), Vec::new()];
    for window in 0..WINDOWS {
        disturbs.store(window % 2 == 1, Ordering::Relaxed);
        let begun = Instant::now();
        while begun.elapsed() < WINDOW {
            let sent = Instant::now();
            assert_eq!(busy.call(), "200");
            times[window % 2].push(sent.elapsed().as_secs_f64() * 1e6);
        }
    }
    let per_second = rejected.load(Ordering::Relaxed) as f64 / (WINDOWS as f64 / 2.0 * WINDOW.as_secs_f64());
    println!("{:<56}{:>9}{:>9}", "a caller without a pause", "p50 µs", "p99 µs");
    let beside = format!("beside one at its quota, {per_second:.0} requests a second");
    let figures = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[times.len() * 99 / 100])
    });
    for (name, (p50, p99)) in ["alone", &beside].into_iter().zip(figures) {
        println!("{name:<56}{p50:>9.1}{p99:>9.1}");
    }
    let [(alone_p50, alone_p99), (p50, p99)] = figures;
    println!("{:<56}{:>9.2}{:>9.2}", "ratio", p50 / alone_p50, p99 / alone_p99);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A server on a thread of its own, for as long as this process.
fn start_server(guest: &Path, folder: &Path) -> SocketAddr {
    let digest = |token: &str| HEXLOWER.encode(&Sha256::digest(token.as_bytes()));
    let config = format!(
        "[[auth.tokens]]\nname = \"busy\"\nsha256 = \"{}\"\n[[auth.tokens]]\nname = \"quota\"\nsha256 = \"{}\"\n\
         [roles.free]\nwho = [\"token:busy\"]\nallow = [\"*\"]\n\
         [roles.bound]\nwho = [\"token:quota\"]\nallow = [\"*\"]\nquota = {{ calls_per_day = 1 }}\n",
        digest(BUSY),
        digest(AT_QUOTA)
    );
    let (guest, folder) = (guest.to_owned(), folder.to_owned());
    let (send, receive) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        runtime().block_on(async {
            let file = folder.join("plugport.toml");
            std::fs::write(&file, config).unwrap();
            let config = Config::read(&file, folder.clone()).unwrap();
            let catalog = Arc::new(Catalog::new(Snapshot::new(vec![entry(&loader(), &guest, &[]).await])));
            catalog.set_policy(Arc::new(Policy::new(&config.roles)));
            let authenticator = Arc::new(Authenticator::new(config.auth.as_ref(), Audit::disabled()));
            let quotas = Arc::new(Quotas::new(Some(folder.join("state"))));
            quotas.open();
            let server = Server::new(catalog, ServerConfig::default());
            let server = server.with_authenticator(authenticator).with_quotas(quotas);
            let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
            send.send(listener.address).unwrap();
            let settings = ServerConfig::default();
            let routes = ServerRoutes::new(Arc::new(server));
            serve(listener, routes, &settings, CancellationToken::new()).await;
        });
    });
    receive.recv().unwrap()
}

/// A client with one connection, which is kept alive.
struct KeepAliveClient {
    stream: TcpStream,
    request: String,
    buffer: Vec<u8>,
}

impl KeepAliveClient {
    fn new(address: SocketAddr, token: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, request: request(address, Some(token)), buffer: vec![0; 16 << 10] }
    }

    /// Calls the tool, and returns the status code.
    fn call(&mut self) -> String {
        self.stream.write_all(self.request.as_bytes()).unwrap();
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut self.buffer[filled..]).unwrap();
            assert!(read > 0, "the server hung up");
            filled += read;
            let text = std::str::from_utf8(&self.buffer[..filled]).unwrap();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() == length.parse::<usize>().unwrap() {
                return head.split(' ').nth(1).unwrap().to_owned();
            }
        }
    }
}
