//! The Unix socket in the state folder that `plugport status` queries for the status document of a server.
//!
//! One socket per server, in a folder that only this user may open, so clients need not authenticate. A connection is a
//! query; the reply is one document, and then the connection is closed. One connection is served at a time and for a
//! short time, so a client that does not read delays only the next query. The name of a socket appears only once its
//! server listens, so a name where nobody listens was left by a server that was killed.
//!
//! Knows no plugin: the document is bytes that the caller makes.

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

/// How long a client may take to read its answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// Servers that are queried at the same time, each by a file descriptor of its own.
const PARALLEL_QUERIES: usize = 64;

/// How long a server may take to answer, with one before us that does not read.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest answer that is read, bytes.
const LONGEST: u64 = 16 << 20;

/// After running out of file descriptors, accepting again at once would only spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Servers with the same process number, in several containers, that can be told apart.
const NAMESAKES: u32 = 16;

/// Why there is no socket, or none can be asked.
#[derive(Debug, thiserror::Error)]
pub enum StatusSocketError {
    /// The folder.
    #[error("the folder {} cannot be used; make it yours alone, or name another folder with `state_dir` under [server]", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// The path is longer than an address of a socket may be.
    #[error("the path {} is too long for a socket on this system; name a folder with a shorter path with `state_dir` under [server]", .0.display())]
    TooLong(PathBuf),
    /// The socket itself.
    #[error("a socket in the folder {} cannot be made; check the file system, or name another folder with `state_dir` under [server]", .0.display())]
    Socket(PathBuf, #[source] io::Error),
}

/// Why a server did not answer a status query.
#[derive(Debug, thiserror::Error)]
pub enum StatusQueryError {
    /// It takes too long.
    #[error("did not answer within {} s; ask again, and look at its log if it does not get better", QUERY_TIMEOUT.as_secs())]
    Late,
    /// Its answer is too long.
    #[error("answered with more than {} MiB", LONGEST >> 20)]
    TooLong,
    /// The socket.
    #[error("could not be queried; check which user it runs as")]
    Failed(#[from] io::Error),
}

/// A socket that has its name. The name goes when this is dropped.
#[derive(Debug)]
pub struct StatusSocket {
    listener: UnixListener,
    folder: SocketDir,
    name: String,
}

impl StatusSocket {
    /// Makes a socket in this state folder, and takes away what killed servers left there.
    ///
    /// # Errors
    /// When the folder cannot be used, or no socket can be made in it.
    pub async fn bind(state: &Path) -> Result<Self, StatusSocketError> {
        let folder = SocketDir::make(state)?;
        let names = folder.names().map_err(|error| StatusSocketError::Folder(folder.path.clone(), error))?;
        folder.remove_unfinished();
        for name in names {
            // Connecting is how it is found out; what a server would answer is not waited for.
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

    /// Answers every connection with a document, until told to stop.
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
            let answering = async move {
                match accepted {
                    Ok((stream, _)) => answer(stream, document).await,
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = answering => {}
            }
        }
    }
}

impl Drop for StatusSocket {
    fn drop(&mut self) {
        self.folder.remove(&self.name);
    }
}

/// A name for a socket that nobody listens on yet. Servers in several containers may have the same number.
fn unfinished_name() -> io::Result<String> {
    let mut random = [0; 4];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(format!("{}-{:08x}{UNFINISHED}", std::process::id(), u32::from_le_bytes(random)))
}

/// Gives the socket its name, which nobody else has.
fn claim_name(folder: &SocketDir, unfinished: &str) -> io::Result<String> {
    chmodat(&folder.fd, unfinished, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
    let pid = std::process::id();
    let further = (1..NAMESAKES).map(|number| format!("{pid}-{number}.sock"));
    for name in std::iter::once(format!("{pid}.sock")).chain(further) {
        match linkat(&folder.fd, unfinished, &folder.fd, name.as_str(), AtFlags::empty()) {
            Ok(()) => return Ok(name),
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// What cannot be written was not wanted.
async fn answer(mut stream: UnixStream, document: Arc<impl Fn() -> Vec<u8> + Send + Sync + 'static>) {
    // There may be much to tell; other tasks should not wait while it is put together.
    let Ok(document) = tokio::task::spawn_blocking(move || document()).await else { return };
    let writing = async {
        stream.write_all(&document).await?;
        stream.shutdown().await
    };
    if !matches!(tokio::time::timeout(WRITE_TIMEOUT, writing).await, Ok(Ok(()))) {
        tracing::debug!("a status client did not read its response");
    }
}

/// Queries every server that runs with this state folder, many at once, and returns the replies by socket name. Names
/// where nobody listens are taken away.
///
/// # Errors
/// When the folder is there and cannot be used.
pub async fn query(
    state: &Path,
) -> Result<Vec<(String, Result<Vec<u8>, StatusQueryError>)>, StatusSocketError> {
    let Some(folder) = SocketDir::open(state)? else { return Ok(Vec::new()) };
    let names = folder.names().map_err(|error| StatusSocketError::Folder(folder.path.clone(), error))?;
    let queries = names.into_iter().map(|name| async {
        let answered = tokio::time::timeout(QUERY_TIMEOUT, query_one(&folder, &name)).await;
        (name, answered.unwrap_or(Err(StatusQueryError::Late)))
    });
    let mut answers: Vec<_> =
        futures_util::stream::iter(queries).buffer_unordered(PARALLEL_QUERIES).collect().await;
    answers.sort_by(|(one, _), (other, _)| one.cmp(other));
    answers.retain(|(name, answer)| {
        let Err(StatusQueryError::Failed(error)) = answer else { return true };
        if error.kind() == io::ErrorKind::ConnectionRefused {
            folder.remove(name);
        }
        // One that ended since is none either.
        !matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
    });
    Ok(answers)
}

async fn query_one(folder: &SocketDir, name: &str) -> Result<Vec<u8>, StatusQueryError> {
    let mut answer = Vec::new();
    let stream = folder.connect(name).await?;
    stream.take(LONGEST + 1).read_to_end(&mut answer).await?;
    if answer.len() as u64 > LONGEST { Err(StatusQueryError::TooLong) } else { Ok(answer) }
}

#[cfg(test)]
mod tests;
