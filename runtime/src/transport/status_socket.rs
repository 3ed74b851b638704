//! The Unix socket in the state folder from which `plugport status` reads the status document of a server.
//!
//! Each server has one socket, in a folder that only this user can open, so clients need not authenticate. Connecting
//! is the query; the reply is one document, after which the server closes the connection. A server serves one
//! connection at a time, and only for a short time, so a client that does not read delays only the next query. A socket
//! gets its final name only when its server listens. So a final name without a listener was left behind by a killed
//! server.
//!
//! This module knows no plugin: the caller provides the bytes of the document.

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

/// How long a server waits for a client to read the reply.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// How many servers are queried at the same time. Each query needs a file descriptor.
const PARALLEL_QUERIES: usize = 64;

/// How long a server may take to reply, including a wait for a client before this one that does not read.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum length of a reply, in bytes.
const MAX_REPLY: u64 = 16 << 20;

/// The pause after running out of file descriptors: accepting again at once would only spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Maximum number of servers with the same process id that share a state folder, for example in several containers.
const MAX_SAME_PID: u32 = 16;

/// Why a status socket cannot be created or queried.
#[derive(Debug, thiserror::Error)]
pub enum StatusSocketError {
    /// The folder cannot be used.
    #[error("the folder {} cannot be used; make it yours alone, or name another folder with `state_dir` under [server]", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// The path is longer than a socket address may be.
    #[error("the path {} is too long for a socket on this system; name a folder with a shorter path with `state_dir` under [server]", .0.display())]
    TooLong(PathBuf),
    /// The socket cannot be created.
    #[error("a socket in the folder {} cannot be made; check the file system, or name another folder with `state_dir` under [server]", .0.display())]
    Socket(PathBuf, #[source] io::Error),
}

/// Why a server did not reply to a status query.
#[derive(Debug, thiserror::Error)]
pub enum StatusQueryError {
    /// The server takes too long.
    #[error("did not answer within {} s; ask again, and look at its log if it does not get better", QUERY_TIMEOUT.as_secs())]
    Late,
    /// The reply is too long.
    #[error("answered with more than {} MiB", MAX_REPLY >> 20)]
    TooLong,
    /// The socket cannot be used.
    #[error("could not be queried; check which user it runs as")]
    Failed(#[from] io::Error),
}

/// A listening socket. Its name is removed when it is dropped.
#[derive(Debug)]
pub struct StatusSocket {
    listener: UnixListener,
    folder: SocketDir,
    name: String,
}

impl StatusSocket {
    /// Creates a socket in this state folder, and removes sockets of killed servers.
    ///
    /// # Errors
    /// When the folder cannot be used, or no socket can be created in it.
    pub async fn bind(state: &Path) -> Result<Self, StatusSocketError> {
        let folder = SocketDir::make(state)?;
        let names = folder.names().map_err(|error| StatusSocketError::Folder(folder.path.clone(), error))?;
        folder.remove_unfinished();
        for name in names {
            // A successful connection shows that a server listens; the reply is not read.
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

    /// Sends a document on every connection, until `stop` is cancelled.
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

/// Returns a name for a socket whose server does not listen yet. It is random, because servers in several containers
/// may have the same process id.
fn unfinished_name() -> io::Result<String> {
    let mut random = [0; 4];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(format!("{}-{:08x}{UNFINISHED}", std::process::id(), u32::from_le_bytes(random)))
}

/// Gives the socket a final name that no other socket has.
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

/// Writes the document. If the client does not read it, the write times out.
async fn reply(mut stream: UnixStream, document: Arc<impl Fn() -> Vec<u8> + Send + Sync + 'static>) {
    // Making a large document may take long, so a thread for blocking work makes it.
    let Ok(document) = tokio::task::spawn_blocking(move || document()).await else { return };
    let writing = async {
        stream.write_all(&document).await?;
        stream.shutdown().await
    };
    if !matches!(tokio::time::timeout(WRITE_TIMEOUT, writing).await, Ok(Ok(()))) {
        tracing::debug!("a status client did not read its response");
    }
}

/// Queries all servers that run with this state folder, many at once, and returns the replies by socket name. Removes
/// sockets without a listener.
///
/// # Errors
/// When the folder exists but cannot be used.
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
        // A server that has ended meanwhile is not reported either.
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
