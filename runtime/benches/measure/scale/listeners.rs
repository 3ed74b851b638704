//! Very many `subscriptions/listen` streams, and when each is notified.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::requests::{STATELESS, meta, post};

/// How long the last one may wait.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Open streams.
pub struct Listeners(Vec<Listener>);

struct Listener {
    stream: TcpStream,
    /// What came since the last notification.
    unread: Vec<u8>,
}

impl Listeners {
    /// Opens so many streams, each on a connection of its own.
    pub async fn open(address: &str, count: usize) -> Self {
        let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta() });
        let body = json!({ "jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params });
        let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "subscriptions/listen")];
        let request = post(address, &headers, &body);
        let mut listeners = Vec::with_capacity(count);
        for _ in 0..count {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut listener = Listener { stream, unread: Vec::new() };
            listener.wait_for("notifications/subscriptions/acknowledged").await;
            listeners.push(listener);
        }
        Self(listeners)
    }

    /// Makes a change, and returns when each stream was notified of it, in milliseconds after the instant that `change`
    /// returns, in order.
    pub async fn notified(&mut self, change: impl FnOnce() -> Instant) -> Vec<f64> {
        let mut waiting = JoinSet::new();
        for mut listener in self.0.drain(..) {
            waiting.spawn(async move {
                let at = listener.wait_for("notifications/tools/list_changed").await;
                (listener, at)
            });
        }
        let begun = change();
        let all = async {
            let mut times = Vec::new();
            while let Some(notified) = waiting.join_next().await {
                let (listener, at) = notified.unwrap();
                self.0.push(listener);
                times.push((at - begun).as_secs_f64() * 1e3);
            }
            times
        };
        let mut times = tokio::time::timeout(TIMEOUT, all).await.unwrap();
        times.sort_by(f64::total_cmp);
        times
    }
}

impl Listener {
    /// Reads until this text has come.
    async fn wait_for(&mut self, text: &str) -> Instant {
        loop {
            assert!(self.stream.read_buf(&mut self.unread).await.unwrap() > 0, "the server ended a stream");
            if self.unread.windows(text.len()).any(|bytes| bytes == text.as_bytes()) {
                self.unread.clear();
                return Instant::now();
            }
        }
    }
}
