//! Makes the configuration of rustls from the files of `[server.tls]`.
//!
//! Every mistake in the files is found here, and not by a client.

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

/// Maximum size of a file, in bytes. Each handshake sends the server's certificates and the names of the authorities;
/// these names must fit into 64 KiB.
const MAX_FILE: u64 = 64 << 10;

/// Why the files cannot be used for TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The operating system reported an error.
    #[error("cannot read {}: {why}; check its path and mode", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The operating system's error.
        why: io::Error,
    },
    /// A directory, device, socket or pipe.
    #[error("{} is not a regular file; name a file in PEM", .0.display())]
    NotAFile(PathBuf),
    /// The file is larger than the maximum.
    #[error(
        "{} is larger than {} KiB; leave only what this server needs in it",
        .0.display(),
        MAX_FILE >> 10
    )]
    TooLarge(PathBuf),
    /// The file has no certificate in PEM.
    #[error(
        "{} holds no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----; name the file that \
         does",
        .0.display()
    )]
    NoCertificate(PathBuf),
    /// The PEM text between the begin and end lines is damaged.
    #[error("{} is damaged; write the file again", .0.display())]
    Damaged(PathBuf),
    /// The certificate is not valid X.509.
    #[error("a certificate in {} cannot be used ({why}); have it issued again", file.display())]
    BadCertificate {
        /// The file.
        file: PathBuf,
        /// The error of rustls.
        why: rustls::Error,
    },
    /// The file has no private key in PEM.
    #[error(
        "{} holds no private key in PEM, which begins with -----BEGIN PRIVATE KEY-----; name the file that \
         does",
        .0.display()
    )]
    NoKey(PathBuf),
    /// The private key is encrypted with a password.
    #[error(
        "the private key in {} is encrypted; write it without a password, as `openssl pkey` does",
        .0.display()
    )]
    EncryptedKey(PathBuf),
    /// ring does not support the kind of the key.
    #[error(
        "the private key in {} is of a kind that is not supported; use ECDSA with P-256 or P-384, Ed25519, \
         or RSA of 2048 to 4096 bits",
        .0.display()
    )]
    UnsupportedKey(PathBuf),
    /// The key belongs to another certificate.
    #[error(
        "the private key in {} does not belong to the first certificate in {}; name the key that it was \
         issued for, and put the server's own certificate first",
        key.display(),
        cert.display()
    )]
    Mismatch {
        /// The file with the certificate.
        cert: PathBuf,
        /// The file with the key.
        key: PathBuf,
    },
    /// The cryptography provider of this program supports no TLS version.
    #[error("TLS cannot be set up; please report it: {0}")]
    Unavailable(rustls::Error),
}

/// The contents of the files.
pub(super) struct LoadedFiles {
    pub(super) config: ServerConfig,
    /// The authorities that may issue client certificates.
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
        // A resumed session would skip verifying the client's certificate, which may have expired since.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(LoadedFiles { config, authorities })
}

/// Makes the verifier of client certificates, which accepts those that `authorities` issued (`file` is where they are).
/// There are no revocation lists: an operator who must revoke a certificate replaces the authority.
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
    // The only other reason to fail would be a revocation list.
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

/// Whether a file without a readable key has an encrypted one, in either of the two PEM forms.
fn is_encrypted(pem: &[u8]) -> bool {
    let word = b"ENCRYPTED";
    pem.windows(word.len()).any(|part| part == word)
}

fn read(file: &Path) -> Result<Vec<u8>, TlsError> {
    // Links are followed, because tools that renew certificates replace links.
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
        // rustls returns this error for a key that it cannot read.
        rustls::Error::General(_) => TlsError::UnsupportedKey(files.key.clone()),
        why => TlsError::BadCertificate { file: files.cert.clone(), why },
    }
}

/// Warns about an expired certificate. Clients reject it, but only this log can tell the operator why.
fn warn_expired(file: &Path, chain: &[CertificateDer<'_>]) {
    let expiry = chain.first().and_then(certificate::expiry);
    if expiry.is_some_and(|expiry| expiry <= SystemTime::now()) {
        let file = file.display();
        tracing::warn!("the certificate in {file} has expired, so clients reject it; renew it");
    }
}
