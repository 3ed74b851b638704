//! From the files of `[server.tls]` to what rustls serves with.
//!
//! Every mistake in the files is found here, before a client could meet it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig};
use zeroize::Zeroizing;

use super::certificate;
use crate::config::TlsConfig;
use crate::safe_open::{self, OpenError, Symlinks};

/// Most bytes of a file. Each handshake sends the server's certificates and the names of the authorities, and the names
/// must fit into 64 KiB there.
const MAX_FILE: u64 = 64 << 10;

/// Why TLS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// An error of the system.
    #[error("cannot read {}: {why}; check its path and mode", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// A directory, device, socket or pipe.
    #[error("{} is not a regular file; name a file in PEM", .0.display())]
    NotAFile(PathBuf),
    /// More bytes than such a file has.
    #[error(
        "{} is larger than {} KiB; leave only what this server needs in it",
        .0.display(),
        MAX_FILE >> 10
    )]
    TooLarge(PathBuf),
    /// It has no certificate, or one in another form.
    #[error(
        "{} holds no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----; name the file that \
         does",
        .0.display()
    )]
    NoCertificate(PathBuf),
    /// Something between the lines that begin and end a certificate or a key is wrong.
    #[error("{} is damaged; write the file again", .0.display())]
    Damaged(PathBuf),
    /// It is not as certificates are.
    #[error("a certificate in {} cannot be used ({why}); have it issued again", file.display())]
    BadCertificate {
        /// The file.
        file: PathBuf,
        /// What rustls said.
        why: rustls::Error,
    },
    /// It has no private key, or one in another form.
    #[error(
        "{} holds no private key in PEM, which begins with -----BEGIN PRIVATE KEY-----; name the file that \
         does",
        .0.display()
    )]
    NoKey(PathBuf),
    /// A password is needed to read the key.
    #[error(
        "the private key in {} is encrypted; write it without a password, as `openssl pkey` does",
        .0.display()
    )]
    EncryptedKey(PathBuf),
    /// ring has no such keys.
    #[error(
        "the private key in {} is of a kind that is not supported; use ECDSA with P-256 or P-384, Ed25519, \
         or RSA of 2048 to 4096 bits",
        .0.display()
    )]
    UnsupportedKey(PathBuf),
    /// The key of another certificate.
    #[error(
        "the private key in {} does not belong to the first certificate in {}; name the key that it was \
         issued for, and put the server's own certificate first",
        key.display(),
        cert.display()
    )]
    Mismatch {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// The cryptography of this program offers no version of TLS.
    #[error("TLS cannot be set up; please report it: {0}")]
    Unavailable(rustls::Error),
}

/// What the files say.
pub(super) struct LoadedFiles {
    pub(super) config: ServerConfig,
    /// The authorities of clients' certificates.
    pub(super) authorities: Vec<CertificateDer<'static>>,
}

/// Reads the files. Blocks.
pub(super) fn load(files: &TlsConfig) -> Result<LoadedFiles, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let chain = certificates(&files.cert)?;
    warn_expired(&files.cert, &chain);
    let key = private_key(&files.key)?;
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Unavailable)?;
    let authorities = files.client_ca.as_deref().map(certificates).transpose()?.unwrap_or_default();
    let config = match &files.client_ca {
        Some(file) => {
            let verifier = verifier(file, &authorities, files.require_client, provider)?;
            config.with_client_cert_verifier(verifier)
        }
        None => config.with_no_client_auth(),
    };
    let mut config = config.with_single_cert(chain, key).map_err(|error| unusable(files, error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if files.client_ca.is_some() {
        // A resumed session would skip the check of the client's certificate, which may have expired since.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(LoadedFiles { config, authorities })
}

/// Which certificates of clients are accepted: those of `authorities`, which `file` has. There are no lists of revoked
/// ones: an operator who must revoke one before it expires replaces the authority.
fn verifier(
    file: &Path,
    authorities: &[CertificateDer<'static>],
    required: bool,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        let bad = |why| TlsError::BadCertificate { file: file.to_owned(), why };
        roots.add(authority.clone()).map_err(bad)?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let verifier = if required { verifier } else { verifier.allow_unauthenticated() };
    // The only other reason to fail is a list of revoked certificates.
    verifier.build().map_err(|_| TlsError::NoCertificate(file.to_owned()))
}

/// The certificates in a file, at least one.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let pem = read(file)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match certificates {
        Ok(certificates) if certificates.is_empty() => Err(TlsError::NoCertificate(file.to_owned())),
        Ok(certificates) => Ok(certificates),
        Err(_) => Err(TlsError::Damaged(file.to_owned())),
    }
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let pem = Zeroizing::new(read(file)?);
    PrivateKeyDer::from_pem_slice(&pem).map_err(|error| match error {
        _ if is_encrypted(&pem) => TlsError::EncryptedKey(file.to_owned()),
        PemError::NoItemsFound => TlsError::NoKey(file.to_owned()),
        _ => TlsError::Damaged(file.to_owned()),
    })
}

/// Whether a file that holds no readable key says that it is encrypted, in either of the two forms.
fn is_encrypted(pem: &[u8]) -> bool {
    let word = b"ENCRYPTED";
    pem.windows(word.len()).any(|part| part == word)
}

fn read(file: &Path) -> Result<Vec<u8>, TlsError> {
    // Tools that renew certificates replace links.
    safe_open::read(file, MAX_FILE, Symlinks::Followed).map_err(|error| match error {
        OpenError::Unreadable(why) => TlsError::Unreadable { file: file.to_owned(), why },
        OpenError::Link | OpenError::NotAFile => TlsError::NotAFile(file.to_owned()),
        OpenError::TooLarge(_) => TlsError::TooLarge(file.to_owned()),
    })
}

fn unusable(files: &TlsConfig, error: rustls::Error) -> TlsError {
    match error {
        rustls::Error::InconsistentKeys(_) => {
            TlsError::Mismatch { cert: files.cert.clone(), key: files.key.clone() }
        }
        // What rustls says of a key that it cannot read.
        rustls::Error::General(_) => TlsError::UnsupportedKey(files.key.clone()),
        why => TlsError::BadCertificate { file: files.cert.clone(), why },
    }
}

/// Clients reject a certificate that has expired, and only the log of this server can say why.
fn warn_expired(file: &Path, chain: &[CertificateDer<'_>]) {
    let expiry = chain.first().and_then(certificate::expiry);
    if expiry.is_some_and(|expiry| expiry <= SystemTime::now()) {
        let file = file.display();
        tracing::warn!("the certificate in {file} has expired, so clients reject it; renew it");
    }
}
