//! MCP over stdin and stdout: one message per line.
//!
//! One task reads, serves requests that end with their first poll, and writes, so that such a call costs one wake-up,
//! one read and one write. The task waits for input and for room in the output at the same time, because a client may
//! write while it does not read. Messages that are ready together are written together. Nothing else in this program
//! may write to stdout.

#[cfg(target_os = "linux")]
mod nonblocking;
mod output_queue;
mod standard_streams;
mod stdin_lines;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::task::AbortOnDropHandle;

use self::output_queue::OutputQueue;
use self::stdin_lines::StdinLines;
use super::duplex::{DRAIN, Duplex, Input};
use crate::mcp::{Caller, DuplexSession, Server};

pub use standard_streams::{stdin, stdout};

/// The stream from which stdin is read.
pub type Reader = Box<dyn AsyncRead + Send + Unpin>;

/// The stream to which stdout is written.
pub type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Serves one client until its input ends, then lets running requests finish.
///
/// # Errors
/// When the input or the output fails.
pub async fn serve(
    server: Arc<Server>,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> io::Result<()> {
    // tokio's worker that the system wakes for input runs this task. The thread of `block_on` would have to be woken as
    // well.
    let serving = AbortOnDropHandle::new(tokio::spawn(serve_client(server, input, output)));
    serving.await.unwrap_or_else(|error| Err(error.into()))
}

async fn serve_client(
    server: Arc<Server>,
    input: impl AsyncRead + Unpin + Send,
    output: impl AsyncWrite + Unpin + Send,
) -> io::Result<()> {
    let max_bytes = server.settings().message_bytes;
    // A client that ends closes its pipe, so no pings are needed.
    let connection = DuplexSession::new(Arc::clone(&server), Duration::ZERO, Caller::Stdio, true);
    let input = StdinLines::new(input, max_bytes, server, connection.share().clone());
    let mut duplex = Duplex::new(connection, input, max_bytes);
    let mut output = OutputQueue::new(output);
    let mut written = serve_messages(&mut duplex, &mut output).await;
    let read = duplex.into_input().outcome();
    if written.is_ok() {
        written = tokio::time::timeout(DRAIN, output.write()).await.unwrap_or_else(|_| {
            Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read its answers"))
        });
    }
    read.and(written)
}

/// Reads, serves and writes until the connection ends. Some messages may then remain in `output`.
async fn serve_messages(
    duplex: &mut Duplex<impl Input>,
    output: &mut OutputQueue<impl AsyncWrite + Unpin>,
) -> io::Result<()> {
    loop {
        let has_capacity = output.has_capacity();
        let message = async {
            if has_capacity {
                return duplex.next().await;
            }
            duplex.handle_input().await;
            None
        };
        tokio::select! {
            biased;
            written = output.write(), if !output.is_written() => written?,
            message = message => {
                let Some(message) = message else { return Ok(()) };
                output.push(message);
                while output.has_capacity() && let Some(message) = duplex.try_next() {
                    output.push(message);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};
    use tokio::task::JoinHandle;

    use super::*;
    use crate::catalog::{Catalog, Snapshot};
    use crate::config::ServerConfig;

    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}"#;

    struct Client {
        stdin: DuplexStream,
        stdout: Lines<BufReader<DuplexStream>>,
        serving: JoinHandle<io::Result<()>>,
    }

    impl Client {
        /// Starts a client with a session whose pipes hold `bytes` bytes.
        async fn start(bytes: usize) -> Self {
            let catalog = Arc::new(Catalog::new(Snapshot::new(Vec::new())));
            let server = Arc::new(Server::new(catalog, ServerConfig::default()));
            let ((stdin, input), (output, stdout)) = (tokio::io::duplex(bytes), tokio::io::duplex(bytes));
            let serving = tokio::spawn(serve(server, input, output));
            let mut client = Self { stdin, stdout: BufReader::new(stdout).lines(), serving };
            client.send(&format!("{INITIALIZE}\n")).await;
            assert_eq!(client.next().await["id"], 0);
            client
        }

        async fn send(&mut self, text: &str) {
            self.stdin.write_all(text.as_bytes()).await.unwrap();
        }

        async fn next(&mut self) -> Value {
            let line = tokio::time::timeout(Duration::from_secs(20), self.stdout.next_line()).await.unwrap();
            serde_json::from_str(&line.unwrap().unwrap()).unwrap()
        }
    }

    fn ping(id: u32) -> String {
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }))
    }

    #[tokio::test]
    async fn requests_that_come_together_are_all_answered() {
        let mut client = Client::start(1 << 16).await;
        let together: String = (1..=100).map(ping).collect();
        client.send(&together).await;
        let mut ids = Vec::new();
        while ids.len() < 100 {
            ids.push(client.next().await["id"].as_u64().unwrap());
        }
        ids.sort_unstable();
        assert!(ids.into_iter().eq(1..=100));
        drop(client.stdin);
        client.serving.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn the_last_line_needs_no_line_break() {
        let mut client = Client::start(1 << 16).await;
        client.send(ping(1).trim_end()).await;
        client.stdin.shutdown().await.unwrap();
        assert_eq!(client.next().await["id"], 1);
        client.serving.await.unwrap().unwrap();
        let mut client = Client::start(1 << 16).await;
        client.send(r#"{"jsonrpc":"2.0","id":1,"meth"#).await;
        client.stdin.shutdown().await.unwrap();
        assert_eq!(client.next().await["error"]["code"], -32700);
        client.serving.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_client_that_reads_late_gets_every_response() {
        let mut client = Client::start(64).await;
        let stdin = &mut client.stdin;
        // More requests than the pipes and the queues hold, and more than may run at once.
        let writing = async {
            for id in 1..=400 {
                stdin.write_all(ping(id).as_bytes()).await.unwrap();
            }
        };
        assert!(tokio::time::timeout(Duration::from_millis(100), writing).await.is_err());
        drop(client.stdin);
        let (mut results, mut errors) = (0, 0);
        while let Ok(Some(line)) = client.stdout.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            if message.get("result").is_some() { results += 1 } else { errors += 1 }
        }
        // The last line was cut off. At the limit, no more requests are read than the pipe holds.
        assert!(results > 128 && errors <= 5, "{results} and {errors}");
        client.serving.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_client_that_ends_its_input_and_never_reads_is_given_up() {
        let mut client = Client::start(64).await;
        for id in 1..=8 {
            client.send(&ping(id)).await;
        }
        drop(client.stdin);
        let error = client.serving.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_client_that_closes_its_output_ends_the_connection() {
        let mut client = Client::start(1 << 16).await;
        drop(client.stdout);
        client.stdin.write_all(ping(1).as_bytes()).await.unwrap();
        assert!(client.serving.await.unwrap().is_err());
    }
}
