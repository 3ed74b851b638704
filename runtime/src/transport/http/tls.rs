//! TLS of the listener: handshakes, the certificates of clients, and files that change.
//!
//! rustls with ring, as for the hosts that plugins reach, so there is one implementation of TLS to update. The files
//! are read at the start, where a mistake ends the program, and again when they change, where a mistake keeps what was
//! read before: a certificate that is renewed badly must not end a server that runs.
//!
//! An operator revokes a client's certificate by removing the authority that issued it. So when an authority is
//! removed, the server closes every connection whose client has shown a certificate, and no request on it counts as the
//! certificate's any more. The server does not store which authority issued which certificate: clients with one of
//! another authority connect again.
//!
//! A handshake runs in the task of its connection, so a slow one holds up no other.

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
use crate::config::TlsConfig;
use server_config::LoadedFiles;
pub use server_config::TlsError;

/// How long a client may take for its handshake.
const HANDSHAKE_TIMEOUT: Duration = if cfg!(test) { Duration::from_secs(2) } else { Duration::from_secs(10) };

/// How often the files are examined.
const RELOAD_INTERVAL: Duration = if cfg!(test) { Duration::from_millis(50) } else { Duration::from_secs(2) };

/// Buffer of a connection for encrypted bytes that its client has not read yet: one record of TLS. By default it would
/// be four.
const SEND_BUFFER: usize = 16 << 10;

/// Begins TLS with clients, with the certificates that the files had last.
pub struct TlsAcceptor {
    files: Arc<TlsConfig>,
    current: ArcSwap<CurrentTls>,
    /// The files as they were when they were first read.
    loaded: FileStats,
}

/// What new connections begin with.
struct CurrentTls {
    config: Arc<ServerConfig>,
    /// The authorities of clients' certificates.
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
    /// When one cannot be used, or the certificate and the key do not belong together.
    pub fn load(files: &TlsConfig) -> Result<Self, TlsError> {
        // A file that changes while it is read differs from its stat and is read again.
        let loaded = file_stats(files);
        let current = CurrentTls::new(server_config::load(files)?, CancellationToken::new());
        let current = ArcSwap::from_pointee(current);
        Ok(Self { files: Arc::new(files.clone()), current, loaded })
    }

    /// Begins TLS on a stream.
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
        let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        match shown.map(certificate::read) {
            Some(None) => Err(FailedHandshake::new(HandshakeError::Nameless, stream.into_inner().0)),
            shown => {
                let shown = shown.flatten().map(|certificate| ShownCertificate {
                    certificate: Arc::new(certificate),
                    distrusted: current.distrusted.clone(),
                });
                Ok(TlsClient { stream, shown })
            }
        }
    }

    /// Reads the files again whenever they change, until `stop`.
    pub(super) async fn reload(&self, stop: &CancellationToken) {
        let mut seen = self.loaded;
        let mut tick = tokio::time::interval(RELOAD_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            let files = Arc::clone(&self.files);
            // A file system that hangs must not hold up the stop either.
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
            // After the files are in use, so that whoever connects again is verified with them.
            before.distrusted.cancel();
            tracing::info!("`client_ca` has lost an authority, so connections with client certificates end");
        }
    }
}

/// The contents of the files never appear.
impl fmt::Debug for TlsAcceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsAcceptor").field("files", &self.files).finish_non_exhaustive()
    }
}

/// A client that speaks TLS.
pub(super) struct TlsClient<S> {
    pub(super) stream: TlsStream<S>,
    /// The certificate that it has shown, for which one of the authorities vouches.
    pub(super) shown: Option<ShownCertificate>,
}

/// The certificate that the client of a connection has shown.
#[derive(Debug, Clone)]
pub(super) struct ShownCertificate {
    certificate: Arc<ClientCertificate>,
    /// Cancelled when an authority of clients' certificates is removed, which may be the one of this certificate.
    pub(super) distrusted: CancellationToken,
}

impl ShownCertificate {
    /// The certificate, as long as all authorities are there that were there when it was shown.
    pub(super) fn trusted(&self) -> Option<&ClientCertificate> {
        (!self.distrusted.is_cancelled()).then_some(&*self.certificate)
    }
}

/// A connection on which TLS did not begin.
pub(super) struct FailedHandshake<S> {
    pub(super) why: HandshakeError,
    /// What is left to close; `None` if the client took too long.
    pub(super) stream: Option<S>,
}

impl<S> FailedHandshake<S> {
    fn new(why: HandshakeError, stream: S) -> Self {
        Self { why, stream: Some(stream) }
    }
}

/// Why TLS did not begin.
#[derive(Debug, thiserror::Error)]
pub(super) enum HandshakeError {
    /// Its first bytes are not TLS.
    #[error("the client did not speak TLS; give it the address with https://")]
    NotTls,
    /// It sent too little for too long.
    #[error("the client took longer than {} s for its TLS handshake", HANDSHAKE_TIMEOUT.as_secs())]
    Late,
    /// Its certificate is valid, and nothing in it can name a caller.
    #[error(
        "the client's certificate has no name of at most {} visible bytes; issue one with a URI, a DNS name, \
         an address of mail or one common name",
        certificate::MAX_NAME
    )]
    Nameless,
    /// A side ended it: no common version, an unknown authority, a certificate that is missing or has expired.
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

/// The stats of certificate, key and authorities. `None` for a file that is not there.
type FileStats = [Option<FileStat>; 3];

/// What changes with a file's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStat {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    /// Also owner and mode, which decide whether the server may read it.
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

/// The stats of the files and what was read of them, if the stats differ from `seen`. Blocks.
fn load_changed(files: &TlsConfig, seen: FileStats) -> Option<(FileStats, Result<LoadedFiles, TlsError>)> {
    let stats = file_stats(files);
    (stats != seen).then(|| (stats, server_config::load(files)))
}
