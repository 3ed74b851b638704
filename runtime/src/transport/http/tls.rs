//! TLS of the listener: handshakes, client certificates, and reloading changed files.
//!
//! TLS is rustls with ring, as for the hosts that plugins connect to, so only one TLS implementation needs updates.
//! The files are read at the start, where a mistake ends the program. They are read again when they change; then a
//! mistake keeps what was read before, because a badly renewed certificate must not end a running server.
//!
//! An operator revokes a client's certificate by removing the authority that issued it. When an authority is removed,
//! the server closes every connection with a client certificate, and no further request on it counts as authenticated
//! by the certificate. The server does not record which authority issued which certificate, so clients with
//! certificates of other authorities have to reconnect.
//!
//! A handshake runs in the task of its connection, so a slow handshake delays no other connection.

mod certificate;
mod server_config;
#[cfg(test)]
pub(super) mod tests;

use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::MissedTickBehavior;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::access::ClientCertificate;
use crate::config::{MAX_PRINCIPAL_NAME, TlsConfig};
use server_config::LoadedFiles;
pub use server_config::TlsError;

/// How long a client may take for its handshake.
const HANDSHAKE_TIMEOUT: Duration = if cfg!(test) { Duration::from_secs(2) } else { Duration::from_secs(10) };

/// How often the files are checked for changes.
const RELOAD_INTERVAL: Duration = if cfg!(test) { Duration::from_millis(50) } else { Duration::from_secs(2) };

/// Size of a connection's buffer for encrypted bytes that the client has not read yet: one TLS record. The default
/// would be four.
const SEND_BUFFER: usize = 16 << 10;

/// Accepts TLS connections with the last valid content of the files.
pub struct TlsAcceptor {
    files: Arc<TlsConfig>,
    current: ArcSwap<CurrentTls>,
    /// The stats of the files from when they were first read.
    loaded: FileStats,
}

/// The configuration for new connections.
struct CurrentTls {
    config: Arc<ServerConfig>,
    /// The authorities that may issue client certificates.
    authorities: Vec<CertificateDer<'static>>,
    /// Cancelled when one of the authorities is removed.
    distrusted: CancellationToken,
}

impl CurrentTls {
    fn new(LoadedFiles { config, authorities }: LoadedFiles, distrusted: CancellationToken) -> Self {
        Self { config: Arc::new(config), authorities, distrusted }
    }
}

impl TlsAcceptor {
    /// Reads the files. Blocks.
    ///
    /// # Errors
    /// When a file cannot be used, or the certificate and the key do not match.
    pub fn load(files: &TlsConfig) -> Result<Self, TlsError> {
        // Stats come first: a file that changes while it is read then differs from its stat and is read again.
        let loaded = file_stats(files);
        let current = CurrentTls::new(server_config::load(files)?, CancellationToken::new());
        let current = ArcSwap::from_pointee(current);
        Ok(Self { files: Arc::new(files.clone()), current, loaded })
    }

    /// Performs a TLS handshake on a stream.
    pub(super) async fn accept<S>(&self, stream: S) -> Result<TlsClient<S>, FailedHandshake<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let current = self.current.load_full();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::clone(&current.config));
        let handshake = acceptor.accept_with(stream, |session| session.set_buffer_limit(Some(SEND_BUFFER)));
        let stream = match tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake.into_fallible()).await {
            Ok(Ok(stream)) => stream,
            Ok(Err((error, stream))) => return Err(FailedHandshake::new(error.into(), stream)),
            Err(_) => return Err(FailedHandshake { why: HandshakeError::Late, stream: None }),
        };
        let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        match certificate.map(certificate::read) {
            Some(None) => Err(FailedHandshake::new(HandshakeError::Nameless, stream.into_inner().0)),
            certificate => {
                let certificate = certificate.flatten().map(|certificate| ConnectionCertificate {
                    certificate: Arc::new(certificate),
                    distrusted: current.distrusted.clone(),
                });
                Ok(TlsClient { stream, certificate })
            }
        }
    }

    /// Reads the files again whenever they change, until `stop` is cancelled.
    pub(super) async fn reload(&self, stop: &CancellationToken) {
        let mut seen = self.loaded;
        let mut tick = tokio::time::interval(RELOAD_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            let files = Arc::clone(&self.files);
            // On a blocking thread: a file system that hangs must not delay the stop either.
            let reading = tokio::task::spawn_blocking(move || load_changed(&files, seen));
            let Some(Ok(Some((stats, read)))) = stop.run_until_cancelled(reading).await else { continue };
            seen = stats;
            match read {
                Ok(loaded) => {
                    self.replace(loaded);
                    tracing::info!("new connections use the changed files of [server.tls]");
                }
                Err(error) => {
                    tracing::error!(
                        "the changed files of [server.tls] are not used, and the old ones stay: {error}"
                    );
                }
            }
        }
    }

    fn replace(&self, loaded: LoadedFiles) {
        let before = self.current.load_full();
        let has_lost = before.authorities.iter().any(|authority| !loaded.authorities.contains(authority));
        let distrusted = if has_lost { CancellationToken::new() } else { before.distrusted.clone() };
        self.current.store(Arc::new(CurrentTls::new(loaded, distrusted)));
        if has_lost {
            // After the new files are in use, so that clients that reconnect are verified with them.
            before.distrusted.cancel();
            tracing::info!("`client_ca` has lost an authority, so connections with client certificates end");
        }
    }
}

