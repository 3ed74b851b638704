//! Measures what a caller at its quota does to another caller, over loopback HTTP and in one run.
//!
//! One caller calls a tool without a pause. In every other window of a second, a second caller, whose quota is used up,
//! sends a request each two milliseconds and gets 429. The figures are the median and the 99th percentile of the first
//! caller's calls, in the windows with and without the second one. The ratio of the latter stands beside its aim.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::support::connection::Connection;
use crate::support::http::request;
use crate::support::in_process::runtime;
use crate::support::{guest_file, server_with_access, verdict};
use data_encoding::HEXLOWER;
use plugport::access::Quotas;
use plugport::config::ServerConfig;
use plugport::transport::http::{Listener, ServerRoutes, serve};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

const WINDOWS: usize = 20;
const WINDOW: Duration = Duration::from_secs(1);

/// Between two requests of the caller at its quota.
const PAUSE: Duration = Duration::from_millis(2);

/// How many times the 99th percentile without the caller at its quota it may be with that caller.
const RATIO_AIM: f64 = 1.1;

const BUSY: &str = "plugport_0123456789abcdefghijklmnopqrstuvwxyz012345";
const AT_QUOTA: &str = "plugport_543210zyxwvutsrqponmlkjihgfedcba9876543210";

pub fn run() {
    let guest = guest_file("quotas");
    let folder = std::env::temp_dir().join(format!("plugport-bench-quotas-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let address = start_server(&guest, &folder);
    let (disturbs, rejected) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut other = ToolCaller::new(address, AT_QUOTA);
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
    let mut busy = ToolCaller::new(address, BUSY);
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
    println!("{:<56}{:>9}{:>9}{:>9}", "a caller without a pause", "p50 µs", "p99 µs", "aim");
    let beside = format!("beside one at its quota, {per_second:.0} requests a second");
    let figures = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[times.len() * 99 / 100])
    });
    for (name, (p50, p99)) in ["alone", &beside].into_iter().zip(figures) {
        println!("{name:<56}{p50:>9.1}{p99:>9.1}");
    }
    let [(alone_p50, alone_p99), (p50, p99)] = figures;
    let (ratio, ratio_p99) = (p50 / alone_p50, p99 / alone_p99);
    println!("{:<56}{ratio:>9.2}{ratio_p99:>9.2}{}", "ratio", verdict(ratio_p99, Some(RATIO_AIM)));
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
            let quotas = Arc::new(Quotas::new(Some(folder.join("state"))));
            quotas.open();
            let server = server_with_access(&guest, &folder, &config).await.with_quotas(quotas);
            let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
            send.send(listener.address).unwrap();
            let settings = ServerConfig::default();
            let routes = ServerRoutes::new(Arc::new(server));
            serve(listener, routes, &settings, CancellationToken::new()).await;
        });
    });
    receive.recv().unwrap()
}

/// A caller of the tool, on one connection.
struct ToolCaller {
    connection: Connection,
    request: String,
}

impl ToolCaller {
    fn new(address: SocketAddr, token: &str) -> Self {
        Self { connection: Connection::open(address), request: request(address, Some(token)) }
    }

    /// Calls the tool, and returns the status code.
    fn call(&mut self) -> &str {
        self.connection.send(&self.request).split(' ').nth(1).unwrap()
    }
}
