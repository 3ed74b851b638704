//! TLS to the hosts that plugins reach.
//!
//! Certificates are trusted as the machine trusts them: an operator who adds a company's authority, or takes one away,
//! does it once for everything that runs there. A list compiled in would be as old as this program. `SSL_CERT_FILE` and
//! `SSL_CERT_DIR` are honoured, as by other programs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::EgressError;
use crate::config::Host;

/// Read when the first plugin needs it.
static CONNECTOR: OnceCell<TlsConnector> = OnceCell::const_new();

/// Whether the log says already that there are no authorities: a guest may try again and again.
static LOGGED: AtomicBool = AtomicBool::new(false);

/// Begins TLS with the host, whose certificate must be valid for its name or address.
pub(super) async fn connect(host: &Host, stream: TcpStream) -> Result<TlsStream<TcpStream>, EgressError> {
    let connector = CONNECTOR.get_or_try_init(connector).await?;
    let name = match host {
        Host::Address(address) => ServerName::from(*address),
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(tls_error)?,
    };
    connector.connect(name, stream).await.map_err(EgressError::Tls)
}

async fn connector() -> Result<TlsConnector, EgressError> {
    tokio::task::spawn_blocking(load_connector).await.map_err(tls_error)?
}

fn tls_error(error: impl std::error::Error + Send + Sync + 'static) -> EgressError {
    EgressError::Tls(io::Error::other(error))
}

fn load_connector() -> Result<TlsConnector, EgressError> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(tls_error)?
        .with_root_certificates(authorities()?)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

fn authorities() -> Result<RootCertStore, EgressError> {
    let loaded = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(loaded.certs);
    if roots.is_empty() {
        if !LOGGED.swap(true, Ordering::Relaxed) {
            let cause = loaded.errors.first().map(ToString::to_string).unwrap_or_default();
            tracing::error!(
                cause,
                "plugins cannot use https, since no certificate authorities were found; install the system's package of them \
                 (ca-certificates), or name a file of them in SSL_CERT_FILE"
            );
        }
        return Err(EgressError::NoAuthorities);
    }
    Ok(roots)
}