/// Omits the contents of the files.
impl fmt::Debug for TlsAcceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsAcceptor").field("files", &self.files).finish_non_exhaustive()
    }
}

/// A client whose TLS handshake has succeeded.
pub(super) struct TlsClient<S> {
    pub(super) stream: TlsStream<S>,
    /// The certificate that the client has shown; one of the authorities has issued it.
    pub(super) certificate: Option<ConnectionCertificate>,
}

/// The certificate that the client of a connection has shown, and whether its authority is still trusted.
#[derive(Debug, Clone)]
pub(super) struct ConnectionCertificate {
    certificate: Arc<ClientCertificate>,
    /// Cancelled when an authority is removed, which may be the one that issued this certificate.
    pub(super) distrusted: CancellationToken,
}

impl ConnectionCertificate {
    /// Returns the certificate if no authority has been removed since the client showed it.
    pub(super) fn trusted(&self) -> Option<&ClientCertificate> {
        (!self.distrusted.is_cancelled()).then_some(&*self.certificate)
    }
}

/// A connection whose TLS handshake failed.
pub(super) struct FailedHandshake<S> {
    pub(super) why: HandshakeError,
    /// The stream, which is still to be closed; `None` if the client took too long.
    pub(super) stream: Option<S>,
}

impl<S> FailedHandshake<S> {
    fn new(why: HandshakeError, stream: S) -> Self {
        Self { why, stream: Some(stream) }
    }
}

/// Why a TLS handshake failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HandshakeError {
    /// The client's first bytes are not TLS.
    #[error("the client did not speak TLS; give it the address with https://")]
    NotTls,
    /// The client sent too little for too long.
    #[error("the client took longer than {} s for its TLS handshake", HANDSHAKE_TIMEOUT.as_secs())]
    Late,
    /// The client's certificate is valid, but contains no name that can identify a caller.
    #[error(
        "the client's certificate has no name of at most {} visible bytes; issue one with a URI, a DNS name, \
         an address of mail or one common name",
        MAX_PRINCIPAL_NAME
    )]
    Nameless,
    /// Either side aborted: no common version, an unknown authority, a missing or expired certificate.
    #[error("the TLS handshake failed: {0}")]
    Failed(io::Error),
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
        match cause {
            Some(rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType)) => Self::NotTls,
            _ => Self::Failed(error),
        }
    }
}

/// The stats of the certificate, the key and the authorities. `None` for a missing file.
type FileStats = [Option<FileStat>; 3];

/// The parts of a stat that change with a file's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStat {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    /// ctime, which also changes with owner and mode; these decide whether the server may read the file.
    changed: (i64, i64),
}

impl FileStat {
    fn of(file: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(file).ok()?;
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

fn file_stats(files: &TlsConfig) -> FileStats {
    [Some(&files.cert), Some(&files.key), files.client_ca.as_ref()].map(|file| FileStat::of(file?))
}

/// Returns the stats of the files and their contents if the stats differ from `seen`. Blocks.
fn load_changed(files: &TlsConfig, seen: FileStats) -> Option<(FileStats, Result<LoadedFiles, TlsError>)> {
    let stats = file_stats(files);
    (stats != seen).then(|| (stats, server_config::load(files)))
}
