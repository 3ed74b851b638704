//! The Unix socket in the state folder that `plugport status` queries for the status document of a server.
//!
//! One socket per server, in a folder that only this user may open, so clients need not authenticate. A connection is a
//! query; the reply is one document, and then the connection is closed. One connection is served at a time and for a
//! short time, so a client that does not read delays only the next query. A socket gets its name only when its server
//! listens, so a name without a listener was left by a server that was killed.
//!
//! Knows no plugin: the caller makes the bytes of the document.

mod socket_dir;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use rustix::fs::{AtFlags, Mode, chmodat, linkat};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

use socket_dir::{SocketDir, UNFINISHED};

/// How long a client may take to read its reply.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// Servers that are queried at the same time, each by a file descriptor of its own.
const PARALLEL_QUERIES: usize = 64;

/// How long a server may take to reply, also when the client before this one does not read.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest reply that is read, bytes.
const MAX_REPLY: u64 = 16 << 20;

/// After running out of file descriptors, accepting again at once would only spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Servers with the same process id, in several containers, that can share a state folder.
const MAX_SAME_PID: u32 = 16;

/// Why there is no socket, or no socket can be queried.
#[derive(Debug, thiserror::Error)]
pub enum StatusSocketError {
    /// The folder cannot be used.
    #[error("the folder {} cannot be used; make it yours alone, or name another folder with `state_dir` under [server]", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// The path is longer than a socket address may be.
    #[error("the path {} is too long for a socket on this system; name a folder with a shorter path with `state_dir` under [server]", .0.display())]
    TooLong(PathBuf),
    /// The socket cannot be made.
    #[error("a socket in the folder {} cannot be made; check the file system, or name another folder with `state_dir` under [server]", .0.display())]
    Socket(PathBuf, #[source] io::Error),
}

/// Why a server did not reply to a status query.
#[derive(Debug, thiserror::Error)]
pub enum StatusQueryError {
    /// It takes too long.
    #[error("did not answer within {} s; ask again, and look at its log if it does not get better", QUERY_TIMEOUT.as_secs())]
    Late,
    /// The reply is too long.
    #[error("answered with more than {} MiB", MAX_REPLY >> 20)]
    TooLong,
    /// The socket cannot be used.
    #[error("could not be queried; check which user it runs as")]
    Failed(#[from] io::Error),
}

/// A socket with its name, which is removed when this is dropped.
#[derive(Debug)]
pub struct StatusSocket {
    listener: UnixListener,
    folder: SocketDir,
    name: String,
}

impl StatusSocket {
    /// Makes a socket in this state folder, and removes sockets of killed servers.
    ///
    /// # Errors
    /// When the folder cannot be used, or no socket can be made in it.
    pub async fn bind(state: &Path) -> Result<Self, StatusSocketError> {
        let folder = SocketDir::make(state)?;
        let names = folder.names().map_err(|error| StatusSocketError::Folder(folder.path.clone(), error))?;
        folder.remove_unfinished();
        for name in names {
            // Connecting shows whether a server listens; the reply is not read.
            if let Err(error) = folder.connect(&name).await
                && error.kind() == io::ErrorKind::ConnectionRefused
            {
                folder.remove(&name);
            }
        }
        let failed = |error| StatusSocketError::Socket(folder.path.clone(), error);
        let unfinished = unfinished_name().map_err(failed)?;
        let listener = UnixListener::bind(folder.address(&unfinished)?).map_err(failed)?;
        let named = claim_name(&folder, &unfinished);
        folder.remove(&unfinished);
        let name = named.map_err(failed)?;
        Ok(Self { listener, folder, name })
    }

    /// Sends a document on every connection, until `stop`.
    pub async fn serve(
        self,
        document: impl Fn() -> Vec<u8> + Send + Sync + 'static,
        stop: CancellationToken,
    ) {
        let document = Arc::new(document);
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            let document = Arc::clone(&document);
            let replying = async move {
                match accepted {
                    Ok((stream, _)) => reply(stream, document).await,
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = replying => {}
            }
        }
    }
}

impl Drop for StatusSocket {
    fn drop(&mut self) {
        self.folder.remove(&self.name);
    }
}

/// A name for a socket before its server listens. It is random, since servers in several containers may have the same
/// process id.
fn unfinished_name() -> io::Result<String> {
    let mut random = [0; 4];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(format!("{}-{:08x}{UNFINISHED}", std::process::id(), u32::from_le_bytes(random)))
}

/// Gives the socket a name that no other socket has.
fn claim_name(folder: &SocketDir, unfinished: &str) -> io::Result<String> {
    chmodat(&folder.fd, unfinished, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
    let pid = std::process::id();
    let further = (1..MAX_SAME_PID).map(|number| format!("{pid}-{number}.sock"));
    for name in std::iter::once(format!("{pid}.sock")).chain(further) {
        match linkat(&folder.fd, unfinished, &folder.fd, name.as_str(), AtFlags::empty()) {
            Ok(()) => return Ok(name),
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Writes the document. A client that does not read it is ignored.
async fn reply(mut stream: UnixStream, document: Arc<impl Fn() -> Vec<u8> + Send + Sync + 'static>) {
    // Making a large document may take long, so it runs on a thread for blocking work.
    let Ok(document) = tokio::task::spawn_blocking(move || document()).await else { return };
    let writing = async {
        stream.write_all(&document).await?;
        stream.shutdown().await
    };
    if !matches!(tokio::time::timeout(WRITE_TIMEOUT, writing).await, Ok(Ok(()))) {
        tracing::debug!("a status client did not read its response");
    }
}

/// Queries every server that runs with this state folder, many at once, and returns the replies by socket name. Removes
/// names without a listener.
///
/// # Errors
/// When the folder is there and cannot be used.
pub async fn query(
    state: &Path,
) -> Result<Vec<(String, Result<Vec<u8>, StatusQueryError>)>, StatusSocketError> {
    let Some(folder) = SocketDir::open(state)? else { return Ok(Vec::new()) };
    let names = folder.names().map_err(|error| StatusSocketError::Folder(folder.path.clone(), error))?;
    let queries = names.into_iter().map(|name| async {
        let reply = tokio::time::timeout(QUERY_TIMEOUT, query_one(&folder, &name)).await;
        (name, reply.unwrap_or(Err(StatusQueryError::Late)))
    });
    let mut replies: Vec<_> =
        futures_util::stream::iter(queries).buffer_unordered(PARALLEL_QUERIES).collect().await;
    replies.sort_by(|(one, _), (other, _)| one.cmp(other));
    replies.retain(|(name, reply)| {
        let Err(StatusQueryError::Failed(error)) = reply else { return true };
        if error.kind() == io::ErrorKind::ConnectionRefused {
            folder.remove(name);
        }
        // A server that has ended in between is not reported either.
        !matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
    });
    Ok(replies)
}

async fn query_one(folder: &SocketDir, name: &str) -> Result<Vec<u8>, StatusQueryError> {
    let mut reply = Vec::new();
    let stream = folder.connect(name).await?;
    stream.take(MAX_REPLY + 1).read_to_end(&mut reply).await?;
    if reply.len() as u64 > MAX_REPLY { Err(StatusQueryError::TooLong) } else { Ok(reply) }
}

#[cfg(test)]
mod tests;
