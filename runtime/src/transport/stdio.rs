//! MCP over stdin and stdout: one message per line.
//!
//! stdout is sacred. One task owns it and writes what comes through a bounded channel; nothing else in this program
//! may touch it. Requests run side by side, so a slow tool holds nobody up.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::lines::{self, Line};
use crate::protocol::{Connection, Exchange, Frame, Received, Server};

/// Lines that may wait for a client that is slow to read.
const WAITING: usize = 64;

/// What requests under way have left when the input has ended.
const DRAIN: Duration = Duration::from_secs(5);

/// Serves one client until its input ends, then lets requests under way finish.
///
/// # Errors
/// When the input or the output fails.
pub async fn serve(
    server: Arc<Server>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let most = server.settings().body_bytes;
    let (sender, lines) = mpsc::channel(WAITING);
    let mut writer = tokio::spawn(write(lines, output));
    let mut requests = JoinSet::new();
    let read = read(Connection::new(server), input, most, &sender, &mut requests).await;
    drop(sender);
    let drained = async { while requests.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN, drained).await.is_err() {
        tracing::warn!("stopped requests that were still under way when the input ended");
    }
    drop(requests);
    let written = match tokio::time::timeout(DRAIN, &mut writer).await {
        Ok(written) => written.unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into())),
        Err(_) => {
            writer.abort();
            Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "the client does not read its answers"))
        }
    };
    read.and(written)
}

async fn read(
    mut connection: Connection,
    input: impl AsyncRead + Unpin,
    most: usize,
    sender: &mpsc::Sender<Bytes>,
    requests: &mut JoinSet<()>,
) -> std::io::Result<()> {
    let mut input = BufReader::new(input);
    while let Some(line) = lines::next(&mut input, most).await? {
        while requests.try_join_next().is_some() {}
        let received = match line {
            Line::Whole(line) if line.is_empty() => Received::Nothing,
            Line::Whole(line) => connection.receive(&line),
            Line::TooLong => Received::Reply(connection.too_long(most)),
        };
        match received {
            Received::Nothing => {}
            Received::Reply(reply) => {
                if sender.send(reply).await.is_err() {
                    break;
                }
            }
            Received::Exchange(exchange) => {
                requests.spawn(pump(exchange, sender.clone()));
            }
        }
    }
    Ok(())
}

async fn pump(mut exchange: Exchange, sender: mpsc::Sender<Bytes>) {
    while let Some(frame) = exchange.next().await {
        let (Frame::Message(line) | Frame::Answer(line, _)) = frame;
        if sender.send(lines::unbroken(line)).await.is_err() {
            return;
        }
    }
}

async fn write(mut lines: mpsc::Receiver<Bytes>, mut output: impl AsyncWrite + Unpin) -> std::io::Result<()> {
    while let Some(line) = lines.recv().await {
        output.write_all(&line).await?;
        output.write_all(b"\n").await?;
        if lines.is_empty() {
            output.flush().await?;
        }
    }
    output.flush().await
}
