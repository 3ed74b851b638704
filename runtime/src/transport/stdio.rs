//! MCP over stdin and stdout: one message per line.
//!
//! One task owns stdout and writes the messages of a bounded channel; nothing else in this program may write to stdout.
//! Another task reads stdin, so that a client may write while it does not read.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;

use super::duplex::{DRAIN, Duplex, InputLine};
use super::framing::{self, Line};
use crate::mcp::{
    BufferReservation, BufferShare, Caller, DuplexSession, Server, UNCOUNTED_BYTES, buffer_cost,
};

/// Lines that may wait on either side.
const WAITING: usize = 16;

/// How long a large line waits for buffer space.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves one client until its input ends, then lets running requests finish.
///
/// # Errors
/// When the input or the output fails.
pub async fn serve(
    server: Arc<Server>,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let max_bytes = server.settings().message_bytes;
    let (read_lines, received) = mpsc::channel(WAITING);
    let (send, lines) = mpsc::channel(WAITING);
    let mut writer = tokio::spawn(write(lines, output));
    let served = Arc::clone(&server);
    // A client that has ended closes its pipe, so no pings are needed.
    let connection = DuplexSession::new(server, Duration::ZERO, Caller::Stdio, true);
    let mut reader = tokio::spawn(read(input, max_bytes, (served, connection.share().clone()), read_lines));
    let mut duplex = Duplex::new(connection, received, max_bytes);
    while let Some(message) = duplex.next().await {
        if send.send(message).await.is_err() {
            break;
        }
    }
    drop((duplex, send));
    let written = match tokio::time::timeout(DRAIN, &mut writer).await {
        Ok(written) => written.unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into())),
        Err(_) => {
            writer.abort();
            Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "the client does not read its answers"))
        }
    };
    let read = match reader.is_finished() {
        true => (&mut reader).await.unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into())),
        false => Ok(()),
    };
    reader.abort();
    read.and(written)
}

async fn read(
    input: impl AsyncRead + Unpin,
    max_bytes: usize,
    (server, share): (Arc<Server>, BufferShare),
    lines: mpsc::Sender<InputLine>,
) -> std::io::Result<()> {
    let mut input = BufReader::new(input);
    let ended = loop {
        match framing::next(&mut input, max_bytes).await {
            Ok(Some(line)) => {
                let reservation = reserve(&share, &line).await;
                if lines.send(InputLine { line, reservation, sender: None }).await.is_err() {
                    break Ok(());
                }
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    tracing::info!("stdin was closed; the server finishes the requests under way, then stops");
    // The only client has ended, so subscriptions and suspended calls end too.
    server.input_closed();
    ended
}

/// Reserves buffer space for a large line. No more input is read meanwhile. `None` for a small line, and for a large
/// one without space in time, which is then rejected.
async fn reserve(share: &BufferShare, line: &Line) -> Option<BufferReservation> {
    match line {
        Line::Whole(line) if line.len() > UNCOUNTED_BYTES => {
            share.reserve_timeout(buffer_cost(line.len()), PATIENCE).await
        }
        _ => None,
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
